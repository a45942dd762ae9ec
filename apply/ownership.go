package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ownership says whose an object is that was read.
func (s *snapshot) ownership(o *unstructured.Unstructured) state.Ownership {
	return state.OwnershipOf(o, s.tenants[o.GetNamespace()])
}

// stays is true for an object that Akash's provider has written and keeps: this program takes back its
// fields and does not delete it.
func (s *snapshot) stays(o owned) bool {
	whose := s.ownership(o.live)
	return whose.Shared && !whose.Goes(slices.Contains(kinds.ClaimLike, o.kind), s.declared(o.kind, o.live, whose.Lease.Group()))
}

// declared is true for a route or a Service of which Akash's provider made the ProviderHost or the
// ProviderLeasedIP, for the same deployment group.
func (s *snapshot) declared(kind kinds.Kind, live *unstructured.Unstructured, group lease.Group) bool {
	byAkash := func(kind kinds.Kind, namespace, name string) bool {
		o := s.live[kind.Plural][namespace+"/"+name]
		if o == nil {
			return false
		}
		whose := s.ownership(o)
		return whose.Declared && whose.HasLease && whose.Lease.Group() == group
	}
	if kind == kinds.Service {
		service := state.ServiceObjectOf(live)
		port, ok := s.ports[lease.LeasedIPName(service.SharingKey, service.Protocol, service.Port)]
		return ok && byAkash(kinds.ProviderLeasedIP, port.Namespace, port.Name)
	}
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return slices.ContainsFunc(s.hostUses[u.Host], func(u state.Use) bool {
			return u.Kind == kinds.ProviderHost.Singular && byAkash(kinds.ProviderHost, u.Namespace, u.Name)
		})
	})
}
