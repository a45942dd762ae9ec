package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/state"
)

// wants is true for a part that the run's request names, and for the note that it is withheld.
func (r *objects) wants(c *state.Claim, p state.Part) bool {
	if p.For != "" {
		return slices.ContainsFunc(r.withheld, func(w waiting) bool { return w.note.Key == p.Key })
	}
	h := r.holds[c.Name()]
	return h != nil && slices.ContainsFunc(h.want.Parts, func(q state.Part) bool { return q.Key == p.Key })
}

// reserve takes all that the lease must hold, or nothing: where others hold something it gives
// back what it took and says who they are. What was taken has yet to be confirmed.
func (r *objects) reserve(ctx context.Context) error {
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
func (r *objects) findKinds() error {
	var errs []error
	for _, kind := range r.kinds {
		if r.snapshot.lacks[kind] {
			errs = append(errs, &cluster.MissingKindError{Resource: kind.Resource()})
		}
	}
	return errors.Join(errs...)
}

// check tells of each thing that the lease wants whether it is free, and gathers who holds the others.
func (r *objects) check(ctx context.Context) error {
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
	if err := r.pools.check(r.addresses); err != nil {
		exhausted = append(exhausted, err)
	}
	if len(exhausted) == 0 {
		return r.leaveReserved(ctx)
	}
	return failures(exhausted)
}

// confirm completes what reserve has taken: it compares the hosts with the wildcards above them, and looks whether the
// ledger is being removed. Where it may not be held all of it is given back.
func (r *objects) confirm(ctx context.Context) error {
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
