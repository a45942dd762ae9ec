package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// Report is what one router says about a route in the route's status. The routers are Gateway controllers for routes of
// the Gateway API, and OpenShift's routers for Routes. Ingresses have no such status.
type Report struct {
	// Route is kind namespace/name.
	Route string
	// By is the Gateway (namespace/name, or namespace/name/listener), or another parent with its kind, or the OpenShift router.
	By string
	// Controller is the name of the Gateway controller. It is empty for a Route.
	Controller string
	Verdict    RouteVerdict
	// Reason and Message are copied from the status.
	Reason, Message string
	// Unresolved says which backend the router cannot find. It is empty if it has found all.
	Unresolved string
	Since      time.Time
	// Stale says why the report is obsolete. It is empty for a report that counts.
	Stale string
	// entry is the index of the report in the status. gateway is the namespace/name of the Gateway,
	// empty for any other parent. resolved is true if the Gateway reports that it has found all backends.
	entry    int
	gateway  string
	resolved bool
}

// RouteVerdict is a router's decision about a route.
type RouteVerdict string

// The verdicts. A report on an earlier generation of the route counts as RoutePending.
const (
	RouteAccepted RouteVerdict = "Accepted"
	RouteRefused  RouteVerdict = "Refused"
	RoutePending  RouteVerdict = "Pending"
)

// Routers are the Gateways and routers that exist. A nil map means that they are unknown.
type Routers struct {
	// Gateways are namespace/name; Routers are names of OpenShift's IngressControllers.
	Gateways, Routers map[string]bool
}

// Reports returns the reports of routers on a route, nil if there is none, in the order of its status.
func Reports(o *unstructured.Unstructured, present Routers) []Report {
	switch {
	case o == nil:
	case isGatewayRoute(o):
		return gatewayReports(o, present.Gateways)
	case o.GetKind() == "Route":
		return routerReports(o, present.Routers)
	}
	return nil
}

// isGatewayRoute reports whether the object is a route of the Gateway API that names hosts.
func isGatewayRoute(o *unstructured.Unstructured) bool {
	kind := o.GetKind()
	return kind == "HTTPRoute" || kind == "TLSRoute" || kind == "GRPCRoute"
}

func gatewayReports(o *unstructured.Unstructured, gateways map[string]bool) []Report {
	var route struct {
		Status struct {
			Parents []struct {
				ControllerName string
				Conditions     []metav1.Condition
			}
		}
	}
	if !decode(o, &route) {
		return nil
	}
	attached := admission.AttachedOf(o)
	entries, _ := Field(o.Object, "status", "parents").([]any)
	var out []Report
	for i, p := range route.Status.Parents {
		parent := admission.ParentOf(Field(entries[i], "parentRef"), o.GetNamespace())
		r := Report{Route: routeText(o), By: parent.String(), Controller: p.ControllerName, Verdict: RoutePending, entry: i}
		if parent.IsGateway() {
			r.gateway = parent.Namespace + "/" + parent.Name
		}
		for _, c := range p.Conditions {
			switch {
			case c.ObservedGeneration != 0 && c.ObservedGeneration < o.GetGeneration():
			case c.Type == "Accepted":
				r.setVerdict(c.Status, c.Reason, c.Message, c.LastTransitionTime.Time)
			case c.Type == "ResolvedRefs" && c.Status == metav1.ConditionTrue:
				r.resolved = true
			case c.Type == "ResolvedRefs" && c.Status == metav1.ConditionFalse:
				r.Unresolved = fmt.Sprintf("%s: %s", c.Reason, c.Message)
			}
		}
		switch {
		case !slices.Contains(attached.Parents, parent):
			r.Stale = fmt.Sprintf("the route does not name this %s any more", parent.Of.Kind)
		case gateways != nil && parent.IsGateway() && !gateways[r.gateway]:
			r.Stale = "the Gateway is gone"
		}
		out = append(out, r)
	}
	return out
}

func routerReports(o *unstructured.Unstructured, routers map[string]bool) []Report {
	var route struct {
		Spec   struct{ Host string }
		Status struct {
			Ingress []struct {
				Host, RouterName string
				Conditions       []metav1.Condition
			}
		}
	}
	if !decode(o, &route) {
		return nil
	}
	var out []Report
	for i, in := range route.Status.Ingress {
		r := Report{Route: routeText(o), By: in.RouterName, Verdict: RoutePending, entry: i}
		for _, c := range in.Conditions {
			if c.Type == "Admitted" {
				r.setVerdict(c.Status, c.Reason, c.Message, c.LastTransitionTime.Time)
			}
		}
		switch {
		case in.Host != route.Spec.Host:
			r.Stale = fmt.Sprintf("it is of the host %s, which the route had before", in.Host)
		case routers != nil && !routers[in.RouterName]:
			r.Stale = "the router is gone"
		}
		out = append(out, r)
	}
	return out
}

// decode unmarshals an object into a struct.
func decode(o *unstructured.Unstructured, into any) bool {
	body, err := o.MarshalJSON()
	return err == nil && json.Unmarshal(body, into) == nil
}

func routeText(o *unstructured.Unstructured) string {
	return newUse(strings.ToLower(o.GetKind()), o).String()
}

func (r *Report) setVerdict(status metav1.ConditionStatus, reason, message string, since time.Time) {
	switch status {
	case metav1.ConditionTrue:
		r.Verdict = RouteAccepted
	case metav1.ConditionFalse:
		r.Verdict = RouteRefused
	}
	r.Reason, r.Message, r.Since = reason, message, since
}

// String describes the report.
func (r Report) String() string {
	who := r.By
	if r.gateway != "" {
		who = "Gateway " + r.By
	}
	switch {
	case r.Stale != "":
		return fmt.Sprintf("%s: the report of %s is stale: %s", r.Route, who, r.Stale)
	case r.Verdict == RouteAccepted && r.Unresolved != "":
		return fmt.Sprintf("%s accepts %s since %s, and does not find its backend (%s)", who, r.Route, Stamp(r.Since), r.Unresolved)
	case r.Verdict == RouteAccepted:
		return fmt.Sprintf("%s accepts %s since %s", who, r.Route, Stamp(r.Since))
	case r.Verdict == RouteRefused:
		return fmt.Sprintf("%s refuses %s since %s (%s: %s)", who, r.Route, Stamp(r.Since), r.Reason, r.Message)
	}
	return fmt.Sprintf("%s has not judged %s yet", who, r.Route)
}

// Accepts reports whether the router accepts the current route.
func (r Report) Accepts() bool { return r.Stale == "" && r.Verdict == RouteAccepted }

// Accepted reports whether a router accepts the current route.
func Accepted(reports []Report) bool {
	return slices.ContainsFunc(reports, Report.Accepts)
}

// Serves reports whether a router accepts the current route and finds its backends.
func Serves(reports []Report) bool {
	return slices.ContainsFunc(reports, func(r Report) bool {
		return r.Accepts() && r.Unresolved == ""
	})
}

// WithoutStale returns the name of the list of reports in the status of a route, and the list without the stale
// reports.
func WithoutStale(o *unstructured.Unstructured, present Routers) (field string, kept []any) {
	field = "parents"
	if o.GetKind() == "Route" {
		field = "ingress"
	}
	kept = []any{}
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", field)
	for _, r := range Reports(o, present) {
		if r.Stale == "" && r.entry < len(entries) {
			kept = append(kept, entries[r.entry])
		}
	}
	return field, kept
}
