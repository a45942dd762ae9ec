package state

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// A route serves if its controller says so about the configured Gateway and the current version.
func TestNotServing(t *testing.T) {
	object := func(text string) *unstructured.Unstructured {
		if text == "" {
			return nil
		}
		o := &unstructured.Unstructured{}
		body, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = o.UnmarshalJSON(body)
		}
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	gateway := func(conditions string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: net, generation: 2}, status: {conditions: [" + conditions + "]}}"
	}
	route := func(parent, conditions string) string {
		return "{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r, namespace: l, generation: 2}, spec: {parentRefs: [{name: " + parent +
			", namespace: net}]}, status: {parents: [{parentRef: {name: " + parent + ", namespace: net}, controllerName: c, conditions: [" + conditions + "]}]}}"
	}
	const (
		accepted   = "{type: Accepted, status: 'True', observedGeneration: 2}"
		resolved   = ", {type: ResolvedRefs, status: 'True', observedGeneration: 2}"
		programmed = "{type: Programmed, status: 'True', observedGeneration: 2}"
	)
	for name, tt := range map[string]struct{ route, gateway, want string }{
		"all is well":                {route("g", accepted+resolved), gateway(programmed), ""},
		"no Gateway":                 {route("g", accepted+resolved), "", "HTTPRoute l/r waits for Gateway net/g, which does not exist"},
		"no word":                    {route("g", ""), gateway(programmed), "Gateway net/g has not accepted HTTPRoute l/r"},
		"another Gateway":            {route("h", accepted+resolved), gateway(programmed), "Gateway net/g has not accepted HTTPRoute l/r"},
		"of an earlier generation":   {route("g", "{type: Accepted, status: 'True', observedGeneration: 1}"+resolved), gateway(programmed), "Gateway net/g has not accepted HTTPRoute l/r"},
		"nothing of the backends":    {route("g", accepted), gateway(programmed), "Gateway net/g has not found the backends of HTTPRoute l/r"},
		"the Gateway is not there":   {route("g", accepted+resolved), gateway(""), "Gateway net/g, which has accepted HTTPRoute l/r, is not programmed"},
		"the Gateway was changed":    {route("g", accepted+resolved), gateway("{type: Programmed, status: 'True', observedGeneration: 1}"), "Gateway net/g, which has accepted HTTPRoute l/r, is not programmed"},
		"an Ingress":                 {"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: r, namespace: l}}", "", "no controller has written an address into the status of Ingress l/r"},
		"an Ingress with an address": {"{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: r, namespace: l}, status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}}", "", ""},
		"a Route":                    {"{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: r, namespace: l}, spec: {host: a.example.com}}", "", "no router has admitted Route l/r"},
		"a Route that is admitted": {"{apiVersion: route.openshift.io/v1, kind: Route, metadata: {name: r, namespace: l}, spec: {host: a.example.com}," +
			" status: {ingress: [{host: a.example.com, routerName: default, conditions: [{type: Admitted, status: 'True'}]}]}}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := NotServing(object(tt.route), object(tt.gateway), "net/g"); got != tt.want {
				t.Errorf("it says %q, want %q", got, tt.want)
			}
		})
	}
}

// A route that was not accepted in time is told with what its router says, or with where to look.
func TestToBeAccepted(t *testing.T) {
	refused := Report{Route: "httproute ns/shop", By: "akash-gateway/akash-gateway", Controller: "example.com/gateway", Verdict: RouteRefused, Reason: "NotAllowedByListeners", Message: "no listener"}
	stale, unresolved, pending := refused, refused, refused
	stale.Stale = "the Gateway is gone"
	unresolved.Verdict, unresolved.Unresolved = RouteAccepted, "BackendNotFound: service web"
	pending.Verdict = RoutePending
	look := "to be accepted by a router (see: kubectl -n ns get httproute shop -o yaml)"
	for name, tt := range map[string]struct {
		reports []Report
		says    string
	}{
		"nobody has said anything":          {nil, look},
		"the Gateway refuses it":            {[]Report{pending, refused}, "NotAllowedByListeners"},
		"the backend is not found":          {[]Report{unresolved}, "BackendNotFound: service web"},
		"a Gateway that is gone refused it": {[]Report{stale}, look},
		"it has yet to be judged":           {[]Report{pending}, look},
	} {
		got := ToBeAccepted(kinds.HTTPRoute, "ns", "shop", tt.reports)
		if !strings.HasPrefix(got, "httproute ns/shop to be accepted") || !strings.Contains(got, tt.says) {
			t.Errorf("%s: %q does not say %q", name, got, tt.says)
		}
	}
}
