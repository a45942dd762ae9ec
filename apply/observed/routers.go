package observed

import (
	"context"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ingressControllers are the routers of OpenShift's ingress operator.
var ingressControllers = schema.GroupVersionResource{Group: "operator.openshift.io", Version: "v1", Resource: "ingresscontrollers"}

// Routers are those that are there to report. Only what the routes of the snapshot name is read.
func Routers(ctx context.Context, c *cluster.Cluster, s *Snapshot) (there state.Routers, err error) {
	if s.Reported(kinds.HTTPRoute, "parents") || s.Reported(kinds.TLSRoute, "parents") {
		if there.Gateways, err = names(ctx, c, kinds.Gateway.Resource(), true); err != nil {
			return there, err
		}
	}
	if s.Reported(kinds.Route, "ingress") {
		there.Routers, err = names(ctx, c, ingressControllers, false)
	}
	return there, err
}

// Taken is true for a Gateway that a controller has judged: until then its conditions are Unknown
// (gateway-api: GatewaySpec's default status).
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

// ClearReports takes the stale reports out of a route's status, as it was read.
func ClearReports(ctx context.Context, c *cluster.Cluster, kind kinds.Kind, live *unstructured.Unstructured, there state.Routers) error {
	field, kept := state.WithoutStale(live, there)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion()},
		"status":   map[string]any{field: kept},
	})
	if err != nil {
		return err
	}
	return c.Write(ctx, func(write context.Context) error {
		_, err := c.Metadata.Resource(kind.Resource()).Namespace(live.GetNamespace()).Patch(write, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager}, "status")
		return err
	})
}
