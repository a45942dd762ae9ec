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

	"github.com/akash-net/kubectl-akash-net/lease"
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
	if err := r.takeAll(ctx); err != nil {
		return r.giveUp(ctx, err)
	}
	return nil
}

// precheck decides everything by what was read, so that a run that cannot succeed writes nothing
// and names all holders at once.
func (r *run) precheck() error {
	refused := &HeldError{Lease: r.req.Lease}
	for _, h := range r.fixedHolds() {
		uses, mine := r.uses(h), false
		for _, p := range h.Parts {
			f := r.decide(h, p, r.snapshot.claims[h.Name()], uses)
			mine = mine || f.Verdict == state.Mine && !r.snapshot.claims[h.Name()].Part(p.Key).Ended(r.cluster.Now())
			if f.Verdict == state.Held {
				refused.Held = append(refused.Held, HeldThing{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At})
				break
			}
		}
		if mine {
			continue
		}
		if above := r.wildcardAbove(h); h.Kind == state.Host && above != nil {
			refused.Held = append(refused.Held, *above)
		}
		if below := (*HeldError)(nil); h.Kind == state.Wildcard && errors.As(r.hostsBelow(h, r.snapshot.list()), &below) {
			refused.Held = append(refused.Held, below.Held...)
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
	return r.checkWildcards(ctx)
}

func (r *run) judge() state.Judge {
	return state.Judge{Group: r.group, Now: r.cluster.Now(), Adopt: r.opts.Adopt}
}

// decide judges one part. A port that nobody claims, but for which Akash's provider keeps a
// ProviderLeasedIP of another deployment of the owner, is withheld as if it were claimed.
func (r *run) decide(h state.Hold, p state.Part, claim *state.Claim, uses []state.Use) state.Finding {
	f := r.judge().Decide(h, p.Key, claim, uses)
	if f.Verdict != state.Free || h.Kind != state.Address || r.opts.Adopt {
		return f
	}
	protocol, port := p.ProtocolPort()
	o, taken := r.snapshot.ports[lease.LeasedIPName(h.SharingKey, protocol, port)]
	if !taken || o.HasLease && o.Lease.Group() == r.group {
		return f
	}
	by := state.Holder{Owner: o.Owner, Lease: o.Lease, Object: o.Kind + " " + o.Namespace + "/" + o.Name, Namespace: o.Namespace, Since: o.Since, Service: o.Service, Port: o.Port}
	if o.HasLease && o.Lease.Owner == r.group.Owner {
		return state.Finding{Verdict: state.Withheld, By: by}
	}
	return state.Finding{Verdict: state.Held, By: by}
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
		hold := e.Hold(r.req.Lease, a)
		r.expire([]state.Hold{hold})
		err := r.takeOnce(ctx, hold, false)
		if r.asksAgain(err) {
			err = r.take(ctx, hold)
		}
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
	if !wait.Interrupted(err) || last == nil || ctx.Err() != nil {
		return err
	}
	if r.patient && r.asksAgain(last) {
		r.patient = false
		return r.takeOnce(ctx, h, true)
	}
	return last
}

// asksAgain is true where a run under way of another deployment of the owner is in the way.
func (r *run) asksAgain(err error) bool {
	var refused *HeldError
	if !errors.As(err, &refused) {
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
