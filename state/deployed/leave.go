package deployed

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/plan"
)

// Akash's provider repeats the ports and variables of a container that an SDL repeats. It writes by Update, which
// allows repetitions. An apply does not: it would replace all of them by one entry, which restarts the pod. So this
// program leaves such a list alone if it means the same as the wanted one.

// lists are the lists of a container that may have repetitions. Each function returns the key of an entry.
var lists = map[string]func(entry map[string]any) string{
	"env": func(e map[string]any) string { return fmt.Sprint(e["name"]) },
	"ports": func(e map[string]any) string {
		if e["protocol"] == nil {
			return fmt.Sprint(e["containerPort"], "/TCP")
		}
		return fmt.Sprint(e["containerPort"], "/", e["protocol"])
	},
}

// LeaveRepeated returns the wanted object without the lists of containers that have repetitions in the live object and
// mean the same there. It returns want itself if there are none.
func LeaveRepeated(want, live map[string]any) map[string]any {
	var out map[string]any
	for i, container := range containers(want) {
		there := containerOf(live, container["name"])
		for list, key := range lists {
			wanted, _ := container[list].([]any)
			has, _ := there[list].([]any)
			if !meansSame(has, wanted, key) {
				continue
			}
			if out == nil {
				out = runtime.DeepCopyJSON(want)
			}
			delete(containers(out)[i], list)
		}
	}
	if out == nil {
		return want
	}
	return out
}

// meansSame reports whether has contains repetitions and means the same as wanted.
func meansSame(has, wanted []any, key func(map[string]any) string) bool {
	last := map[string]any{}
	for _, v := range has {
		entry, ok := v.(map[string]any)
		if !ok {
			return false
		}
		last[key(entry)] = entry // the last entry of a variable counts
	}
	if len(last) == len(has) || len(last) != len(wanted) {
		return false
	}
	for _, v := range wanted {
		entry, ok := v.(map[string]any)
		if !ok {
			return false
		}
		there, found := last[key(entry)]
		if !found || !plan.Contains(there, entry) || valueOf(there) != valueOf(entry) {
			return false
		}
	}
	return true
}

// variable is the value of a variable: a literal text, or a reference elsewhere in the cluster.
type variable struct {
	text      string
	elsewhere bool
}

// valueOf returns the value of a variable. It returns the zero value for an entry that is not a variable.
func valueOf(entry any) (v variable) {
	if fields, _ := entry.(map[string]any); fields["name"] != nil {
		v.text, _ = fields["value"].(string)
		v.elsewhere = fields["valueFrom"] != nil
	}
	return v
}

// containers returns the containers in the pod template of a workload.
func containers(o map[string]any) []map[string]any {
	var out []map[string]any
	v, _, _ := unstructured.NestedFieldNoCopy(o, "spec", "template", "spec", "containers")
	list, _ := v.([]any)
	for _, v := range list {
		if c, ok := v.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}

func containerOf(o map[string]any, name any) map[string]any {
	for _, c := range containers(o) {
		if c["name"] == name {
			return c
		}
	}
	return nil
}

// LeaveDropped returns the wanted object without a field that API servers may drop: maxUnavailable of a StatefulSet, if
// it is 1, the default. The field has a feature gate. An object that is sent to a server that drops it would never
// match what is wanted.
func LeaveDropped(want map[string]any) map[string]any {
	path := []string{"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}
	if n, found, _ := unstructured.NestedInt64(want, path...); want["kind"] != "StatefulSet" || !found || n != 1 {
		return want
	}
	want = runtime.DeepCopyJSON(want)
	unstructured.RemoveNestedField(want, path...)
	return want
}
