package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// pod holds what is needed of a pod that is not ready.
type pod struct {
	name, service string
	made          time.Time
	// ended is true for a pod whose phase is Failed or Succeeded.
	ended bool
	// leaving is true for a pod that is being deleted.
	leaving bool
	// failed is true if the pod will not become ready by itself.
	failed bool
	text   string
}

// trouble is a reason why a service is not rolled out.
type trouble struct {
	failed bool
	text   string
}

// addPod adds a pod of a service if it is not ready.
func (l *Lease) addPod(o *unstructured.Unstructured) error {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p); err != nil {
		return err
	}
	delete(l.pods, p.Name) // an earlier version
	if isTrue(&p, corev1.PodReady) && p.DeletionTimestamp == nil {
		return nil
	}
	found := pod{
		name: p.Name, service: p.Labels[lease.LabelService], made: p.CreationTimestamp.Time, leaving: p.DeletionTimestamp != nil,
		ended: p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded,
	}
	found.failed, found.text = podTrouble(&p)
	if l.pods == nil {
		l.pods = map[string]pod{}
	}
	l.pods[p.Name] = found
	return nil
}

// troubles returns why a service is not rolled out, by rank, then with the newest pod first.
func (l *Lease) troubles(service string, w *workload) []trouble {
	var found []trouble
	pods := l.podsOf(service)
	slices.SortFunc(pods, func(a, b pod) int {
		return cmp.Or(rank(a)-rank(b), b.made.Compare(a.made), cmp.Compare(a.name, b.name))
	})
	for _, p := range pods {
		text := fmt.Sprintf("pod %s %s", p.name, p.text)
		// Skip warnings about an earlier pod of the same name.
		e, ok := l.warnings[object{"Pod", p.name}]
		if ok && !p.failed && !p.leaving && !p.ended && !e.at.Before(p.made) {
			text += fmt.Sprintf(": %s: %s", e.reason, e.message)
		}
		found = append(found, trouble{p.failed, text})
	}
	// Skip warnings about an earlier workload of the same name.
	if e, ok := l.warnings[object{w.kind, service}]; ok && len(pods) == 0 && !e.at.Before(w.made) {
		found = append(found, trouble{true, "no pod can be made: " + e.message})
	}
	return found
}

// podsOf returns the pods of a service that are not ready.
func (l *Lease) podsOf(service string) []pod {
	var out []pod
	for _, p := range l.pods {
		if p.service == service {
			out = append(out, p)
		}
	}
	return out
}

// rank orders pods: failed ones, starting ones, deleted ones, ended ones.
func rank(p pod) int {
	switch {
	case p.failed:
		return 0
	case p.leaving:
		return 2
	case p.ended:
		return 3
	}
	return 1
}

// podTrouble returns why a pod is not ready, and whether it will not become ready by itself. An ended pod does not
// count as failed: its controller replaces it.
func podTrouble(p *corev1.Pod) (failed bool, text string) {
	if p.DeletionTimestamp != nil {
		return false, "is being deleted"
	}
	switch p.Status.Phase {
	case corev1.PodFailed:
		return false, "has failed" + words(p.Status.Reason, p.Status.Message)
	case corev1.PodSucceeded:
		return false, "has ended"
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if c.Reason == corev1.PodReasonUnschedulable {
				return true, "is unschedulable" + words("", c.Message)
			}
			return false, "is not scheduled" + words(c.Reason, c.Message)
		}
	}
	starting := ""
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if failed, text := containerTrouble(s); failed {
			return true, text
		} else if starting == "" {
			starting = text
		}
	}
	if starting != "" {
		return false, starting
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue {
			return false, "is not ready" + words(c.Reason, c.Message)
		}
	}
	return false, "is starting"
}

// containerTrouble returns what a container waits for or how it ended. It returns "" for a container that runs and for
// an init container that has finished.
func containerTrouble(s corev1.ContainerStatus) (failed bool, text string) {
	switch {
	case s.State.Waiting != nil:
		w := s.State.Waiting
		// The kubelet uses these two reasons for every start, all others only after a failure.
		starting := w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing"
		return !starting, "is waiting" + words(w.Reason, w.Message) + ended(s.LastTerminationState.Terminated)
	case s.State.Terminated != nil && (s.State.Terminated.ExitCode != 0 || !s.Ready):
		return true, "does not run" + ended(s.State.Terminated)
	}
	return false, ""
}

// ended describes how a container ended.
func ended(t *corev1.ContainerStateTerminated) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("; its container ended with exit code %d%s", t.ExitCode, words(t.Reason, t.Message))
}

// words formats a reason and a message from the cluster as ": REASON (MESSAGE)".
func words(reason, message string) string {
	reason, message = clip(reason), clip(message)
	switch {
	case reason == "" && message == "":
		return ""
	case reason == "":
		return ": " + message
	case message == "":
		return ": " + reason
	}
	return fmt.Sprintf(": %s (%s)", reason, message)
}

func isTrue(p *corev1.Pod, condition corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}
