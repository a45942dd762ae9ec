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

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// precheck decides everything by what was read, so that a run that cannot succeed writes nothing
// and names all holders at once.
func (r *claims) precheck() error {
	var held []HeldThing
	for _, h := range r.fixedHolds() {
		held = append(held, r.inTheWay(h)...)
	}
	return heldError(r.req.Lease, held)
}

// inTheWay are those who hold a thing, or what excludes it, by what was read.
func (r *claims) inTheWay(h state.Hold) (held []HeldThing) {
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
func (r *claims) allTransient(err error) bool {
	refused, ok := errors.AsType[*HeldError](err)
	return ok && !slices.ContainsFunc(refused.Held, func(h HeldThing) bool { return !h.By.Running })
}

// fixedHolds are the things that the lease wants by name, in the order in which they are taken.
func (r *claims) fixedHolds() []state.Hold {
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
func (r *claims) expire(holds []state.Hold) {
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

func (r *claims) uses(h state.Hold) []state.Use {
	switch h.Kind {
	case state.Endpoint:
		return nil // a port that is used has a ProviderLeasedIP
	case state.Address:
		a, _ := netip.ParseAddr(h.Thing)
		return r.snapshot.addresses.Foreign(a, h.SharingKey)
	}
	return state.UsesOf(h.Thing, r.snapshot.hostUses, r.group.Owner, func(name string) bool { return r.snapshot.claims[name] != nil })
}

func (r *claims) takeAll(ctx context.Context) error {
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

// take takes one thing. Where another run holds it that has not ended, it asks again for a while.
func (r *claims) take(ctx context.Context, h state.Hold) error {
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
func (r *claims) heldBySibling(err error) bool {
	refused, ok := errors.AsType[*HeldError](err)
	if !ok {
		return false
	}
	by := refused.Held[0].By
	return by.Running && by.Owner == r.group.Owner && by.Reason == ""
}

// takeOnce decides on one thing and takes the parts that are free, reading and deciding again as
// long as it loses races. It reads first when fresh, and otherwise trusts the snapshot once.
func (r *claims) takeOnce(ctx context.Context, h state.Hold, fresh bool) error {
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
