package leaselogs

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// source is a container of a pod, between two restarts.
type source struct {
	pod, container string
	// key distinguishes it from the same container before and after a restart, and from a pod of the same name.
	key string
	// waits is why there is no log yet; empty if there is one.
	waits string
}

// name returns the source in the form of kubectl's line prefixes.
func (s source) name() string { return "pod/" + s.pod + "/" + s.container }

// sourcesOf returns the containers of a pod in the order of its spec, init containers first.
func sourcesOf(o *unstructured.Unstructured) ([]source, error) {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
		return nil, fmt.Errorf("pod %s cannot be read: %w", o.GetName(), err)
	}
	statuses := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	var out []source
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		s := source{pod: p.Name, container: c.Name, waits: "it is not scheduled yet"}
		if p.Spec.NodeName != "" {
			s.waits = "it has not started yet"
		}
		restarts := int32(0)
		if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name }); i >= 0 {
			status := statuses[i]
			restarts = status.RestartCount
			switch {
			case status.State.Waiting == nil, status.LastTerminationState.Terminated != nil:
				s.waits = ""
			case status.State.Waiting.Reason != "":
				s.waits = "it is waiting: " + status.State.Waiting.Reason
			}
		}
		s.key = fmt.Sprintf("%s/%s/%d", p.UID, c.Name, restarts)
		out = append(out, s)
	}
	return out, nil
}
