package state

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// NotServing returns what is missing before a route serves according to its controller, or "". A route of the Gateway
// API needs the Gateway (namespace/name) to accept it, to find its backends and to be programmed. An OpenShift Route
// needs a router that admits it. An Ingress needs an address in its status.
func NotServing(o, gateway *unstructured.Unstructured, gatewayName string) string {
	where := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	switch o.GetKind() {
	case "HTTPRoute", "TLSRoute", "GRPCRoute":
		return gatewayNotServing(o, gateway, where, gatewayName)
	case "Route":
		if reports := Reports(o, Routers{}); !Accepted(reports) {
			return "no router has admitted " + where + refusedText(reports)
		}
		return ""
	}
	if list, _ := Field(o.Object, "status", "loadBalancer", "ingress").([]any); len(list) == 0 {
		return "no controller has written an address into the status of " + where
	}
	return ""
}

func gatewayNotServing(o, gateway *unstructured.Unstructured, where, name string) string {
	of := slices.DeleteFunc(gatewayReports(o, nil), func(r Report) bool { return r.Stale != "" || r.gateway != name })
	switch {
	case gateway == nil:
		return fmt.Sprintf("%s waits for Gateway %s, which does not exist", where, name)
	case !Accepted(of):
		return fmt.Sprintf("Gateway %s has not accepted %s%s", name, where, refusedText(of))
	case !slices.ContainsFunc(of, func(r Report) bool { return r.Verdict == RouteAccepted && r.resolved }):
		return fmt.Sprintf("Gateway %s has not found the backends of %s%s", name, where, refusedText(of))
	case !isTrue(gateway, "Programmed"):
		return fmt.Sprintf("Gateway %s, which has accepted %s, is not programmed", name, where)
	}
	return ""
}

// refusedText returns the first refusal among the reports, in parentheses, or "".
func refusedText(reports []Report) string {
	for _, r := range reports {
		if r.Stale == "" && (r.Verdict == RouteRefused || r.Unresolved != "") {
			return " (" + r.String() + ")"
		}
	}
	return ""
}

// isTrue reports whether the condition is true for the current generation of the object.
func isTrue(o *unstructured.Unstructured, condition string) bool {
	var status struct {
		Status struct{ Conditions []metav1.Condition }
	}
	if !decode(o, &status) {
		return false
	}
	for _, c := range status.Status.Conditions {
		if c.Type == condition {
			return c.Status == metav1.ConditionTrue && (c.ObservedGeneration == 0 || c.ObservedGeneration >= o.GetGeneration())
		}
	}
	return false
}

// ToBeAccepted describes the wait until a route, nil if there is none, has the reports that it needs, with the reason of a router that
// refuses it; "" if it has these: Accepted, or Serves.
func ToBeAccepted(kind kinds.Kind, namespace, name string, live *unstructured.Unstructured, needs func([]Report) bool) string {
	reports := Reports(live, Routers{})
	if needs(reports) {
		return ""
	}
	for _, s := range reports {
		if s.Stale == "" && (s.Verdict == RouteRefused || s.Unresolved != "") {
			return fmt.Sprintf("%s %s/%s to be accepted: %s", kind.Singular, namespace, name, s)
		}
	}
	return fmt.Sprintf("%s %s/%s to be accepted by a router (see: kubectl -n %s get %s %s -o yaml)",
		kind.Singular, namespace, name, namespace, kind.Singular, name)
}

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
		h.Service, h.Port = DeclaredBackend(o)
		return
	}
	if uses := HostUses(o); len(uses) > 0 {
		is := func(u Use) bool { return u.Host == h.Host && lease.PathHash(u.Path) == h.PathHash }
		u := uses[max(0, slices.IndexFunc(uses, is))]
		h.Service, h.Port, h.Redirect = u.Service, u.Port, h.Redirect || u.Redirect
	}
	h.Routing, h.Unaccepted = RoutingOf(o), unaccepted(o)
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

// A deployment group holds claims, and its leases serve them: another order, or the same order at another provider, is
// another lease of the same group, with a namespace of its own. What serves is touched only by an apply, a transfer or a
// release of the lease that serves it.

// Elsewhere returns the lease that has in place of the given one what their deployment group has. live are the leases
// whose objects serve. There is none if nothing is live, or if the given lease is among the live ones. An ID without a
// provider is that of the order at any provider.
func Elsewhere(id lease.ID, live []lease.ID) (other lease.ID, ok bool) {
	is := func(l lease.ID) bool { return l == id || id.Provider == "" && l.Order() == id.Order() }
	if len(live) == 0 || slices.ContainsFunc(live, is) {
		return lease.ID{}, false
	}
	return slices.MinFunc(live, lease.ID.Compare), true
}

// Reserve returns what a reservation makes of a part that its deployment group holds already. live are the leases whose
// objects serve the claim. The part of another lease that serves stays as it is: then by is that lease. A reservation
// that names no backend takes none from what its own lease serves.
func (p Part) Reserve(want Part, live []lease.ID) (part Part, by lease.ID) {
	stays := p
	stays.Run, stays.Expires = want.Run, want.Expires
	if by, elsewhere := Elsewhere(want.Lease, live); elsewhere && p.Lease != want.Lease {
		return stays, by
	}
	if p.Lease == want.Lease && want.Service == "" && len(live) > 0 {
		return stays, lease.ID{}
	}
	return want, lease.ID{}
}
