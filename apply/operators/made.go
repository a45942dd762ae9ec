// Package operators handles the work that is left to Akash's operators: it refuses what they would stop at, and waits
// for what they create or delete.
package operators

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// WaitingFor describes the operator that has to create an object.
func WaitingFor(o render.Object) string {
	if o.Kind == kinds.Service {
		return fmt.Sprintf("Akash's IP operator to write service %s in namespace %s as the lease's claim says "+
			"(see: kubectl -n %s logs deploy/operator-ip)", o.Name, o.Namespace, observed.OperatorsNamespace)
	}
	backend := ""
	for _, u := range state.HostUses(cluster.Rendered(o)) {
		backend = fmt.Sprintf(" to %s:%d", u.Service, u.Port)
	}
	return fmt.Sprintf("Akash's hostname operator to route %s%s in namespace %s "+
		"(see: kubectl -n %s logs deploy/operator-hostname, and its /ignore-list)", o.Name, backend, o.Namespace, observed.OperatorsNamespace)
}

// OtherProtocol explains that the IP operator serves the same port number of the endpoint for a deployment other than
// group, which has the other protocol, or returns "".
func OtherProtocol(s *observed.Snapshot, group lease.Group, o render.Object) string {
	if o.Kind != kinds.Service {
		return ""
	}
	want := state.ServiceObjectOf(cluster.Rendered(o))
	protocol, port := state.Part{Key: state.OtherProtocol(state.PortKey(want.Protocol, want.Port))}.ProtocolPort()
	other, found := s.Ports[lease.LeasedIPName(want.SharingKey, protocol, port)]
	if !found || !other.HasLease || other.Lease.Group() == group {
		return ""
	}
	return fmt.Sprintf(". It serves one protocol of a port, and providerleasedip %s/%s declares the other for %s: one of the two gives the port up",
		other.Namespace, other.Name, other.Lease.Group())
}

// Agrees reports whether an operator's live object serves what the rendered one of the lease would: the same host or
// port, from the same backend, with the HTTP options that the operator knows.
func Agrees(s *observed.Snapshot, def *lease.Definition, id lease.ID, o render.Object, live *unstructured.Unstructured) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	want := cluster.Rendered(o)
	if o.Kind == kinds.Service {
		a, b := state.ServiceObjectOf(want), state.ServiceObjectOf(live)
		return a.Service == b.Service && a.Port == b.Port && a.Protocol == b.Protocol &&
			a.ContainerPort == b.ContainerPort && a.SharingKey == b.SharingKey
	}
	wanted := state.HostUses(want)
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return len(wanted) > 0 && u.Host == wanted[0].Host && u.Service == wanted[0].Service && u.Port == wanted[0].Port && u.Of(id.Group())
	}) && caughtUp(s, def, id, o, live)
}
