package executor

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// AppliedOnly is what this program sends to leave a route as it is, pinned to what was read. Of one that
// Akash's provider wrote that is no more than annotations.
func AppliedOnly(live *unstructured.Unstructured) *unstructured.Unstructured {
	o := Applied(live)
	if own, _ := managed.Applied(live, lease.FieldManager); !own.Owns("spec") {
		unstructured.RemoveNestedField(o.Object, "spec")
	}
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	return o
}

// LeaveGiven takes what the API server has given to a Service out of what is applied: it stays the server's.
// Without our managed fields what is given is not told from what is ours but for its addresses and node ports.
func LeaveGiven(service, live *unstructured.Unstructured) error {
	own, err := cluster.Owned(live, lease.FieldManager)
	if err != nil {
		return err
	}
	if spec, ok := own["spec"].(map[string]any); ok && len(spec) > 0 {
		service.Object["spec"] = spec
		return nil
	}
	unstructured.RemoveNestedField(service.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(service.Object, "spec", "clusterIPs")
	spec, _ := service.Object["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			unstructured.RemoveNestedField(port, "nodePort")
		}
	}
	return nil
}

// Applied is what this program sends to apply an object again as it is: its spec, and of its labels and
// annotations those that are its own.
func Applied(live *unstructured.Unstructured) *unstructured.Unstructured {
	return AppliedBy(live, lease.FieldManager)
}

// AppliedBy is the same for another field manager.
func AppliedBy(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(live.GroupVersionKind())
	o.SetNamespace(live.GetNamespace())
	o.SetName(live.GetName())
	own, _ := managed.Applied(live, manager)
	o.SetAnnotations(only(live.GetAnnotations(), own.Names("metadata", "annotations")))
	o.SetLabels(only(live.GetLabels(), own.Names("metadata", "labels")))
	o.Object["spec"] = live.DeepCopy().Object["spec"]
	return o
}

// only are the entries whose names are among the owned fields.
func only(all map[string]string, owned map[string]bool) map[string]string {
	kept := map[string]string{}
	for name, value := range all {
		if owned[name] {
			kept[name] = value
		}
	}
	return kept
}
