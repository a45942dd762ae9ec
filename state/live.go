package state

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// LeadsTo is true for the backend that the claim names for the part: what a route of the kind says when
// it serves the part as it is claimed. A claim may name none, and an OpenShift Route names the
// port of the containers, which no claim knows.
func (p Part) LeadsTo(kind, service string, port uint16) bool {
	return p.Service == "" || p.Service == service && (p.Port == port || kind == kindRoute)
}

// kindRoute is OpenShift's Route, as an object's kind in lower case.
const kindRoute = "route"

// Complete adds what a whole object says: where it leads, and whether a controller has accepted it.
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
	h.Unaccepted = unaccepted(o)
}

// unaccepted says why a route does not serve yet, as far as its status tells: of a kind in whose status
// controllers report, none has accepted it as it is now. It is empty for a route that is accepted, of
// another kind, or in a file: there nobody could have reported.
func unaccepted(o *unstructured.Unstructured) string {
	if o.GetUID() == "" {
		return ""
	}
	switch o.GetKind() {
	case "HTTPRoute", "TLSRoute", "GRPCRoute", "Route":
	default:
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

// hostObjectOf reads a whole object.
func hostObjectOf(o *unstructured.Unstructured) HostObject {
	h := HostObjectOf(o.GetKind(), o)
	h.Complete(o)
	return h
}

// HostObjectsOf reads a whole ProviderHost or route of a lease; cert-manager's solvers and routes of
// nobody are none.
func HostObjectsOf(o *unstructured.Unstructured) []HostObject {
	if _, ofLease := o.GetLabels()[lease.LabelOwner]; !ofLease && !strings.EqualFold(o.GetKind(), kinds.ProviderHost.Singular) {
		return nil
	}
	return []HostObject{hostObjectOf(o)}
}
