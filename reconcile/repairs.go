package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// crashedAfter is after which time without a write a command counts as crashed, as for repair.
const crashedAfter = 2 * time.Minute

// follow lets the claims follow that Akash's provider has moved from or to one of these deployment groups, before anything is decided: else
// the former group would keep them, and the new one would be withheld what it serves.
func (r *Reconciler) follow(ctx context.Context, groups []lease.Group, opts command.Options) error {
	moved, err := r.movedFor(ctx, groups)
	if err != nil || !moved {
		return err
	}
	opts.AssumeCrashed = false
	return repair.Follow(ctx, apply.New(r.cluster, opts), crashedAfter, groups)
}

// movedFor reports whether Akash's provider has given something that one of these deployment groups holds to another one, or the other
// way round.
func (r *Reconciler) movedFor(ctx context.Context, groups []lease.Group) (moved bool, err error) {
	s, err := r.declarations(ctx, groups)
	if err != nil {
		return false, err
	}
	takes := func(kind kinds.Kind, name string, p state.Part) bool {
		o := s.At(kind, r.options.Config.ManifestNamespace, name)
		if o == nil {
			return false
		}
		whose := s.Ownership(o)
		return whose.Shared && !whose.Ours && whose.Takes(p)
	}
	part := func(c *state.Claim, p state.Part) bool {
		if !c.Kind.HasPorts() {
			return p.Key == state.RouteKey("/") && takes(kinds.ProviderHost, c.Thing, p)
		}
		protocol, port := p.ProtocolPort()
		return takes(kinds.ProviderLeasedIP, lease.LeasedIPName(c.SharingKey, protocol, port), p)
	}
	for _, g := range groups {
		for _, c := range s.Claims.Held(g) {
			if slices.ContainsFunc(c.PartsOf(g), func(p state.Part) bool { return part(c, p) }) {
				return true, nil
			}
		}
		for _, o := range s.Shared.Of(g) {
			claims := s.Claims.On(o.Live.GetName())
			if o.Kind == kinds.ProviderLeasedIP {
				claims = s.ClaimsOfPort(o)
			}
			declared := !o.Ours && slices.Contains(kinds.ClaimLike, o.Kind)
			if declared && slices.ContainsFunc(claims, func(c *state.Claim) bool {
				return slices.ContainsFunc(c.Parts, func(p state.Part) bool { return part(c, p) })
			}) {
				return true, nil
			}
		}
	}
	return false, nil
}

// selectedOwners is how many owners a LIST is limited to at most.
const selectedOwners = 50

// declarations reads the claims, and what declares parts of them, as far as that concerns deployment groups: as watches have told, or only
// the claims if there is something that Akash's provider alone declares.
func (r *Reconciler) declarations(ctx context.Context, groups []lease.Group) (*observed.Snapshot, error) {
	ctx = cluster.Early(ctx)
	if r.cluster.Cache.IsEarly(ctx) {
		return r.claims(ctx)
	}
	var opts metav1.ListOptions
	owners := map[string]bool{}
	for _, g := range groups {
		owners[g.Owner] = true
	}
	if len(owners) <= selectedOwners {
		opts.LabelSelector = lease.LabelOwner + " in (" + strings.Join(slices.Sorted(maps.Keys(owners)), ",") + ")"
	}
	s, lists, theirs := observed.NewSnapshot(), map[string][]*listed.Object{}, false
	for _, kind := range kinds.ClaimLike {
		all, err := r.cluster.List(ctx, kind.Resource(), r.options.Config.ManifestNamespace, opts)
		if err != nil && !cluster.IsMissingKind(err) {
			return nil, err
		}
		lists[kind.Plural] = all
		theirs = theirs || slices.ContainsFunc(all, func(o *listed.Object) bool {
			whose := s.Ownership(o.Look())
			return whose.Shared && !whose.Ours
		})
	}
	var err error
	if theirs {
		s, err = r.claims(ctx)
	}
	s.Index(lists)
	return s, err
}

// claims reads the claims, as they were seen last.
func (r *Reconciler) claims(ctx context.Context) (*observed.Snapshot, error) {
	ctx = cluster.Early(ctx)
	l := ledger.New(r.cluster, r.options.Config.LedgerNamespace)
	if r.cluster.Cache.IsEarly(ctx) {
		return reading.Read(ctx, r.cluster, l, reading.Reading{Kinds: kinds.ClaimLike})
	}
	s := observed.NewSnapshot()
	all, err := l.List(ctx)
	s.AddClaims(all)
	return s, err
}

// WorkAfter is Work for deployment groups after another command that is announced for them: if that has crashed, what it has left is
// finished, and its announcement removed, also if nothing else is due.
func (r *Reconciler) WorkAfter(ctx context.Context, groups []lease.Group) (failed map[lease.Group]error, err error) {
	view, err := r.Look(ctx)
	if err != nil {
		return nil, err
	}
	alone := view.unnamed(groups)
	if len(alone) > 0 {
		c := command.New(r.cluster, r.options)
		err = c.InTurn(ctx, alone, func(ctx context.Context, t *turn.Turn) ([]lease.Group, error) {
			if _, err := t.Begin(ctx); err != nil {
				return nil, err
			}
			return r.holding(ctx, alone, func(state.Part) bool { return true })
		})
	}
	if err != nil {
		failed = FailAll(alone, err)
		groups = slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return failed[g] != nil })
	}
	opts := r.options
	opts.InTurn = true
	worked, err := r.work(ctx, groups, opts)
	if err != nil {
		return failed, err
	}
	maps.Copy(worked, failed)
	return worked, nil
}

// errUnfinished says that a deployment group that no source names holds something that can be neither finished nor given up yet.
var errUnfinished = errors.New("no source names the lease, and a command that claimed something for it has not finished; " +
	"\"kubectl akash-net state --problems\" says what; this is tried again")

// finish ends what crashed commands have claimed for deployment groups that no source names and of which nothing is kept, and what half a
// release has left of them: no other command will come after it. It returns those for which that is to be tried again.
func (r *Reconciler) finish(ctx context.Context, groups []lease.Group) map[lease.Group]error {
	left, err := r.holding(ctx, groups, func(p state.Part) bool { return p.Run != "" || p.Applied })
	if err != nil {
		return FailAll(groups, err)
	}
	if len(left) == 0 {
		return nil
	}
	opts := r.options
	opts.AssumeCrashed = false
	err = repair.Finish(ctx, apply.New(r.cluster, opts), crashedAfter, left)
	_, half := errors.AsType[*repair.Unmended](err)
	if err != nil && !half {
		return FailAll(left, err)
	}
	again, err := r.holding(ctx, left, func(p state.Part) bool { return p.Run != "" || half && p.Applied })
	if err != nil {
		return FailAll(left, err)
	}
	return FailAll(again, errUnfinished)
}

// holding returns those of the deployment groups that have an entry of a kind on a claim.
func (r *Reconciler) holding(ctx context.Context, groups []lease.Group, is func(state.Part) bool) (holding []lease.Group, err error) {
	if len(groups) == 0 {
		return nil, nil
	}
	s, err := r.claims(ctx)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if slices.ContainsFunc(s.Claims.Held(g), func(c *state.Claim) bool { return slices.ContainsFunc(c.Entries(g), is) }) {
			holding = append(holding, g)
		}
	}
	return holding, nil
}
