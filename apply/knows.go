package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// formerOf is the deployment group that serves a part which is handed on, as the part remembers it; empty
// where nothing serves it, or where the new lease serves it itself.
func (r *claims) formerOf(c *state.Claim, p state.Part) string {
	from := p.Lease.Group()
	if former, ok := p.Former(); ok {
		from = former
	}
	serves := func(o owned) bool { return slices.Contains(r.snapshot.claimsNear(o), c.Name()) && standsFor(o, c, p) }
	if from == r.group || !slices.ContainsFunc(r.snapshot.written[from], serves) {
		return ""
	}
	return from.String()
}

// unwanted lets an object of the run's own group go that its definition does not have: unless another
// run of the lease has taken what it serves since the claims were read.
func (r *claims) unwanted(o owned) mayGo {
	return r.whileOf(o, func(grounds []ground) (bool, error) {
		foreign := func(g ground) bool {
			return slices.ContainsFunc(g.claim.PartsOf(r.group), func(p state.Part) bool { return !r.knows(g.name, p) })
		}
		return !slices.ContainsFunc(grounds, foreign), nil
	})
}

// whileOf asks may of the claims on which an object rests, as long as the object has not changed hands.
func (r *claims) whileOf(o owned, may func(grounds []ground) (bool, error)) mayGo {
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if !sameTenant(o.live, now) {
			return false, nil
		}
		grounds, err := readGrounds(ctx, r.ledger, owned{kind: o.kind, live: now, group: o.group})
		if err != nil {
			return false, err
		}
		return may(grounds)
	}
}

// knows is true for a part of the run's group that is as it was when the run began, or that the run has
// written.
func (r *claims) knows(name string, p state.Part) bool {
	if p.Run == r.nonce || p.For != "" { // a note holds nothing
		return true
	}
	was := r.snapshot.claims[name].Part(p.Key)
	if h := r.holds[name]; h != nil && h.claim.Part(p.Key) != nil && was == nil {
		was = h.claim.Part(p.Key)
	}
	return was != nil && was.Same(p)
}

// replaceable lets a record go in whose place another comes: the group holds the host of both.
func (r *claims) replaceable(o owned) mayGo {
	if o.group == r.group {
		return ofTenant(o.live)
	}
	return r.strayFrom(o)
}

// strayFrom lets an object of another group go that serves what the run's group holds. Where the group
// holds it no more, the run was overtaken, and nothing may go.
func (r *claims) strayFrom(o owned) mayGo {
	return r.whileOf(o, func(grounds []ground) (bool, error) {
		stray := false
		for _, g := range grounds {
			h := r.holds[g.name]
			switch {
			case h == nil:
			case g.claim == nil || g.claim.Deleting || g.claim.UID != h.claim.UID || len(g.claim.PartsOf(r.group)) == 0:
				return false, r.overtaken(h)
			default:
				stray = stray || g.served.Gives(g.claim, r.group)
			}
		}
		entitled := func(g ground) bool { return g.standing() == state.Entitled }
		return stray && !slices.ContainsFunc(grounds, entitled), nil
	})
}

// movedAway is who has a part that the run's group holds, where Akash's provider has moved it to another
// lease: until the claim follows nobody writes over what the provider wrote.
func (r *claims) movedAway(h state.Hold, p state.Part) (by state.Holder, moved bool) {
	kind, name := kinds.ProviderHost, h.Thing
	switch protocol, port := p.ProtocolPort(); {
	case h.Kind.HasPorts() && port == 0, !h.Kind.HasPorts() && p.Key != state.RouteKey("/"):
		return by, false
	case h.Kind.HasPorts():
		kind, name = kinds.ProviderLeasedIP, lease.LeasedIPName(h.SharingKey, protocol, port)
	}
	o := r.snapshot.live[kind.Plural][r.opts.Config.ManifestNamespace+"/"+name]
	if o == nil {
		return by, false
	}
	whose := r.snapshot.ownership(o)
	if !whose.HasLease || !slices.Contains(whose.MovedFrom, r.group) {
		return by, false
	}
	by = state.Holder{Owner: whose.Lease.Owner, Lease: whose.Lease, Namespace: whose.Lease.Namespace()}
	by.Reason = fmt.Sprintf("Akash's provider has moved %s %s/%s there, and the claim has yet to follow: kubectl akash-net repair", kind.Singular, o.GetNamespace(), o.GetName())
	if by.Owner != r.group.Owner {
		by.Reason = fmt.Sprintf("Akash's provider has moved %s %s/%s there from this lease, to another owner: one of the two releases it", kind.Singular, o.GetNamespace(), o.GetName())
	}
	return by, true
}

// removes is true for objects of another group that a run may remove from what it holds: all where it prunes, else
// those that serve it since a transfer. A lease that is healed takes nothing down that serves.
func (r *claims) removes(group lease.Group, c *state.Claim) bool {
	return r.opts.Prune || !r.opts.heal && len(c.FormerOf(group)) > 0
}
