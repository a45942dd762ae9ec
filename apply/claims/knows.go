package claims

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// FormerOf is the deployment group that serves a part which is handed on, as the part remembers it; empty
// where nothing serves it, or where the new lease serves it itself.
func (r *Claims) FormerOf(c *state.Claim, p state.Part) string {
	from := p.Lease.Group()
	if former, ok := p.Former(); ok {
		from = former
	}
	serves := func(o observed.Owned) bool {
		return slices.Contains(r.Snapshot.ClaimsNear(o), c.Name()) && observed.StandsFor(o, c, p)
	}
	if from == r.Group || !slices.ContainsFunc(r.Snapshot.Written[from], serves) {
		return ""
	}
	return from.String()
}

// Unwanted lets an object of the run's own group go that its definition does not have: unless another
// run of the lease has taken what it serves since the claims were read.
func (r *Claims) Unwanted(o observed.Owned) observed.MayGo {
	return r.whileOf(o, func(grounds []observed.Ground) (bool, error) {
		foreign := func(g observed.Ground) bool {
			return slices.ContainsFunc(g.Claim.PartsOf(r.Group), func(p state.Part) bool { return !r.Knows(g.Name, p) })
		}
		return !slices.ContainsFunc(grounds, foreign), nil
	})
}

// whileOf asks may of the claims on which an object rests, as long as the object has not changed hands.
func (r *Claims) whileOf(o observed.Owned, may func(grounds []observed.Ground) (bool, error)) observed.MayGo {
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if !observed.SameTenant(o.Live, now) {
			return false, nil
		}
		grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: o.Kind, Live: now, Group: o.Group})
		if err != nil {
			return false, err
		}
		return may(grounds)
	}
}

// Knows is true for a part of the run's group that is as it was when the run began, or that the run has
// written.
func (r *Claims) Knows(name string, p state.Part) bool {
	if p.Run == r.Nonce || p.For != "" { // a note holds nothing
		return true
	}
	was := r.Snapshot.Claims[name].Part(p.Key)
	if h := r.Holds[name]; h != nil && h.Claim.Part(p.Key) != nil && was == nil {
		was = h.Claim.Part(p.Key)
	}
	return was != nil && was.Same(p)
}

// Replaceable lets a record go in whose place another comes: the group holds the host of both.
func (r *Claims) Replaceable(o observed.Owned) observed.MayGo {
	if o.Group == r.Group {
		return observed.OfTenant(o.Live)
	}
	return r.StrayFrom(o)
}

// StrayFrom lets an object of another group go that serves what the run's group holds. Where the group
// holds it no more, the run was overtaken, and nothing may go.
func (r *Claims) StrayFrom(o observed.Owned) observed.MayGo {
	return r.whileOf(o, func(grounds []observed.Ground) (bool, error) {
		stray := false
		for _, g := range grounds {
			h := r.Holds[g.Name]
			switch {
			case h == nil:
			case g.Claim == nil || g.Claim.Deleting || g.Claim.UID != h.Claim.UID || len(g.Claim.PartsOf(r.Group)) == 0:
				return false, r.Overtaken(h)
			default:
				stray = stray || g.Served.Gives(g.Claim, r.Group)
			}
		}
		entitled := func(g observed.Ground) bool { return g.Standing() == state.Entitled }
		return stray && !slices.ContainsFunc(grounds, entitled), nil
	})
}

// movedAway is who has a part that the run's group holds, where Akash's provider has moved it to another
// lease: until the claim follows nobody writes over what the provider wrote.
func (r *Claims) movedAway(h state.Hold, p state.Part) (by state.Holder, moved bool) {
	kind, name := kinds.ProviderHost, h.Thing
	switch protocol, port := p.ProtocolPort(); {
	case h.Kind.HasPorts() && port == 0, !h.Kind.HasPorts() && p.Key != state.RouteKey("/"):
		return by, false
	case h.Kind.HasPorts():
		kind, name = kinds.ProviderLeasedIP, lease.LeasedIPName(h.SharingKey, protocol, port)
	}
	o := r.Snapshot.Live[kind.Plural][r.Options.Config.ManifestNamespace+"/"+name]
	if o == nil {
		return by, false
	}
	whose := r.Snapshot.Ownership(o)
	if !whose.HasLease || !slices.Contains(whose.MovedFrom, r.Group) {
		return by, false
	}
	by = state.Holder{Owner: whose.Lease.Owner, Lease: whose.Lease, Namespace: whose.Lease.Namespace()}
	by.Reason = fmt.Sprintf("Akash's provider has moved %s %s/%s there, and the claim has yet to follow: kubectl akash-net repair", kind.Singular, o.GetNamespace(), o.GetName())
	if by.Owner != r.Group.Owner {
		by.Reason = fmt.Sprintf("Akash's provider has moved %s %s/%s there from this lease, to another owner: one of the two releases it", kind.Singular, o.GetNamespace(), o.GetName())
	}
	return by, true
}

// Removes is true for objects of another group that a run may remove from what it holds: all where it prunes, else
// those that serve it since a transfer. A lease that is healed takes nothing down that serves.
func (r *Claims) Removes(group lease.Group, c *state.Claim) bool {
	return r.Options.Prune || !r.Options.Heal && len(c.FormerOf(group)) > 0
}
