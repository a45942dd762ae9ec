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

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// patience is how long a run waits for another run that holds a thing and has not ended: it may
// yet give the thing back.
var patience = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1.6, Jitter: 0.3, Steps: 8}

// held is what a run holds of one claim.
type held struct {
	want  state.Hold
	claim *state.Claim
	// took is true where this run has taken a part, and so has to give it back if it fails.
	took bool
}

// reserve takes all that the lease must hold, or nothing: where others hold something it gives
// back what it took and says who they are.
func (r *run) reserve(ctx context.Context) error {
	if err := r.precheck(); err != nil && !r.mayPass(err) {
		return err
	}
	err := r.takeAll(ctx)
	if err != nil {
		r.rollback(ctx)
	}
	return err
}

// precheck decides everything by what was read, so that a run that cannot succeed writes nothing
// and names all holders at once.
func (r *run) precheck() error {
	refused := &HeldError{Lease: r.req.Lease}
	for _, h := range r.fixedHolds() {
		uses := r.uses(h)
		for _, p := range h.Parts {
			if f := state.Decide(r.group, h, p.Key, r.snapshot.claims[h.Name()], uses); f.Verdict == state.Held {
				refused.Held = append(refused.Held, HeldThing{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At})
				break
			}
		}
	}
	if len(refused.Held) > 0 {
		return refused
	}
	return nil
}

// mayPass is true when everything that is held is held by runs under way.
func (r *run) mayPass(err error) bool {
	var refused *HeldError
	return errors.As(err, &refused) && !slices.ContainsFunc(refused.Held, func(h HeldThing) bool { return !h.By.Running })
}

// fixedHolds are the things that the lease wants by name, in the order in which they are taken.
func (r *run) fixedHolds() []state.Hold {
	var holds []state.Hold
	if r.opts.Config.IP.Mode != config.ModePool {
		for _, e := range r.req.Endpoints {
			for _, a := range e.Addresses {
				holds = append(holds, e.Hold(r.req.Lease, a))
			}
		}
	}
	for _, h := range r.req.Hosts {
		holds = append(holds, h.Hold(r.req.Lease))
	}
	slices.SortFunc(holds, state.Hold.Compare)
	return holds
}

func (r *run) uses(h state.Hold) []state.Use {
	if h.Kind == state.Address {
		a, _ := netip.ParseAddr(h.Thing)
		return r.snapshot.addresses.Known.Foreign(a, h.SharingKey)
	}
	return r.snapshot.hostUses[h.Thing]
}

func (r *run) takeAll(ctx context.Context) error {
	r.addresses = render.Addresses{}
	if r.opts.Config.IP.Mode != config.ModePool {
		for _, e := range r.req.Endpoints {
			if len(e.Addresses) > 0 {
				continue
			}
			for _, family := range e.Families {
				if err := r.lease(ctx, e, family); err != nil {
					return err
				}
			}
		}
		for _, e := range r.req.Endpoints {
			r.addresses[e.Name] = append(r.addresses[e.Name], e.Addresses...)
			slices.SortFunc(r.addresses[e.Name], netip.Addr.Compare)
		}
	}
	for _, h := range r.fixedHolds() {
		if err := r.take(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// lease takes an address of a family for an endpoint that asks for none by name. An address that
// was lost to somebody else is passed over.
func (r *run) lease(ctx context.Context, e state.EndpointWant, family config.Family) error {
	lost := map[netip.Addr]bool{}
	for {
		ranges := r.opts.Config.IP.Ranges
		a, ok := r.snapshot.addresses.Next(r.group.Owner, e.SharingKey, family, ranges, lost)
		if !ok {
			return &ExhaustedError{Lease: r.req.Lease, Endpoint: e.Name, Ranges: ranges.Texts(family), At: e.At}
		}
		err := r.takeOnce(ctx, e.Hold(r.req.Lease, a), false)
		if refused := (*HeldError)(nil); errors.As(err, &refused) {
			lost[a] = true
			r.snapshot.addresses.Drop(a)
			continue
		}
		if err == nil {
			r.addresses[e.Name] = append(r.addresses[e.Name], a)
		}
		return err
	}
}

// take takes one thing. Where another run holds it that has not ended, it asks again for a while.
func (r *run) take(ctx context.Context, h state.Hold) error {
	var last error
	fresh := false
	err := wait.ExponentialBackoffWithContext(ctx, patience, func(ctx context.Context) (bool, error) {
		last = r.takeOnce(ctx, h, fresh)
		fresh = true
		if last != nil && !r.mayPass(last) {
			return false, last
		}
		return last == nil, nil
	})
	if wait.Interrupted(err) && last != nil && ctx.Err() == nil {
		return last
	}
	return err
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
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (done bool, err error) {
		if fresh {
			if claim, why = r.ledger.get(ctx, name); why != nil {
				return retry(why)
			}
		}
		fresh = true
		done, why = r.attempt(ctx, h, claim)
		if why != nil {
			return retry(why)
		}
		return done, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s could not be claimed: %w", h.Kind, h.Thing, cmp.Or(why, errAgain))
	}
	return err
}

// attempt tries once. Neither done nor an error means: read the claim again and decide anew.
func (r *run) attempt(ctx context.Context, h state.Hold, claim *state.Claim) (done bool, err error) {
	var uses []state.Use
	if claim == nil {
		uses = r.uses(h)
	}
	missing, withheld := false, map[string]bool{}
	known := r.holds[h.Name()]
	took := known != nil && known.took
	parts := make([]state.Part, 0, len(h.Parts))
	for _, p := range h.Parts {
		switch f := state.Decide(r.group, h, p.Key, claim, uses); f.Verdict {
		case state.Held:
			return false, &HeldError{Lease: r.req.Lease, Held: []HeldThing{{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At}}}
		case state.Going:
			return false, nil
		case state.Withheld:
			withheld[p.Key] = true
			r.withhold(h, p, f.By)
		case state.Free:
			missing = true
			p.Run = r.nonce
			parts = append(parts, p)
		case state.Mine:
			own := *claim.Part(p.Key)
			took = took || own.Run == r.nonce // with our mark: the answer to our write was lost
			// A part that another run of this lease has marked gets our mark, so that the
			// other's rollback cannot take it away from under us.
			if own.Run != "" && own.Run != r.nonce {
				missing = true
				own.Run = r.nonce
			}
			parts = append(parts, own)
		}
	}
	if len(parts) == 0 {
		return true, nil
	}
	want := h
	want.Parts = slices.DeleteFunc(slices.Clone(h.Parts), func(p state.Part) bool { return withheld[p.Key] })
	if !missing {
		if took && known == nil {
			r.event(Claimed, string(want.Kind), "", want.Thing, "")
		}
		r.hold(&held{want: want, claim: claim, took: took})
		return true, nil
	}
	return r.put(ctx, want, claim, parts)
}

// put writes the parts, with those that the group holds already for another reason.
func (r *run) put(ctx context.Context, want state.Hold, claim *state.Claim, parts []state.Part) (bool, error) {
	if claim == nil {
		claim = want.Claim()
	}
	for _, p := range claim.PartsOf(r.group) {
		if !slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key }) {
			parts = append(parts, p)
		}
	}
	if r.opts.DryRun == DryRunClient {
		r.hold(&held{want: want, claim: claim, took: true})
		r.event(Claimed, string(want.Kind), "", want.Thing, "")
		return true, nil
	}
	now, err := r.ledger.put(ctx, claim, r.group, parts)
	if err != nil {
		return false, err
	}
	for _, p := range parts {
		if own := now.Part(p.Key); now.Deleting || now.Owner != r.group.Owner || own == nil || own.Lease.Group() != r.group {
			return false, errAgain
		}
	}
	r.hold(&held{want: want, claim: now, took: true})
	r.event(Claimed, string(want.Kind), "", want.Thing, "")
	return true, nil
}

// rollback gives back what this run took; what the lease held before stays. It goes on when the
// run has been interrupted.
func (r *run) rollback(ctx context.Context) {
	if r.opts.DryRun != "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	for name, h := range r.holds {
		if !h.took {
			continue
		}
		left, err := r.ledger.leave(ctx, name, r.group, func(p state.Part) bool { return p.Run == r.nonce })
		switch {
		case err != nil:
			r.fail(fmt.Errorf("%s %s could not be given back: %w; finish with: kubectl akash-net release %s", h.want.Kind, h.want.Thing, err, r.group))
		case left:
			r.event(Released, string(h.want.Kind), "", h.want.Thing, "")
		}
	}
}
