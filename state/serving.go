package state

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
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

// ToBeAccepted describes the wait until a router accepts a route, with the reason of the one that refuses it.
func ToBeAccepted(kind kinds.Kind, namespace, name string, reports []Report) string {
	for _, s := range reports {
		if s.Stale == "" && (s.Verdict == RouteRefused || s.Unresolved != "") {
			return fmt.Sprintf("%s %s/%s to be accepted: %s", kind.Singular, namespace, name, s)
		}
	}
	return fmt.Sprintf("%s %s/%s to be accepted by a router (see: kubectl -n %s get %s %s -o yaml)",
		kind.Singular, namespace, name, namespace, kind.Singular, name)
}
