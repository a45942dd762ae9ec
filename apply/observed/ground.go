package observed

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Ground is a claim that an object depends on, with the part of it that the object serves.
type Ground struct {
	Name   string
	Served state.Served
	// wildcard is the name of the claim on the wildcard above the host; empty if there can be none.
	wildcard string
	// Claim and over are the claims as read after the object; nil if there is none.
	Claim, over *state.Claim
}

// Standing returns what the claim means for the object.
func (g Ground) Standing() state.Standing {
	standing, _ := g.Served.Standing(g.Claim, g.over)
	return standing
}

// GroundsOf returns the claims that an object depends on, not yet read. A ProviderLeasedIP names no address: it depends
// on the claims of its endpoint.
func GroundsOf(o Owned, claims []*state.Claim) []Ground {
	var out []Ground
	add := func(name string, served state.Served, host string) {
		g := Ground{Name: name, Served: served}
		if over := state.WildcardOver(host); over != "" {
			g.wildcard = state.HostName(over)
		}
		if !slices.ContainsFunc(out, func(h Ground) bool { return h.Name == g.Name && h.Served == g.Served }) {
			out = append(out, g)
		}
	}
	if host := o.RecordOf(); host != "" { // any part of the host that the group holds will do
		add(state.HostName(host), state.Served{Group: o.Group, Redirect: true}, host)
		return out
	}
	switch o.Kind {
	case kinds.Service:
		port := state.ServiceObjectOf(o.Live)
		uses := state.AddressUses(o.Live)
		if !slices.ContainsFunc(uses, func(u state.Use) bool { return !u.Granted }) { // MetalLB chooses the address
			if port.SharingKey != "" {
				add(state.EndpointName(port.SharingKey), state.Served{Group: o.Group, Key: state.PortKey(port.Protocol, port.Port), SharingKey: port.SharingKey}, "")
			}
			return out
		}
		for _, u := range uses {
			add(state.AddressName(u.Address), state.Served{Group: o.Group, Key: state.PortKey(port.Protocol, port.Port), SharingKey: u.SharingKey}, "")
		}
	case kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.Live)
		for _, c := range claims {
			if c.Kind.HasPorts() && c.SharingKey == port.SharingKey {
				add(c.Name(), state.Served{Group: o.Group, Key: state.PortKey(port.Protocol, port.Port), SharingKey: port.SharingKey}, "")
			}
		}
	default:
		for _, u := range state.HostUses(o.Live) {
			add(state.HostName(u.Host), state.Served{Group: o.Group, Key: state.RouteKey(u.Path), Redirect: u.Redirect}, u.Host)
		}
	}
	return out
}

// ReadGrounds reads the claims that an object depends on. Read the object first.
func ReadGrounds(ctx context.Context, l ledger.Ledger, o Owned) ([]Ground, error) {
	var claims []*state.Claim
	if o.Kind == kinds.ProviderLeasedIP {
		var err error
		if claims, err = l.ListOwner(ctx, o.Group.Owner); err != nil {
			return nil, err
		}
	}
	grounds := GroundsOf(o, claims)
	for i := range grounds {
		g := &grounds[i]
		var err error
		if g.Claim, err = ReadClaim(ctx, l, g.Name); err != nil {
			return nil, err
		}
		if g.wildcard != "" && (g.Claim == nil || len(g.Claim.Parts) == 0) {
			if g.over, err = ReadClaim(ctx, l, g.wildcard); err != nil {
				return nil, err
			}
		}
	}
	return grounds, nil
}

// ReadClaim reads a claim, and retries unclear answers.
func ReadClaim(ctx context.Context, l ledger.Ledger, name string) (claim *state.Claim, err error) {
	err = l.Until(ctx, func(ctx context.Context) (err error) {
		claim, err = l.Get(ctx, name)
		return err
	})
	return claim, err
}

// MayGo reports whether an object, as it was read, may be deleted. It reads the claims after the object was read; the
// delete is pinned to the object.
type MayGo func(ctx context.Context, now *unstructured.Unstructured) (bool, error)

// OfTenant lets an object be deleted if it has not changed hands. It is for a release, which gives up the claims too.
func OfTenant(before *unstructured.Unstructured) MayGo {
	return func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		return state.SameTenant(before, now), nil
	}
}

// StandsFor reports whether an object serves a part of a claim, or accompanies objects that do.
func StandsFor(o Owned, c *state.Claim, p state.Part) bool {
	switch {
	case o.Kind == kinds.Service:
		return c.Kind.HasPorts() && ServesPort(o.Live, p)
	case o.Kind == kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.Live)
		return c.Kind.HasPorts() && state.PortKey(port.Protocol, port.Port) == p.Key
	case slices.Contains(kinds.RouteKinds, o.Kind):
		return slices.ContainsFunc(state.HostUses(o.Live), func(u state.Use) bool { return u.Redirect || state.RouteKey(u.Path) == p.Key })
	}
	return true
}

// Strays reports whether an object of another group serves a path or a port among parts, which are those of a claim that
// are wanted for one group, or a host of which the object's group holds nothing.
func Strays(o Owned, parts []state.Part, c *state.Claim) bool {
	if o.Kind != kinds.Service {
		return len(c.PartsOf(o.Group)) == 0 || slices.ContainsFunc(state.HostUses(o.Live), func(u state.Use) bool {
			return slices.ContainsFunc(parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
		})
	}
	return slices.ContainsFunc(parts, func(p state.Part) bool { return ServesPort(o.Live, p) })
}

// ServesPort reports whether a Service has the port of the part.
func ServesPort(service *unstructured.Unstructured, p state.Part) bool {
	protocol, port := p.ProtocolPort()
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	return slices.ContainsFunc(ports, func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["protocol"] == string(protocol) && m["port"] == int64(port)
	})
}

// GroundsIn returns the claims that an object depends on as they are known: claims are those of its deployment group.
func GroundsIn(o Owned, claims []*state.Claim, claim func(name string) *state.Claim) []Ground {
	grounds := GroundsOf(o, claims)
	for i := range grounds {
		g := &grounds[i]
		if g.Claim = claim(g.Name); g.wildcard != "" && (g.Claim == nil || len(g.Claim.Parts) == 0) {
			g.over = claim(g.wildcard)
		}
	}
	return grounds
}
