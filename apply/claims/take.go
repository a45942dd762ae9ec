package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Precheck decides on all things by the snapshot, so that a run that cannot succeed writes nothing and its error names
// all holders.
func (r *Claims) Precheck() error {
	var held []report.HeldThing
	for _, h := range r.FixedHolds() {
		held = append(held, r.InTheWay(h)...)
	}
	return report.ErrorOfHeld(r.Request.Lease, held)
}

// InTheWay returns who holds a thing, or a wildcard or host that excludes it, according to the snapshot.
func (r *Claims) InTheWay(h state.Hold) (held []report.HeldThing) {
	uses, mine := r.uses(h), false
	for _, p := range h.Parts {
		f := r.decide(h, p, r.Snapshot.Claim(h.Name()), uses)
		mine = mine || f.Verdict == state.Mine && !r.Snapshot.Claim(h.Name()).Part(p.Key).Ended(r.Cluster.Now())
		if f.Verdict == state.Held {
			held = append(held, report.HeldThing{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At})
			break
		}
	}
	if mine {
		return held
	}
	if above := r.wildcardAbove(h); h.Kind == state.Host && above != nil {
		held = append(held, *above)
	}
	if below := (*report.HeldError)(nil); h.Kind == state.Wildcard && errors.As(r.hostsBelow(h, r.Snapshot.List()), &below) {
		held = append(held, below.Held...)
	}
	return held
}

// AllTransient reports whether unfinished runs hold everything that an error names: they may release it.
func AllTransient(err error) bool {
	refused, ok := errors.AsType[*report.HeldError](err)
	return ok && !slices.ContainsFunc(refused.Held, func(h report.HeldThing) bool { return !h.By.Running })
}

// FixedHolds returns the things that the lease names, in the order in which they are taken.
func (r *Claims) FixedHolds() []state.Hold {
	var holds []state.Hold
	for _, e := range r.Request.Endpoints {
		if r.Options.Config.IP.Mode == config.ModePool {
			holds = append(holds, e.EndpointHold(r.Request.Lease))
			continue
		}
		for _, a := range e.Addresses {
			holds = append(holds, e.Hold(r.Request.Lease, a))
		}
	}
	holds = append(holds, r.Request.HostHolds()...)
	slices.SortFunc(holds, state.Hold.Compare)
	return holds
}

// uses returns the objects that use a thing without a claim.
func (r *Claims) uses(h state.Hold) []state.Use {
	return r.Snapshot.Uses(h, r.Group.Owner, func(name string) bool { return r.Snapshot.Claim(name) != nil })
}

// TakeAll takes everything that the lease asks for, one thing after the other in the common order, and binds its
// wildcards. The caller must check the hosts against the wildcards above them (CheckWildcards).
func (r *Claims) TakeAll(ctx context.Context) error {
	if err := r.leaseAddresses(ctx); err != nil {
		return err
	}
	for _, h := range r.FixedHolds() {
		if err := r.Take(ctx, h); err != nil {
			return err
		}
	}
	if err := r.LeaveReserved(ctx); err != nil {
		return err
	}
	return r.bindAll(ctx)
}

// Take takes one thing. While an unfinished run holds it, Take tries again until the run's patience ends.
func (r *Claims) Take(ctx context.Context, h state.Hold) error {
	var last error
	fresh := false
	err := wait.ExponentialBackoffWithContext(ctx, r.Patience, func(ctx context.Context) (bool, error) {
		last = r.TakeOnce(ctx, h, fresh)
		fresh = true
		if last != nil && !AllTransient(last) {
			return false, last
		}
		return last == nil, nil
	})
	if !wait.Interrupted(err) || last == nil || ctx.Err() != nil {
		return err
	}
	if r.patient && r.heldBySibling(last) {
		r.patient = false
		return r.TakeOnce(ctx, h, true)
	}
	return last
}

// heldBySibling reports whether an error says that an unfinished run of another deployment of the owner holds the
// thing.
func (r *Claims) heldBySibling(err error) bool {
	refused, ok := errors.AsType[*report.HeldError](err)
	if !ok {
		return false
	}
	by := refused.Held[0].By
	return by.Running && by.Owner == r.Group.Owner && by.Reason == ""
}

// TakeOnce decides on one thing and takes its free parts; it reads the claim and decides again after a conflict. If
// fresh is true it reads the claim first; otherwise the first decision uses the snapshot.
func (r *Claims) TakeOnce(ctx context.Context, h state.Hold, fresh bool) error {
	name := h.Name()
	claim := r.Snapshot.Claim(name)
	if known := r.Holds[name]; known != nil {
		claim = known.Claim
	}
	var why error
	err := r.Ledger.Retrying(ctx, func(ctx context.Context) (done bool, err error) {
		if fresh {
			if claim, why = r.Ledger.Get(ctx, name); why != nil {
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
		if claim != nil && claim.Deleting && why == nil {
			by := claim.HeldBy()
			by.Reason = "its claim is being deleted: kubectl akash-net explain " + state.Typed(h.Thing)
			return &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{{Kind: h.Kind, Thing: h.Thing, By: by, At: h.At}}}
		}
		return fmt.Errorf("%s %s could not be claimed: %w", h.Kind, h.Thing, cmp.Or(why, ledger.ErrAgain))
	}
	return err
}
