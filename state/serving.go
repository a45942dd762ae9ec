package state

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NotServing says what is missing before a route is known to serve, by the word of its controller; empty
// where nothing is. Of a route of the Gateway API that is the Gateway (namespace/name), which is to
// accept it, to find its backends, and to be programmed; of an OpenShift Route a router that admits it;
// of an Ingress an address in its status.
func NotServing(o, gateway *unstructured.Unstructured, gatewayName string) string {
	where := fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	switch o.GetKind() {
	case "HTTPRoute", "TLSRoute", "GRPCRoute":
		return gatewayNotServing(o, gateway, where, gatewayName)
	case "Route":
		if !Accepted(Reports(o, Routers{})) {
			return "no router has admitted " + where + refusedText(Reports(o, Routers{}))
		}
		return ""
	}
	if list, _ := Field(o.Object, "status", "loadBalancer", "ingress").([]any); len(list) == 0 {
		return "no controller has written an address into the status of " + where
	}
	return ""
}

func gatewayNotServing(o, gateway *unstructured.Unstructured, where, name string) string {
	reports := gatewayReports(o, nil)
	var of []Report
	for _, r := range reports {
		if r.Stale == "" && r.gateway == name {
			of = append(of, r)
		}
	}
	switch {
	case gateway == nil:
		return fmt.Sprintf("%s waits for Gateway %s, which does not exist", where, name)
	case !Accepted(of):
		return fmt.Sprintf("Gateway %s has not accepted %s%s", name, where, refusedText(of))
	case !resolved(of):
		return fmt.Sprintf("Gateway %s has not found the backends of %s%s", name, where, refusedText(of))
	case !isTrue(gateway, "Programmed"):
		return fmt.Sprintf("Gateway %s, which has accepted %s, is not programmed", name, where)
	}
	return ""
}

func resolved(reports []Report) bool {
	for _, r := range reports {
		if r.Verdict == RouteAccepted && r.resolved {
			return true
		}
	}
	return false
}

// refusedText is what a controller that said no said.
func refusedText(reports []Report) string {
	for _, r := range reports {
		if r.Stale == "" && (r.Verdict == RouteRefused || r.Unresolved != "") {
			return " (" + r.String() + ")"
		}
	}
	return ""
}

// isTrue is true for an object with a condition that is true of it as it is now.
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
