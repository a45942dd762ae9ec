package observed

import (
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// NamesAnother reports whether the live ProviderLeasedIP names another service than the rendered one, and this program
// has written it for the group. One of another lease is handed over as it is; one of Akash's provider is a conflict.
func NamesAnother(s *Snapshot, group lease.Group, o render.Object) bool {
	live := s.Find(o)
	if live == nil {
		return false
	}
	whose := s.Ownership(live)
	return whose.Ours && !whose.Declared && whose.Lease.Group() == group &&
		state.PortObjectOf(live).Service != state.PortObjectOf(cluster.Rendered(o)).Service
}

// FormerServices returns the operator's Services of the group for the port of a rendered ProviderLeasedIP that point at
// another service of the same endpoint, or at the same service of another endpoint.
func FormerServices(s *Snapshot, group lease.Group, o render.Object) (former []Owned) {
	want := state.PortObjectOf(cluster.Rendered(o))
	for _, service := range s.Theirs[group] {
		port := state.ServiceObjectOf(service.Live) // a route has none
		otherService, otherEndpoint := port.Service != want.Service, port.SharingKey != want.SharingKey
		if port.Protocol == want.Protocol && port.Port == want.Port && otherService != otherEndpoint {
			former = append(former, service)
		}
	}
	return former
}
