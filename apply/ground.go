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

// sameTenant is true for an object that has not changed hands between two readings: a transfer leaves
// a ProviderHost its UID.
func sameTenant(before, now *unstructured.Unstructured) bool {
	old, had := lease.IDFromLabels(before.GetLabels())
	id, has := lease.IDFromLabels(now.GetLabels())
	return had == has && old.Group() == id.Group()
}

// standsFor is true for an object that serves a part of a claim, or goes with what does.
func standsFor(o owned, c *state.Claim, p state.Part) bool {
	switch {
	case o.kind == kinds.Service:
		return c.Kind.HasPorts() && servesPort(o.live, p)
	case o.kind == kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.live)
		return c.Kind.HasPorts() && state.PortKey(port.Protocol, port.Port) == p.Key
	case slices.Contains(kinds.RouteKinds, o.kind):
		return slices.ContainsFunc(state.HostUses(o.live), func(u state.Use) bool { return u.Redirect || state.RouteKey(u.Path) == p.Key })
	}
	return true
}

// servesPort is true for a Service that has the port that the part stands for.
func servesPort(service *unstructured.Unstructured, p state.Part) bool {
	protocol, port := p.ProtocolPort()
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	return slices.ContainsFunc(ports, func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["protocol"] == string(protocol) && m["port"] == int64(port)
	})
}
