package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// held is what a run holds of one claim.
type held struct {
	want  state.Hold
	claim *state.Claim
	// took is true where a part has this run's mark, and so has to be as it was if the run fails.
	took bool
	// anew is true for a host that has yet to be compared with the wildcard above it: the run has taken
	// it, or taken it over from a run that may not have done so.
	anew bool
	// touch is true where the objects that rest on the claim are to move also if they are as they should
	// be: the claim was taken anew, or one of them is missing.
	touch bool
}

// reserve takes all that the lease must hold, or nothing: where others hold something it gives
// back what it took and says who they are. What was taken has yet to be confirmed.
func (r *run) reserve(ctx context.Context) error {
	if r.snapshot.closing {
		return &ClosingError{Namespace: r.opts.Config.LedgerNamespace}
	}
	if err := r.findKinds(); err != nil {
		return err
	}
	if r.opts.Check {
		return r.check(ctx)
	}
	if err := r.precheck(); err != nil && !r.allTransient(err) {
		return err
	}
	if err := r.takeAll(ctx); err != nil {
		return r.giveUp(ctx, err)
	}
	return nil
}

// findKinds refuses, before anything is claimed, what the cluster has no kind for.
func (r *run) findKinds() error {
	var errs []error
	for _, kind := range r.kinds {
		if r.snapshot.lacks[kind] {
			errs = append(errs, &cluster.MissingKindError{Resource: kind.Resource()})
		}
	}
	return errors.Join(errs...)
}

// check tells of each thing that the lease wants whether it is free, and gathers who holds the others.
func (r *run) check(ctx context.Context) error {
	var exhausted Failures
	for _, e := range r.leasedEndpoints() {
		for _, family := range e.Families {
			if err := r.lease(ctx, e, family); err != nil {
				exhausted = append(exhausted, err)
			}
		}
	}
	refused := &HeldError{Lease: r.req.Lease}
	for _, h := range r.fixedHolds() {
		err := heldError(r.req.Lease, r.inTheWay(h))
		if err == nil || r.allTransient(err) {
			err = r.take(ctx, h)
		}
		if held, ok := errors.AsType[*HeldError](err); ok {
			refused.Held = append(refused.Held, held.Held...)
		} else if err != nil {
			return err
		}
	}
	if len(refused.Held) > 0 {
		exhausted = append(exhausted, refused)
	}
	if err := r.pools.check(r); err != nil {
		exhausted = append(exhausted, err)
	}
	if len(exhausted) == 0 {
		return r.leaveReserved(ctx)
	}
	return failures(exhausted)
}

// precheck decides everything by what was read, so that a run that cannot succeed writes nothing
// and names all holders at once.
func (r *run) precheck() error {
	var held []HeldThing
	for _, h := range r.fixedHolds() {
		held = append(held, r.inTheWay(h)...)
	}
	return heldError(r.req.Lease, held)
}

// findRivals tells each run which earlier one wants the same for another owner: the first in the input
// gets it, in a dry run as in a real one.
func (a *Applier) findRivals(s *snapshot, runs []*run) {
	requests := make([]state.Request, len(runs))
	for i, r := range runs {
		requests[i] = r.req
	}
	for i, found := range state.Rivals(requests, a.opts.Config, func(name string) bool { return s.claims[name] != nil }) {
		runs[i].rivals = found
	}
}

func heldError(id lease.ID, held []HeldThing) error {
	if len(held) == 0 {
		return nil
	}
	return &HeldError{Lease: id, Held: held}
}

// inTheWay are those who hold a thing, or what excludes it, by what was read.
func (r *run) inTheWay(h state.Hold) (held []HeldThing) {
	if by, found := r.rivals[h.Name()]; found {
		return []HeldThing{{Kind: h.Kind, Thing: h.Thing, By: by, At: h.At}}
	}
	uses, mine := r.uses(h), false
	for _, p := range h.Parts {
		f := r.decide(h, p, r.snapshot.claims[h.Name()], uses)
		mine = mine || f.Verdict == state.Mine && !r.snapshot.claims[h.Name()].Part(p.Key).Ended(r.cluster.Now())
		if f.Verdict == state.Held {
			held = append(held, HeldThing{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At})
			break
		}
	}
	if mine {
		return held
	}
	if above := r.wildcardAbove(h); h.Kind == state.Host && above != nil {
		held = append(held, *above)
	}
	if below := (*HeldError)(nil); h.Kind == state.Wildcard && errors.As(r.hostsBelow(h, r.snapshot.list()), &below) {
		held = append(held, below.Held...)
	}
	return held
}

// allTransient is true when runs under way hold everything that is held: they may give it back.
func (r *run) allTransient(err error) bool {
	refused, ok := errors.AsType[*HeldError](err)
	return ok && !slices.ContainsFunc(refused.Held, func(h HeldThing) bool { return !h.By.Running })
}

// fixedHolds are the things that the lease wants by name, in the order in which they are taken.
func (r *run) fixedHolds() []state.Hold {
	var holds []state.Hold
	for _, e := range r.req.Endpoints {
		if r.opts.Config.IP.Mode == config.ModePool {
			holds = append(holds, e.EndpointHold(r.req.Lease))
			continue
		}
		for _, a := range e.Addresses {
			holds = append(holds, e.Hold(r.req.Lease, a))
		}
	}
	holds = append(holds, r.req.HostHolds()...)
	r.expire(holds)
	slices.SortFunc(holds, state.Hold.Compare)
	return holds
}

// expire makes holds of what is only to be kept for a while.
func (r *run) expire(holds []state.Hold) {
	if r.opts.Expires == 0 {
		return
	}
	at := r.cluster.Now().Add(r.opts.Expires).UTC().Format(time.RFC3339)
	for _, h := range holds {
		for i := range h.Parts {
			h.Parts[i].Expires = at
		}
	}
}

func (r *run) uses(h state.Hold) []state.Use {
	switch h.Kind {
	case state.Endpoint:
		return nil // a port that is used has a ProviderLeasedIP
	case state.Address:
		a, _ := netip.ParseAddr(h.Thing)
		return r.snapshot.addresses.Foreign(a, h.SharingKey)
	}
	return state.UsesOf(h.Thing, r.snapshot.hostUses, r.group.Owner, func(name string) bool { return r.snapshot.claims[name] != nil })
}

func (r *run) takeAll(ctx context.Context) error {
	if err := r.leaseAddresses(ctx); err != nil {
		return err
	}
	for _, h := range r.fixedHolds() {
		if err := r.take(ctx, h); err != nil {
			return err
		}
	}
	if err := r.leaveReserved(ctx); err != nil {
		return err
	}
	return r.bindAll(ctx)
}

// confirm completes what reserve has taken: it compares the hosts with the wildcards above them, and looks whether the
// ledger is being removed. Where it may not be held all of it is given back.
func (r *run) confirm(ctx context.Context) error {
	if r.opts.Check {
		return nil
	}
	err := r.checkWildcards(ctx)
	if err == nil {
		err = r.checkOpen()
	}
	if err != nil {
		return r.giveUp(ctx, err)
	}
	return nil
}

// take takes one thing. Where another run holds it that has not ended, it asks again for a while.
func (r *run) take(ctx context.Context, h state.Hold) error {
	var last error
	fresh := false
	err := wait.ExponentialBackoffWithContext(ctx, r.patience, func(ctx context.Context) (bool, error) {
		last = r.takeOnce(ctx, h, fresh)
		fresh = true
		if last != nil && !r.allTransient(last) {
			return false, last
		}
		return last == nil, nil
	})
	if !wait.Interrupted(err) || last == nil || ctx.Err() != nil {
		return err
	}
	if r.patient && r.heldBySibling(last) {
		r.patient = false
		return r.takeOnce(ctx, h, true)
	}
	return last
}

// heldBySibling is true when a run under way of another deployment of the owner holds it.
func (r *run) heldBySibling(err error) bool {
	refused, ok := errors.AsType[*HeldError](err)
	if !ok {
		return false
	}
	by := refused.Held[0].By
	return by.Running && by.Owner == r.group.Owner && by.Reason == ""
}

// takeOnce decides on one thing and takes the parts that are free, reading and deciding again as
// long as it loses races. It reads first when fresh, and otherwise trusts the snapshot once.
func (r *run) takeOnce(ctx context.Context, h state.Hold, fresh bool) error {
	name := h.Name()
	claim := r.snapshot.claims[name]
	if known := r.holds[name]; known != nil {
		claim = known.claim
	}
	var why error
	err := r.ledger.Retrying(ctx, func(ctx context.Context) (done bool, err error) {
		if fresh {
			if claim, why = r.ledger.Get(ctx, name); why != nil {
				return ledger.Retry(why)
			}
		}
		fresh = true
		done, why = r.attempt(ctx, h, claim)
		if why != nil {
			return ledger.Retry(why)
		}
		return done, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s could not be claimed: %w", h.Kind, h.Thing, cmp.Or(why, ledger.ErrAgain))
	}
	return err
}
