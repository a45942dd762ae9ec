package deployed

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/plan"
)

// Akash's provider repeats the ports and the variables of a container where an SDL does. It writes by Update, which may;
// an apply may not, and would replace all that are repeated by the one that it sends, which restarts the pod. So where
// what stands there means the same as what is wanted it is left to stand.

// lists are the lists of a container that may have repetitions, with what makes two entries one.
var lists = map[string]func(entry map[string]any) string{
	"env": func(e map[string]any) string { return fmt.Sprint(e["name"]) },
	"ports": func(e map[string]any) string {
		if e["protocol"] == nil {
			return fmt.Sprint(e["containerPort"], "/TCP")
		}
		return fmt.Sprint(e["containerPort"], "/", e["protocol"])
	},
}

// LeaveRepeated is the object that is wanted without those lists of its containers in which the live object repeats entries
// and says the same. It is the object itself where there are none.
func LeaveRepeated(want, live map[string]any) map[string]any {
	var out map[string]any
	for i, container := range containers(want) {
		there := containerOf(live, container["name"])
		for list, key := range lists {
			wanted, _ := container[list].([]any)
			has, _ := there[list].([]any)
			if !means(has, wanted, key) {
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

// means is true for a list with repetitions that says what the wanted one says.
func means(has, wanted []any, key func(map[string]any) string) bool {
	last := map[string]any{}
	for _, v := range has {
		entry, ok := v.(map[string]any)
		if !ok {
			return false
		}
		last[key(entry)] = entry // of a variable the last counts
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

// variable is what a variable of a container is set to: a text, or something else of the cluster.
type variable struct {
	text      string
	elsewhere bool
}

// valueOf is what a variable is set to; nothing unless it says so.
func valueOf(entry any) (v variable) {
	if fields, _ := entry.(map[string]any); fields["name"] != nil {
		v.text, _ = fields["value"].(string)
		v.elsewhere = fields["valueFrom"] != nil
	}
	return v
}

// containers are the containers of a workload's pods.
func containers(o map[string]any) []map[string]any {
	var out []map[string]any
	spec, _ := o["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	pod, _ := template["spec"].(map[string]any)
	list, _ := pod["containers"].([]any)
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
