package observed

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ServedBy returns the objects of a claim's owner that serve or declare a part of it, whichever deployment of the owner
// they are of: those on which Akash's provider or its operators have written, and those that this program wrote for
// another deployment than the holder. The holder's own work decides about its other objects. declared is true if Akash's
// provider declares the part: then it is served for as long as the provider wants.
func (s *Snapshot) ServedBy(c *state.Claim, p state.Part) (by []Owned, declared bool) {
	names := []string{c.Name()}
	if c.Kind == state.Address {
		names = append(names, state.EndpointName(c.SharingKey))
	}
	standing := s.standing()
	for _, name := range names {
		for _, o := range standing[name] {
			known := func(x Owned) bool { return x.Live == o.Live }
			if o.Group.Owner != c.Owner || !o.usesPart(c, p) || slices.ContainsFunc(by, known) {
				continue
			}
			namesNone := o.Kind == kinds.ProviderLeasedIP && c.Kind == state.Address // a ProviderLeasedIP names no address
			if !s.Ownership(o.Live).Shared && (o.Group == p.Lease.Group() || namesNone) {
				continue
			}
			by, declared = append(by, o), declared || s.isDeclaration(o.Live)
		}
	}
	return by, declared
}

// DeclaredIn returns the ProviderHosts and ProviderLeasedIPs that Akash's provider declares for the lease of a namespace.
func (s *Snapshot) DeclaredIn(namespace string, group lease.Group) (out []Owned) {
	for _, o := range s.Shared[group] {
		if s.isDeclaration(o.Live) && s.Ownership(o.Live).Lease.Namespace() == namespace {
			out = append(out, o)
		}
	}
	return out
}

// isDeclaration reports whether an object is a ProviderHost or a ProviderLeasedIP that Akash's provider declares: it has
// created the object, or has moved it to its present lease.
func (s *Snapshot) isDeclaration(live *unstructured.Unstructured) bool {
	if live == nil || live.GetDeletionTimestamp() != nil || !slices.Contains(kinds.ClaimLike, kinds.Of(live.GetKind())) {
		return false
	}
	whose := s.Ownership(live)
	return whose.HasLease && whose.Shared && (whose.Declared || !whose.Ours)
}

// usesPart reports whether an object uses a part of a claim: the path of a host, or the port of an address or endpoint.
func (o Owned) usesPart(c *state.Claim, p state.Part) bool {
	switch o.Kind {
	case kinds.Service:
		port := state.ServiceObjectOf(o.Live)
		return c.Kind.HasPorts() && state.PortKey(port.Protocol, port.Port) == p.Key &&
			(c.Kind == state.Endpoint && port.SharingKey == c.SharingKey ||
				slices.Contains(port.Granted, c.Addr()) || slices.Contains(port.Asked, c.Addr()))
	case kinds.ProviderLeasedIP:
		port := state.PortObjectOf(o.Live)
		return c.Kind.HasPorts() && port.SharingKey == c.SharingKey && state.PortKey(port.Protocol, port.Port) == p.Key
	}
	return slices.ContainsFunc(state.HostUses(o.Live), func(u state.Use) bool {
		return u.Host == c.Thing && state.RouteKey(u.Path) == p.Key
	})
}

// findStanding returns the objects that serve or declare something, and that this program or Akash's has written, by the names
// of the claims that they may use.
func (s *Snapshot) findStanding() map[string][]Owned {
	standing := map[string][]Owned{}
	for _, kind := range slices.Concat(kinds.ServingKinds, kinds.ClaimLike) {
		for live := range s.Of(kind) {
			whose := s.Ownership(live)
			if !whose.HasLease || !whose.Ours && !whose.Shared {
				continue
			}
			o := Owned{Kind: kind, Live: live, Group: whose.Lease.Group()}
			for _, name := range claimsUnder(o) {
				standing[name] = append(standing[name], o)
			}
		}
	}
	return standing
}
