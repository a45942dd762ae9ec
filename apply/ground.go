package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ground is a claim on which an object rests, as far as the object serves a part of it.
type ground struct {
	name   string
	served state.Served
	// wildcard is the name of the claim on the wildcard above a host; empty where there can be none.
	wildcard string
	// claim and over are the claims as they were read after the object; nil where there is none.
	claim, over *state.Claim
}

// standing is what the claim means for the object.
func (g ground) standing() state.Standing {
	standing, _ := g.served.Standing(g.claim, g.over)
	return standing
}

// groundsOf are the claims on which an object rests, not yet read. A ProviderLeasedIP names no address:
// it rests on those of its endpoint's claims.
func groundsOf(o owned, claims []*state.Claim) []ground {
	var out []ground
	add := func(name string, served state.Served, host string) {
		g := ground{name: name, served: served}
		if over := state.WildcardOver(host); over != "" {
			g.wildcard = state.HostName(over)
		}
		if !slices.ContainsFunc(out, func(h ground) bool { return h.name == g.name && h.served == g.served }) {
			out = append(out, g)
		}
	}
	if host := o.recordOf(); host != "" { // it goes with whatever part the group holds of the host
		add(state.HostName(host), state.Served{Group: o.group, Redirect: true}, host)
		return out
	}
	switch o.kind {
	case kinds.Service:
		port := state.ServiceObjectOf(o.live)
		uses := state.AddressUses(o.live)
		if !slices.ContainsFunc(uses, func(u state.Use) bool { return !u.Granted }) { // MetalLB chooses its address
			if port.SharingKey != "" {
				add(state.EndpointName(port.SharingKey), state.Served{Group: o.group, Key: state.PortKey(port.Protocol, port.Port), SharingKey: port.SharingKey}, "")
			}
			return out
		}
		for _, u := range uses {
			add(state.AddressName(u.Address), state.Served{Group: o.group, Key: state.PortKey(port.Protocol, port.Port), SharingKey: u.SharingKey}, "")
		}
	case kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.live)
		for _, c := range claims {
			if c.Kind.HasPorts() && c.SharingKey == port.SharingKey {
				add(c.Name(), state.Served{Group: o.group, Key: state.PortKey(port.Protocol, port.Port), SharingKey: port.SharingKey}, "")
			}
		}
	default:
		for _, u := range state.HostUses(o.live) {
			add(state.HostName(u.Host), state.Served{Group: o.group, Key: state.RouteKey(u.Path), Redirect: u.Redirect}, u.Host)
		}
	}
	return out
}

// readGrounds reads the claims on which an object rests. The object was read before.
func readGrounds(ctx context.Context, l ledger.Ledger, o owned) ([]ground, error) {
	var claims []*state.Claim
	if o.kind == kinds.ProviderLeasedIP {
		var err error
		if claims, err = l.ListOwner(ctx, o.group.Owner); err != nil {
			return nil, err
		}
	}
	grounds := groundsOf(o, claims)
	for i := range grounds {
		g := &grounds[i]
		var err error
		if g.claim, err = readClaim(ctx, l, g.name); err != nil {
			return nil, err
		}
		if g.wildcard != "" && (g.claim == nil || len(g.claim.Parts) == 0) {
			if g.over, err = readClaim(ctx, l, g.wildcard); err != nil {
				return nil, err
			}
		}
	}
	return grounds, nil
}

// readClaim reads a claim, and again where the answer does not tell.
func readClaim(ctx context.Context, l ledger.Ledger, name string) (claim *state.Claim, err error) {
	tried := l.Retrying(ctx, func(ctx context.Context) (bool, error) {
		claim, err = l.Get(ctx, name)
		return ledger.Retry(err)
	})
	if err == nil {
		err = tried
	}
	return claim, err
}

// mayGo says of an object as it was read whether it may be deleted. It reads the claims, which is to be
// later than the object was read: the delete is pinned to the object. An error ends the work on it.
type mayGo func(ctx context.Context, now *unstructured.Unstructured) (bool, error)

// ofTenant lets an object go that has not changed hands: for a release, which gives up the claims too.
func ofTenant(before *unstructured.Unstructured) mayGo {
	return func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		return sameTenant(before, now), nil
	}
}

// unwanted lets an object of the run's own group go that its definition does not have: unless another
// run of the lease has taken what it serves since the claims were read.
func (r *run) unwanted(o owned) mayGo {
	return r.whileOf(o, func(grounds []ground) (bool, error) {
		foreign := func(g ground) bool {
			return slices.ContainsFunc(g.claim.PartsOf(r.group), func(p state.Part) bool { return !r.knows(g.name, p) })
		}
		return !slices.ContainsFunc(grounds, foreign), nil
	})
}

// whileOf asks may of the claims on which an object rests, as long as the object has not changed hands.
func (r *run) whileOf(o owned, may func(grounds []ground) (bool, error)) mayGo {
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if !sameTenant(o.live, now) {
			return false, nil
		}
		grounds, err := readGrounds(ctx, r.ledger, owned{o.kind, now, o.group})
		if err != nil {
			return false, err
		}
		return may(grounds)
	}
}

// knows is true for a part of the run's group that is as it was when the run began, or that the run has
// written.
func (r *run) knows(name string, p state.Part) bool {
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
func (r *run) replaceable(o owned) mayGo {
	if o.group == r.group {
		return ofTenant(o.live)
	}
	return r.strayFrom(o)
}

// strayFrom lets an object of another group go that serves what the run's group holds. Where the group
// holds it no more, the run was overtaken, and nothing may go.
func (r *run) strayFrom(o owned) mayGo {
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

// look reads all of a deployment group again, for a run that has read before: its claims first, then the
// objects that may rest on them. It reads only what the labels of the group select, unless an object of
// the group has lost its labels.
func (a *Applier) look(ctx context.Context, before *snapshot, group lease.Group) (*snapshot, error) {
	how := reading{addresses: true, further: recordsRead(before), claimsFirst: true}
	if !before.unlabelled(group) {
		how.of, how.before = &group, before
	}
	s, err := readBy(ctx, a.cluster, a.ledger, how)
	if err != nil {
		return nil, err
	}
	s.operators, s.manifests = before.operators, before.manifests
	return s, nil
}

// unlabelled is true where an object of the group has lost the labels that name its lease.
func (s *snapshot) unlabelled(group lease.Group) bool {
	return slices.ContainsFunc(s.written[group], func(o owned) bool {
		return slices.Contains(s.ownership(o.live).Lost, state.MarkLabels)
	})
}

// recordsRead are the kinds of DNS records that a snapshot was read with.
func recordsRead(s *snapshot) (further []kinds.Kind) {
	for _, kind := range []kinds.Kind{kinds.DNSRecord, kinds.DNSEndpoint} {
		if _, read := s.live[kind.Plural]; read {
			further = append(further, kind)
		}
	}
	return further
}
