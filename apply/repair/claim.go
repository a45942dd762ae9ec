package repair

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// leave gives up parts of a claim that are as they were read, with what stands for them. A run that
// only stood still may have ended meanwhile: what it holds is live.
func (r *repair) leave(ctx context.Context, m state.LeaveParts) error {
	group, name := m.Parts.Group, m.Parts.Claim.Name()
	known := r.snapshot.Claims[name] // as it was read, or as an earlier mend has left it
	if !slices.ContainsFunc(known.PartsOf(group), m.Parts.Has) {
		return nil // an earlier mend has given it up
	}
	now, err := observed.ReadClaim(ctx, r.Ledger, name)
	if err == nil && now == nil { // somebody has given it up
		err = report.ErrChanged
	}
	if err != nil {
		return err
	}
	for _, p := range known.PartsOf(group) {
		if is := now.Part(p.Key); m.Parts.Has(p) && (now.UID != known.UID || is == nil || !is.Same(p)) {
			return report.ErrChanged
		}
	}
	if m.Namespace != "" {
		// A live lease is not told from a dead one by its parts: nothing of the claim may have changed.
		if err := r.isGone(ctx, m.Namespace); err != nil || now.ResourceVersion != known.ResourceVersion {
			return cmp.Or(err, report.ErrChanged)
		}
	}
	work := r.runFor(group)
	for _, ref := range m.Delete {
		if err := r.removeUnserved(ctx, work, m, ref); err != nil {
			return err
		}
	}
	if err := work.AwaitGone(ctx); err != nil {
		return err
	}
	left, _, err := r.Ledger.Leave(ctx, now, group, m.Parts.Has)
	if errors.Is(err, ledger.ErrAgain) {
		return report.ErrChanged
	}
	if err == nil {
		r.knows(name, left)
	}
	return err
}

// isGone says that a namespace has come back.
func (r *repair) isGone(ctx context.Context, namespace string) error {
	now, err := r.Cluster.Get(ctx, kinds.Namespace, "", namespace)
	if err == nil && now != nil {
		err = report.ErrChanged
	}
	return err
}

// knows notes what a mend has made of a claim; nil is for one that is gone.
func (r *repair) knows(name string, now *state.Claim) {
	r.snapshot.Knows(name, now)
}

// reserved makes parts a reservation of which this call has deleted all that stood for them: that nothing is
// left is no news then.
func (r *repair) reserved(ctx context.Context, parts state.ClaimParts) error {
	if parts.Claim == nil {
		return nil
	}
	return r.change(ctx, parts, func(p *state.Part) { p.Applied = false })
}

// change changes parts of a claim that stands as it was read.
func (r *repair) change(ctx context.Context, parts state.ClaimParts, set func(*state.Part)) error {
	claim := r.snapshot.Claims[parts.Claim.Name()] // as it was read, or as an earlier mend has left it
	entries, changed := claim.Entries(parts.Group), false
	for i := range entries {
		if was := entries[i]; parts.Has(was) {
			set(&entries[i])
			changed = changed || !was.Same(entries[i])
		}
	}
	if !changed {
		return nil
	}
	now, err := r.Ledger.Put(ctx, claim, parts.Group, entries)
	if errors.Is(err, ledger.ErrAgain) {
		return report.ErrChanged
	}
	if err == nil {
		r.knows(now.Name(), now)
	}
	return err
}

// unmoved says that a claim by which a problem was found says something else by now. What is to be
// written was read before.
func (r *repair) unmoved(ctx context.Context, thing string) error {
	if strings.Contains(thing, "/") { // an object, or a lease
		return nil
	}
	names := []string{state.HostName(thing)}
	if a, err := netip.ParseAddr(thing); err == nil {
		names = []string{state.AddressName(a)}
	} else if over := state.WildcardOver(thing); over != "" && r.snapshot.Claims[names[0]] == nil {
		names = append(names, state.HostName(over))
	}
	if r.snapshot.Claims[state.EndpointName(thing)] != nil {
		names = []string{state.EndpointName(thing)}
	}
	for _, name := range names {
		now, err := observed.ReadClaim(ctx, r.Ledger, name)
		if err != nil {
			return err
		}
		if !now.SaysAs(r.snapshot.Claims[name]) {
			return report.ErrChanged
		}
	}
	return nil
}

// release gives up a claim for all that hold a part of it, as release does.
func (r *repair) release(ctx context.Context, c *state.Claim) error {
	opts := r.Options
	opts.Report, opts.Progress = nil, nil
	return apply.New(r.Cluster, opts).Release(ctx, c.Groups(), c.Thing)
}

// discard deletes an object of the ledger that is as it was read.
func (r *repair) discard(ctx context.Context, c *state.Claim) error {
	err := r.Ledger.Delete(ctx, c)
	if !errors.Is(err, ledger.ErrAgain) {
		return err
	}
	now, err := r.Ledger.Get(ctx, c.Name())
	switch {
	case err != nil:
		return err
	case now != nil && now.UID == c.UID:
		return report.ErrChanged
	}
	return nil
}

// takeServed claims what the lease serves already. Whether it does is looked at once more when it is
// claimed: what a release has removed meanwhile is not to be held.
func (r *mending) takeServed(ctx context.Context, m state.TakeServed) error {
	want := m.Hold
	r.Request.Lease = want.Parts[0].Lease
	r.Group = r.Request.Lease.Group()
	err := r.Take(ctx, want)
	if err == nil {
		err = r.CheckWildcards(ctx)
	}
	if err == nil {
		err = r.CheckOpen()
	}
	if h := r.Holds[want.Name()]; err == nil && (h == nil || !h.Took) {
		return report.ErrChanged // somebody of the same owner was first
	}
	if err == nil {
		err = r.stillServed(ctx, m.Serving)
	}
	if err != nil {
		return r.GiveUp(ctx, err)
	}
	// What a pipeline has delivered may stand for it before the lease's namespace is there: it is not applied.
	if r.Snapshot.Namespaces[r.Request.Lease.Namespace()] {
		for _, p := range want.Parts {
			r.StandsFor(want.Name(), p.Key)
		}
	}
	return r.Settle(ctx)
}

// stillServed says that none of the objects for which something is claimed is there as it was.
func (r *mending) stillServed(ctx context.Context, refs []state.ObjectRef) error {
	for _, ref := range refs {
		now, err := r.Cluster.Get(ctx, kinds.Of(ref.Kind), ref.Namespace, ref.Name)
		if err != nil {
			return err
		}
		if now == nil || string(now.GetUID()) != ref.UID || now.GetDeletionTimestamp() != nil {
			continue
		}
		if id, ok := lease.IDFromLabels(now.GetLabels()); ok && id.Group() == r.Group {
			return nil
		}
	}
	return report.ErrChanged
}
