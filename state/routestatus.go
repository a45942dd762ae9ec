package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Report is what one router says of a route in its status: a Gateway's controller of a route
// of the Gateway API, a router of OpenShift of a Route. Ingresses have no such status.
type Report struct {
	// Route is the route, as kind namespace/name.
	Route string
	// By is the Gateway (namespace/name, and /listener where one is named) or the router.
	By string
	// Controller is the Gateway controller's name; empty for a Route.
	Controller string
	Verdict    RouteVerdict
	// Reason and Message are the router's.
	Reason, Message string
	// Unresolved says which backend the router does not find; empty where it finds all.
	Unresolved string
	Since      time.Time
	// Stale says why nobody stands behind the report any more; empty for one that counts.
	Stale string
	// entry is the report's place in the status, gateway the namespace/name of a Gateway that reports, and
	// resolved is true where it says that it finds all backends.
	entry    int
	gateway  string
	resolved bool
}

// RouteVerdict is how a router takes a route.
type RouteVerdict string

// The verdicts. What a router has said of an earlier version of the route counts as nothing said.
const (
	RouteAccepted RouteVerdict = "Accepted"
	RouteRefused  RouteVerdict = "Refused"
	RoutePending  RouteVerdict = "Pending"
)

// Routers are those that are there to report. A nil map means that nobody knows.
type Routers struct {
	// Gateways are namespace/name, Routers names of OpenShift's IngressControllers.
	Gateways, Routers map[string]bool
}

// Reports are what routers say of a route, in the order of its status.
func Reports(o *unstructured.Unstructured, there Routers) []Report {
	switch o.GetKind() {
	case "HTTPRoute", "TLSRoute", "GRPCRoute":
		return gatewayReports(o, there.Gateways)
	case "Route":
		return routerReports(o, there.Routers)
	}
	return nil
}

// parentRef is the reference of a route to a Gateway (gateway-api: ParentReference).
type parentRef struct {
	Group, Kind     *string
	Namespace, Name string
	SectionName     string
	Port            int64
}

func (p parentRef) in(namespace string) parentRef {
	p.Namespace = cmp.Or(p.Namespace, namespace)
	p.Group, p.Kind = nil, nil
	return p
}

func (p parentRef) String() string {
	text := p.Namespace + "/" + p.Name
	if p.SectionName != "" {
		text += "/" + p.SectionName
	}
	return text
}

func gatewayReports(o *unstructured.Unstructured, gateways map[string]bool) []Report {
	var route struct {
		Spec   struct{ ParentRefs []parentRef }
		Status struct {
			Parents []struct {
				ParentRef      parentRef
				ControllerName string
				Conditions     []metav1.Condition
			}
		}
	}
	if !decode(o, &route) {
		return nil
	}
	var out []Report
	for i, p := range route.Status.Parents {
		parent := p.ParentRef.in(o.GetNamespace())
		r := Report{Route: routeText(o), By: parent.String(), Controller: p.ControllerName, Verdict: RoutePending, entry: i, gateway: parent.Namespace + "/" + parent.Name}
		for _, c := range p.Conditions {
			switch {
			case c.ObservedGeneration != 0 && c.ObservedGeneration < o.GetGeneration():
			case c.Type == "Accepted":
				r.judge(c.Status, c.Reason, c.Message, c.LastTransitionTime.Time)
			case c.Type == "ResolvedRefs" && c.Status == metav1.ConditionTrue:
				r.resolved = true
			case c.Type == "ResolvedRefs" && c.Status == metav1.ConditionFalse:
				r.Unresolved = fmt.Sprintf("%s: %s", c.Reason, c.Message)
			}
		}
		switch {
		case !slices.ContainsFunc(route.Spec.ParentRefs, func(q parentRef) bool { return q.in(o.GetNamespace()) == parent }):
			r.Stale = "the route does not name this Gateway any more"
		case gateways != nil && !gateways[parent.Namespace+"/"+parent.Name]:
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
				r.judge(c.Status, c.Reason, c.Message, c.LastTransitionTime.Time)
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

// decode reads the fields of an object that a struct names.
func decode(o *unstructured.Unstructured, into any) bool {
	body, err := o.MarshalJSON()
	return err == nil && json.Unmarshal(body, into) == nil
}

func routeText(o *unstructured.Unstructured) string {
	return newUse(strings.ToLower(o.GetKind()), o).String()
}

func (r *Report) judge(status metav1.ConditionStatus, reason, message string, since time.Time) {
	switch status {
	case metav1.ConditionTrue:
		r.Verdict = RouteAccepted
	case metav1.ConditionFalse:
		r.Verdict = RouteRefused
	}
	r.Reason, r.Message, r.Since = reason, message, since
}

// String says it in words.
func (r Report) String() string {
	who := r.By
	if r.Controller != "" {
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

// Accepted is true where a router accepts the route as it is.
func Accepted(reports []Report) bool {
	return slices.ContainsFunc(reports, func(r Report) bool { return r.Stale == "" && r.Verdict == RouteAccepted })
}

// Serves is true where a router accepts the route and finds its backends.
func Serves(reports []Report) bool {
	return slices.ContainsFunc(reports, func(r Report) bool { return r.Stale == "" && r.Verdict == RouteAccepted && r.Unresolved == "" })
}

// WithoutStale is the list of reports of a route's status without the stale ones, and the name of
// its field below status.
func WithoutStale(o *unstructured.Unstructured, there Routers) (field string, kept []any) {
	field = "parents"
	if o.GetKind() == "Route" {
		field = "ingress"
	}
	kept = []any{}
	entries, _, _ := unstructured.NestedSlice(o.Object, "status", field)
	for _, r := range Reports(o, there) {
		if r.Stale == "" && r.entry < len(entries) {
			kept = append(kept, entries[r.entry])
		}
	}
	return field, kept
}
