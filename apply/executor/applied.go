package executor

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// AppliedOnly returns the fields of a live route that this program applies, pinned to the live version; to apply them
// changes nothing. Without a field of the spec that the program owns, as on a route of Akash's provider, the spec is
// left out.
func AppliedOnly(live *unstructured.Unstructured) *unstructured.Unstructured {
	o := Applied(live)
	if own, _ := managed.Applied(live, lease.FieldManager); !own.Owns("spec") {
		unstructured.RemoveNestedField(o.Object, "spec")
	}
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	return o
}

// LeaveGiven removes the fields of a Service that the API server has assigned, so that an apply does not own them. It
// keeps the fields that the program owns according to the managed fields; if there are none, it removes only the
// cluster IPs and the node ports.
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

// Applied returns what this program sends to apply a live object unchanged: its spec, and the labels and annotations
// that the program owns.
func Applied(live *unstructured.Unstructured) *unstructured.Unstructured {
	return AppliedBy(live, lease.FieldManager)
}

// AppliedBy is Applied for another field manager.
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

// only returns the entries whose names are in owned.
func only(all map[string]string, owned map[string]bool) map[string]string {
	kept := map[string]string{}
	for name, value := range all {
		if owned[name] {
			kept[name] = value
		}
	}
	return kept
}
