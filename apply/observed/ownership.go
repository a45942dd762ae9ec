package observed

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Ownership returns who owns an object.
func (s *Snapshot) Ownership(o *unstructured.Unstructured) state.Ownership {
	return state.OwnershipOf(o, s.Tenants[o.GetNamespace()])
}

// Stays reports whether Akash's provider has written an object and keeps it: this program withdraws its fields instead
// of deleting it.
func (s *Snapshot) Stays(o Owned) bool {
	whose := s.Ownership(o.Live)
	return whose.Shared && !whose.Goes(slices.Contains(kinds.ClaimLike, o.Kind), s.Declared(o.Kind, o.Live, whose.Lease.Group()))
}

// Declared reports whether Akash's provider declares the ProviderHost or ProviderLeasedIP of a route or Service, for the
// same deployment group.
func (s *Snapshot) Declared(kind kinds.Kind, live *unstructured.Unstructured, group lease.Group) bool {
	byAkash := func(kind kinds.Kind, namespace, name string) bool {
		o := s.At(kind, namespace, name)
		return o != nil && s.isDeclaration(o) && s.Ownership(o).Lease.Group() == group
	}
	if kind == kinds.Service {
		service := state.ServiceObjectOf(live)
		port, ok := s.Ports[lease.LeasedIPName(service.SharingKey, service.Protocol, service.Port)]
		return ok && byAkash(kinds.ProviderLeasedIP, port.Namespace, port.Name)
	}
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return slices.ContainsFunc(s.HostUses[u.Host], func(u state.Use) bool {
			return u.Kind == kinds.ProviderHost.Singular && byAkash(kinds.ProviderHost, u.Namespace, u.Name)
		})
	})
}
