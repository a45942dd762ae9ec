package state

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const gatewayRoute = `
kind: HTTPRoute
metadata: {namespace: ns, name: a.example.com, generation: 3}
spec: {parentRefs: [{name: gw, namespace: gateways}]}
status:
  parents:
  - parentRef: {group: gateway.networking.k8s.io, kind: Gateway, name: gw, namespace: gateways}
    controllerName: example.com/controller
    conditions:
    - {type: Accepted, status: "%s", reason: R, message: M, observedGeneration: %d, lastTransitionTime: "2026-11-21T10:00:00Z"}
    - {type: ResolvedRefs, status: "False", reason: BackendNotFound, message: no web, observedGeneration: 3, lastTransitionTime: "2026-11-21T10:00:00Z"}
  - parentRef: {name: old, namespace: gateways}
    controllerName: example.com/controller
    conditions: [{type: Accepted, status: "True", reason: Accepted, message: "", lastTransitionTime: "2026-11-21T10:00:00Z"}]
`

const openshiftRoute = `
kind: Route
metadata: {namespace: ns, name: a.example.com}
spec: {host: a.example.com}
status:
  ingress:
  - {routerName: default, host: a.example.com, conditions: [{type: Admitted, status: "False", reason: HostAlreadyClaimed, message: older}]}
  - {routerName: sharded, host: a.example.com, conditions: [{type: Admitted, status: "True"}]}
  - {routerName: default, host: before.example.com, conditions: [{type: Admitted, status: "True"}]}
`

func routeOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	body, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(body); err != nil {
		t.Fatal(err)
	}
	return o
}

// A report counts if it is about the current route and its router exists.
func TestReports(t *testing.T) {
	type verdict struct {
		By      string
		Verdict RouteVerdict
		Stale   bool
	}
	read := func(o *unstructured.Unstructured, there Routers) []verdict {
		var out []verdict
		for _, r := range Reports(o, there) {
			out = append(out, verdict{r.By, r.Verdict, r.Stale != ""})
		}
		return out
	}
	for name, tc := range map[string]struct {
		object string
		there  Routers
		want   []verdict
	}{
		"accepted":        {fmt.Sprintf(gatewayRoute, "True", 3), Routers{}, []verdict{{"gateways/gw", RouteAccepted, false}, {"gateways/old", RouteAccepted, true}}},
		"refused":         {fmt.Sprintf(gatewayRoute, "False", 3), Routers{}, []verdict{{"gateways/gw", RouteRefused, false}, {"gateways/old", RouteAccepted, true}}},
		"an earlier one":  {fmt.Sprintf(gatewayRoute, "True", 2), Routers{}, []verdict{{"gateways/gw", RoutePending, false}, {"gateways/old", RouteAccepted, true}}},
		"no such gateway": {fmt.Sprintf(gatewayRoute, "True", 3), Routers{Gateways: map[string]bool{}}, []verdict{{"gateways/gw", RouteAccepted, true}, {"gateways/old", RouteAccepted, true}}},
		"openshift":       {openshiftRoute, Routers{}, []verdict{{"default", RouteRefused, false}, {"sharded", RouteAccepted, false}, {"default", RouteAccepted, true}}},
		"no such router":  {openshiftRoute, Routers{Routers: map[string]bool{"default": true}}, []verdict{{"default", RouteRefused, false}, {"sharded", RouteAccepted, true}, {"default", RouteAccepted, true}}},
		"ingress":         {`{kind: Ingress, metadata: {name: x}}`, Routers{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, read(routeOf(t, tc.object), tc.there)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// WithoutStale removes only the stale reports.
func TestWithoutStale(t *testing.T) {
	field, kept := WithoutStale(routeOf(t, openshiftRoute), Routers{Routers: map[string]bool{"default": true}})
	if field != "ingress" || len(kept) != 1 || kept[0].(map[string]any)["host"] != "a.example.com" {
		t.Errorf("%s: %v", field, kept)
	}
	field, kept = WithoutStale(routeOf(t, fmt.Sprintf(gatewayRoute, "True", 3)), Routers{})
	if field != "parents" || len(kept) != 1 {
		t.Errorf("%s: %v", field, kept)
	}
}
