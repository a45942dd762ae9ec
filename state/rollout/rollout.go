// Package rollout computes the rollout state of a lease's workloads, in Akash's states and in words, from the objects
// of the lease. It does not access a cluster.
package rollout

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// State is the rollout state of a lease or a service. The values are those of deployments in Akash's provider
// (provider: cluster/manager.go, dsDeployPending to dsDeployComplete). Error is what its monitor counts before it
// closes a lease (cluster/monitor.go).
type State string

// The states.
const (
	// Pending is recorded in the Manifest, and nothing runs yet.
	Pending State = "pending"
	// Active is being deployed, changed or closed.
	Active State = "active"
	// Complete means that each service has as many available replicas as its Manifest asks for.
	Complete State = "complete"
	// Error does not run and, according to its objects, will not run without help.
	Error State = "error"
)

// Rollout is the rollout state of a lease's workloads. Its JSON form is a public format.
type Rollout struct {
	State State `json:"state"`
	// Reason says why the lease is not complete. It is the reason of the first service in the worst state.
	Reason string `json:"reason,omitempty"`
	// Ready and Total are the sums over all services.
	Ready int64 `json:"ready"`
	Total int64 `json:"total"`
	// Services are sorted by name.
	Services []Service `json:"services"`
}

// Service is the rollout state of one service.
type Service struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Ready counts the available replicas, Total the wanted ones.
	Ready int32 `json:"ready"`
	Total int32 `json:"total"`
	// Reason says why the service is not complete.
	Reason string `json:"reason,omitempty"`
}

// Of returns the rollout of the lease. ok is false if it runs nothing and should run nothing.
func (l *Lease) Of() (r Rollout, ok bool) {
	names := l.names()
	if len(names) == 0 {
		return Rollout{}, false
	}
	r = Rollout{Services: make([]Service, 0, len(names))}
	for _, name := range names {
		s := l.service(name)
		r.Ready, r.Total = r.Ready+int64(s.Ready), r.Total+int64(s.Total)
		r.Services = append(r.Services, s)
	}
	r.State, r.Reason = l.combine(r.Services)
	return r, true
}

// names returns the services of the Manifest, or the running ones if there is no Manifest. A workload that the Manifest
// does not name is no longer a service of the lease.
func (l *Lease) names() []string {
	if l.recorded {
		return slices.Sorted(maps.Keys(l.wanted))
	}
	return slices.Sorted(maps.Keys(l.workloads))
}

// combine returns the state of the lease and its reason.
func (l *Lease) combine(services []Service) (State, string) {
	if l.closing {
		return Active, "closing: its namespace is being deleted"
	}
	for _, state := range []State{Error, Active, Pending} {
		matching := slices.DeleteFunc(slices.Clone(services), func(s Service) bool { return s.State != state })
		if len(matching) == 0 {
			continue
		}
		reason := fmt.Sprintf("service %s: %s", matching[0].Name, matching[0].Reason)
		if len(matching) > 1 {
			reason += fmt.Sprintf(" (and %d more)", len(matching)-1)
		}
		if state == Pending && len(matching) < len(services) {
			state = Active // some services run
		}
		return state, reason
	}
	return Complete, ""
}

// service returns the rollout state of one service.
func (l *Lease) service(name string) Service {
	s := Service{Name: name, Total: max(l.wanted[name], 0)}
	w := l.workloads[name]
	if w == nil {
		s.State, s.Reason = Pending, fmt.Sprintf("0 of %d ready: it has no Deployment and no StatefulSet yet", s.Total)
		return s
	}
	s.Total = max(s.Total, w.replicas)
	s.Ready = min(max(w.available, 0), s.Total) // more are available while it is scaled down
	var why string
	s.State, why = l.judge(name, w, s)
	if s.State != Complete {
		s.Reason = fmt.Sprintf("%d of %d ready: %s", s.Ready, s.Total, why)
	}
	return s
}

// judge returns the state of a service with a workload, and the reason. kstatus decides whether the workload is rolled
// out; its pods and conditions give the reason.
func (l *Lease) judge(name string, w *workload, s Service) (State, string) {
	switch {
	case w.status == kstatus.TerminatingStatus:
		return Active, fmt.Sprintf("its %s is being deleted", w.kind)
	case w.status == kstatus.CurrentStatus && s.Ready >= s.Total:
		return Complete, ""
	case w.status == kstatus.CurrentStatus && w.replicas < s.Total:
		return Active, fmt.Sprintf("its %s has %s, its Manifest %d", w.kind, lease.Count(int(w.replicas), "replica"), s.Total)
	}
	found := l.troubles(name, w)
	if len(found) > 0 && found[0].failed {
		return Error, found[0].text
	}
	switch {
	case w.failure != "":
		return Error, "no pod can be made: " + w.failure
	case w.status == kstatus.FailedStatus:
		why := []string{w.message}
		if len(found) > 0 {
			why = append(why, found[0].text)
		}
		return Error, strings.Join(why, "; ")
	case len(found) > 0:
		return Active, found[0].text
	case w.status == kstatus.CurrentStatus:
		return Active, "its pods are not available yet"
	}
	return Active, w.message
}

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
