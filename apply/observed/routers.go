package observed

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// gatewaysOf lists the Gateways, if there is a route of somebody else that is attached to one; else it returns nil.
func gatewaysOf(ctx context.Context, c *cluster.Cluster, lists map[string][]*cluster.Object) (admission.Gateways, error) {
	attached := func(o *cluster.Object) bool {
		return admission.AttachedOf(o.Look()).ToGateway() && !state.OwnershipOf(o.Look(), lease.ID{}).Ours
	}
	routes := slices.Concat(lists[kinds.HTTPRoute.Plural], lists[kinds.TLSRoute.Plural], lists[kinds.GRPCRoute.Plural])
	if !slices.ContainsFunc(routes, attached) {
		return nil, nil //nolint:nilnil // nobody asks for them
	}
	return Gateways(ctx, c)
}

// Gateways lists the listeners of all Gateways. Who may not list them goes by what routes say: then it returns nil.
func Gateways(ctx context.Context, c *cluster.Cluster) (admission.Gateways, error) {
	list, err := c.Objects(ctx, kinds.Gateway.Resource(), "", metav1.ListOptions{})
	if cluster.IsMissingKind(err) || apierrors.IsForbidden(err) {
		return nil, nil //nolint:nilnil // they are not known
	}
	gateways := admission.Gateways{}
	for _, o := range list {
		gateways.Add(o)
	}
	return gateways, err
}

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
