package state

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// LeadsTo reports whether a route of the kind to the service and port serves the part as claimed. A claim without a
// service allows any backend. An OpenShift Route names a container port, which no claim knows, so its port is not
// compared.
func (p Part) LeadsTo(kind, service string, port uint16) bool {
	return p.Service == "" || p.Service == service && (p.Port == port || kind == kindRoute)
}

// kindRoute is the kind of OpenShift's Route in lower case.
const kindRoute = "route"

// Complete adds what the whole object says: its backend and whether a controller has accepted it.
func (h *HostObject) Complete(o *unstructured.Unstructured) {
	h.Whole = true
	if h.Kind == kinds.ProviderHost.Singular {
		spec := Field(o.Object, "spec")
		h.Service, _ = Field(spec, "service_name").(string)
		h.Port = portNumber(Field(spec, "external_port"))
		return
	}
	for _, u := range HostUses(o) {
		h.Service, h.Port, h.Redirect = u.Service, u.Port, h.Redirect || u.Redirect
	}
	if h.Routing = RoutingOf(o); h.Routing != nil {
		for _, rule := range h.Routing.rules {
			if rule.host == h.Host && lease.PathHash(rule.path) == h.PathHash {
				h.Service, h.Port = rule.service, rule.port
				break
			}
		}
	}
	h.Unaccepted = unaccepted(o)
}

// unaccepted returns why a route does not serve yet: no controller has accepted its current version. It returns "" for
// a route that is accepted, for kinds whose controllers write no such status, and for objects read from files, which no
// controller has seen.
func unaccepted(o *unstructured.Unstructured) string {
	if o.GetUID() == "" {
		return ""
	}
	if !isGatewayRoute(o) && o.GetKind() != "Route" {
		return ""
	}
	reports := Reports(o, Routers{})
	if Accepted(reports) {
		return ""
	}
	for _, r := range reports {
		if r.Stale == "" && r.Verdict == RouteRefused {
			return r.String()
		}
	}
	return fmt.Sprintf("no controller has accepted %s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
}

// HostObjectsOf reads a whole ProviderHost or route of a lease. It returns nothing for a route without a lease, such as
// cert-manager's solvers.
func HostObjectsOf(o *unstructured.Unstructured) []HostObject {
	if _, ofLease := o.GetLabels()[lease.LabelOwner]; !ofLease && !strings.EqualFold(o.GetKind(), kinds.ProviderHost.Singular) {
		return nil
	}
	h := HostObjectOf(o.GetKind(), o)
	h.Complete(o)
	return []HostObject{h}
}
