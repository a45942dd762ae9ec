package cluster

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// aloneAtMost is how often a resource may go unanswered while the rest of the API answers, before the server behind it
// counts as down. A load balancer with one unhealthy backend also gives such answers now and then.
const aloneAtMost = 3

// ownGroups are API groups that kube-apiserver always serves itself. If one of their resources is unavailable, so is
// the API server.
var ownGroups = []string{"", "apps", "coordination.k8s.io", "networking.k8s.io", "apiextensions.k8s.io"}

// isBehind reports whether the aggregation layer answered that the server of an APIService is unavailable.
func isBehind(resource schema.GroupVersionResource, err error) bool {
	status, ok := statusOf(err)
	return ok && resource.Resource != "" && !slices.Contains(ownGroups, resource.Group) &&
		slices.Contains([]int32{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status.Code)
}

// answers reports whether the API server itself can read from etcd. It lists namespaces, which every command reads.
func (c *Cluster) answers(ctx context.Context) bool {
	leave, err := c.enter(ctx)
	if err != nil {
		return false
	}
	defer leave()
	_, err = c.Metadata.Resource(Namespaces).List(ctx, metav1.ListOptions{Limit: 1})
	return !isSilent(err)
}

// behind describes the server of a resource and what is wrong with it, if the user may read the APIService.
func (c *Cluster) behind(ctx context.Context, resource schema.GroupVersionResource) string {
	name := resource.Version + "." + resource.Group
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	o, err := c.Dynamic.Resource(services).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Sprintf("APIService %s cannot be read (kubectl get apiservice %[1]s)", name)
	}
	namespace, _, _ := unstructured.NestedString(o.Object, "spec", "service", "namespace")
	service, aggregated, _ := unstructured.NestedString(o.Object, "spec", "service", "name")
	if !aggregated {
		return "the API server serves it itself (APIService " + name + " is Local)"
	}
	text := fmt.Sprintf("the server of APIService %s (service %s/%s) is down", name, namespace, service)
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, v := range conditions {
		if condition, _ := v.(map[string]any); condition["type"] == "Available" && condition["status"] != "True" {
			text += fmt.Sprintf(" (%v)", condition["reason"])
		}
	}
	return text + fmt.Sprintf("; start it, or, if it is gone for good, remove it: kubectl delete apiservice %s", name)
}
