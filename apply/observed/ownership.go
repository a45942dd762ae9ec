package observed

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Ownership says whose an object is that was read.
func (s *Snapshot) Ownership(o *unstructured.Unstructured) state.Ownership {
	return state.OwnershipOf(o, s.Tenants[o.GetNamespace()])
}

// Stays is true for an object that Akash's provider has written and keeps: this program takes back its
// fields and does not delete it.
func (s *Snapshot) Stays(o Owned) bool {
	whose := s.Ownership(o.Live)
	return whose.Shared && !whose.Goes(slices.Contains(kinds.ClaimLike, o.Kind), s.Declared(o.Kind, o.Live, whose.Lease.Group()))
}

// Declared is true for a route or a Service of which Akash's provider made the ProviderHost or the
// ProviderLeasedIP, for the same deployment group.
func (s *Snapshot) Declared(kind kinds.Kind, live *unstructured.Unstructured, group lease.Group) bool {
	byAkash := func(kind kinds.Kind, namespace, name string) bool {
		o := s.Live[kind.Plural][namespace+"/"+name]
		if o == nil {
			return false
		}
		whose := s.Ownership(o)
		return whose.Declared && whose.HasLease && whose.Lease.Group() == group
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
