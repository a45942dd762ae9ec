package operators

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
)

const shop = "shop.example.com"

// What an operator has made agrees where it serves the same host or port from the same backend, whatever its kind.
func TestAgrees(t *testing.T) {
	deleting := ot.Ingress(ot.Shop, shop, "/")
	deleting.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-01T12:00:00Z" //nolint:forcetypeassert // a panic fails the test
	route, port := ot.Ingress(ot.Shop, shop, "/"), ot.Service(ot.Shop, 80, "")
	for name, tt := range map[string]struct {
		want, live *unstructured.Unstructured
		agrees     bool
	}{
		"nothing is there":           {route, nil, false},
		"the route":                  {route, ot.Ingress(ot.Shop, shop, "/"), true},
		"the route of another kind":  {route, ot.HTTPRoute(ot.Shop, shop, "/"), true},
		"a route of another host":    {route, ot.Ingress(ot.Shop, "www.example.com", "/"), false},
		"a route of another lease":   {route, ot.Ingress(ot.Next, shop, "/"), false},
		"a route that is deleted":    {route, deleting, false},
		"the Service":                {port, ot.Service(ot.Shop, 80, ""), true},
		"a Service of another port":  {port, ot.Service(ot.Shop, 81, ""), false},
		"a Service of another owner": {port, ot.Service(ot.Blog, 80, ""), false},
	} {
		kind := kinds.Of(tt.want.GetKind())
		if got := Agrees(ot.Snapshot(nil), nil, ot.Shop, cluster.Applicable(kind, tt.want), tt.live); got != tt.agrees {
			t.Errorf("%s: %t", name, got)
		}
	}
}
