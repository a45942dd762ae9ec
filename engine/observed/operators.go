package observed

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// How to run beside Akash's operators.
const (
	// OperatorsAuto leaves to an operator what it creates if its Deployment is in the cluster.
	OperatorsAuto = "auto"
	// OperatorsOn assumes that the operators run. OperatorsOff creates everything, and refuses what running operators
	// would overwrite.
	OperatorsOn  = "on"
	OperatorsOff = "off"
)

// Operators are the Akash operators that create objects in the cluster: the hostname operator a route for each
// ProviderHost, the IP operator a Service for each ProviderLeasedIP.
type Operators struct {
	Hostname, IP bool
	// Off is true if the user turned the operators off but they run.
	Off bool
	// Unknown is true if the user may not see which run.
	Unknown bool
}

// Theirs reports whether one of Akash's operators creates the object for a ProviderHost or a ProviderLeasedIP. Objects
// that the operators do not know lack Akash's label, because the operators stop at others (docs/akash-operators.md).
func (o Operators) Theirs(object render.Object) bool {
	makes := o.Hostname
	switch object.Kind {
	case kinds.Ingress, kinds.HTTPRoute:
	case kinds.Service:
		makes = o.IP
	default:
		return false
	}
	return makes && render.Look(object).GetLabels()[lease.LabelManaged] == "true"
}

// Moves reports whether the hostname operator deletes a route itself when its ProviderHost changes hands: if the route
// is already gone, the operator crashes and restarts.
func (o Operators) Moves(route Object) bool {
	return o.Hostname && (route.Kind == kinds.Ingress || route.Kind == kinds.HTTPRoute) && route.Live.GetLabels()[lease.LabelManaged] == "true"
}

// Made returns the live object of a rendered one, also if an operator has created it; nil if there is none.
func (s *Snapshot) Made(o render.Object) *unstructured.Unstructured {
	for _, kind := range s.Operators.KindsOf(o) {
		if live := s.At(kind, o.Namespace, o.Name); live != nil {
			return live
		}
	}
	return nil
}

// HostnameKinds are the kinds of the hostname operator's routes. It creates them in one of these, whichever kind is rendered.
var HostnameKinds = []kinds.Kind{kinds.Ingress, kinds.HTTPRoute}

// KindsOf returns the kinds that the live object of a rendered one may have.
func (o Operators) KindsOf(object render.Object) []kinds.Kind {
	if object.Kind == kinds.Service || !o.Theirs(object) {
		return []kinds.Kind{object.Kind}
	}
	return HostnameKinds
}

// Manifests are the Manifest objects of Akash's provider, by name. Akash's hostname operator looks the lease, service and
// port of each ProviderHost up in them. One that it does not find ends its loop, for all tenants, and after three times it
// ignores the lease until it is restarted (provider: operator/hostname, event-failure-limit).
type Manifests map[string]*unstructured.Unstructured

// Lacks returns what the hostname operator would not find for a ProviderHost of the lease, or "". It finds a service with
// instances that has a global port of that number.
func (m Manifests) Lacks(id lease.ID, service string, port uint16) string {
	switch {
	case m[id.Namespace()] == nil:
		return "no Manifest"
	case service != "" && m.Port(id, service, port) == nil:
		return fmt.Sprintf("no service %s with instances and a global port %d in its Manifest", service, port)
	}
	return ""
}

// Warnings warns of the hosts of a request at whose ProviderHosts the hostname operator would stop. Nil Manifests warn of
// nothing.
func (m Manifests) Warnings(r state.Request) (warnings lease.Problems) {
	if m == nil {
		return nil
	}
	for _, h := range r.Hosts {
		if h.Path != "/" || strings.HasPrefix(h.Host, "*.") { // it has no ProviderHost
			continue
		}
		if lacks := m.Lacks(r.Lease, h.Service, h.Port); lacks != "" {
			warnings.Warn(h.At, "%s: lease %s has %s: Akash's hostname operator stops at its ProviderHost, for all tenants, "+
				"and ignores the lease from then on. Deliver it when the tenant has sent the manifest", h.Host, r.Lease, lacks)
		}
	}
	return warnings
}

// Port returns what the hostname operator looks for in the Manifest of a lease, nil if it is not there: the service, with
// instances, and a global port of that number.
func (m Manifests) Port(id lease.ID, service string, port uint16) map[string]any {
	manifest := m[id.Namespace()]
	if manifest == nil {
		return nil
	}
	services, _, _ := unstructured.NestedSlice(manifest.Object, "spec", "group", "services")
	for _, v := range services {
		s, ok := v.(map[string]any)
		if !ok || s["name"] != service || s["count"] == int64(0) {
			continue
		}
		exposes, _, _ := unstructured.NestedSlice(s, "expose")
		for _, v := range exposes {
			e, _ := v.(map[string]any)
			external, _ := e["external_port"].(int64)
			if external == 0 {
				external, _ = e["port"].(int64)
			}
			if e["global"] == true && external == int64(port) {
				return e
			}
		}
	}
	return nil
}

// NamesAnother reports whether the live ProviderLeasedIP names another service than the rendered one, and this program
// has written it for the group. One of another lease is handed over as it is; one of Akash's provider is a conflict.
func (s *Snapshot) NamesAnother(group lease.Group, o render.Object) bool {
	live := s.Find(o)
	if live == nil {
		return false
	}
	whose := s.Ownership(live)
	return whose.Ours && !whose.Declared && whose.Lease.Group() == group &&
		state.PortObjectOf(live).Service != state.PortObjectOf(render.Look(o)).Service
}

// FormerServices returns the operator's Services of the group for the port of a rendered ProviderLeasedIP that point at
// another service of the same endpoint, or at the same service of another endpoint.
func (s *Snapshot) FormerServices(group lease.Group, o render.Object) (former []Object) {
	want := state.PortObjectOf(render.Look(o))
	for _, service := range s.Theirs.Of(group) {
		port := state.ServiceObjectOf(service.Live) // a route has none
		otherService, otherEndpoint := port.Service != want.Service, port.SharingKey != want.SharingKey
		if port.Protocol == want.Protocol && port.Port == want.Port && otherService != otherEndpoint {
			former = append(former, service)
		}
	}
	return former
}
