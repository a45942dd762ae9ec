package observed

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ingressControllers are the routers of OpenShift's ingress operator.
var ingressControllers = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"}

// Routers reads the routers that may report on the snapshot's routes. It lists only kinds that these routes name.
func Routers(ctx context.Context, c *cluster.Cluster, s *Snapshot) (there state.Routers, err error) {
	if s.Reported(kinds.HTTPRoute, "parents") || s.Reported(kinds.TLSRoute, "parents") {
		if there.Gateways, err = listNames(ctx, c, kinds.Gateway.Resource(), true); err != nil {
			return there, err
		}
	}
	if s.Reported(kinds.Route, "ingress") {
		there.Routers, err = listNames(ctx, c, ingressControllers, false)
	}
	return there, err
}

// Taken reports whether a controller has processed a Gateway. Before, its conditions are Unknown (gateway-api:
// GatewaySpec's default status).
func Taken(gateway *unstructured.Unstructured) bool {
	if gateway == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(gateway.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(v any) bool {
		c, _ := v.(map[string]any)
		return c["type"] == "Accepted" && c["status"] != "Unknown"
	})
}
