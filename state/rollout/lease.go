package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Lease collects what the cluster shows about the workloads of one lease. It keeps only the facts that it needs of each
// object.
type Lease struct {
	// closing is true while the namespace is being deleted.
	closing bool
	// recorded is true if there is a Manifest. wanted are the replicas that it asks for, by service.
	recorded  bool
	wanted    map[string]int32
	workloads map[string]*workload
	// pods are the pods that are not ready, by name.
	pods map[string]pod
	// warnings are the newest warning of each object.
	warnings map[object]event
}

// workload is a Deployment or a StatefulSet.
type workload struct {
	kind                string
	made                time.Time
	replicas, available int32
	status              kstatus.Status
	// message is kstatus's description of the status.
	message string
	// failure is why the controller cannot create pods. It is empty if it can.
	failure string
}

// object identifies an object of the namespace.
type object struct{ kind, name string }

type event struct {
	reason, message string
	at              time.Time
}

// compare orders events by time, and those of the same time by their texts.
func (e event) compare(other event) int {
	return cmp.Or(e.at.Compare(other.at), cmp.Compare(e.reason, other.reason), cmp.Compare(e.message, other.message))
}

// Add adds an object of the lease: its Namespace, its Manifest, or one of the Deployments, StatefulSets, Pods and
// Events in its namespace. It ignores other kinds and objects that are not Akash's. A later version of an object
// replaces the earlier one. It returns an error for an object that it cannot read.
func (l *Lease) Add(o *unstructured.Unstructured) error {
	ours := o.GetLabels()[lease.LabelManaged] == "true"
	var err error
	switch group := o.GroupVersionKind().Group; group + "/" + o.GetKind() {
	case "/Namespace":
		l.AddNamespace(o.GetDeletionTimestamp() != nil)
	case "akash.network/Manifest":
		err = l.addManifest(o)
	case "apps/Deployment", "apps/StatefulSet":
		if ours {
			err = l.addWorkload(o)
		}
	case "/Pod":
		if ours {
			err = l.addPod(o)
		}
	case "/Event":
		err = l.addEvent(o)
	}
	if err != nil {
		return fmt.Errorf("%s %s/%s cannot be read: %w", strings.ToLower(o.GetKind()), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// AddNamespace records whether the namespace is being deleted.
func (l *Lease) AddNamespace(closing bool) { l.closing = closing }

// addManifest adds the Manifest, Akash's record of what the lease runs (provider: pkg/apis/akash.network/v2beta2).
func (l *Lease) addManifest(o *unstructured.Unstructured) error {
	var m struct {
		Spec struct {
			Group struct {
				Services []struct {
					Name  string `json:"name"`
					Count int32  `json:"count"`
				} `json:"services"`
			} `json:"group"`
		} `json:"spec"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &m); err != nil {
		return err
	}
	l.recorded, l.wanted = true, map[string]int32{}
	for _, s := range m.Spec.Group.Services {
		l.wanted[s.Name] = s.Count
	}
	return nil
}

// addWorkload adds a Deployment or a StatefulSet. If both have the same name, the StatefulSet counts, as in Akash's
// status.
func (l *Lease) addWorkload(o *unstructured.Unstructured) error {
	if had := l.workloads[o.GetName()]; had != nil && had.kind == "StatefulSet" && o.GetKind() != had.kind {
		return nil
	}
	var fields struct {
		Spec struct {
			Replicas *int32 `json:"replicas"`
		} `json:"spec"`
		Status struct {
			AvailableReplicas int32                        `json:"availableReplicas"`
			Conditions        []appsv1.DeploymentCondition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &fields); err != nil {
		return err
	}
	w := &workload{kind: o.GetKind(), made: o.GetCreationTimestamp().Time, replicas: 1, available: fields.Status.AvailableReplicas}
	if fields.Spec.Replicas != nil {
		w.replicas = *fields.Spec.Replicas
	}
	for _, c := range fields.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			w.failure = clip(c.Message)
		}
	}
	r, err := kstatus.Compute(o)
	if err != nil {
		return err
	}
	w.status, w.message = r.Status, clip(r.Message)
	if l.workloads == nil {
		l.workloads = map[string]*workload{}
	}
	l.workloads[o.GetName()] = w
	return nil
}

// Unsettled reports whether a service is not rolled out yet. Its pods tell why.
func (l *Lease) Unsettled() bool {
	r, runs := l.Of()
	return runs && r.State != Complete && len(l.workloads) > 0
}

// LacksPods reports whether a StatefulSet has too few pods and none of them is on its way. Only events tell why.
func (l *Lease) LacksPods() bool {
	for name, w := range l.workloads {
		if w.kind == "StatefulSet" && w.status == kstatus.InProgressStatus && len(l.podsOf(name)) == 0 {
			return true
		}
	}
	return false
}

// addEvent keeps the newest warning about a pod, and the newest FailedCreate about a workload.
func (l *Lease) addEvent(o *unstructured.Unstructured) error {
	var e corev1.Event
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e); err != nil {
		return err
	}
	if e.Type != corev1.EventTypeWarning || e.InvolvedObject.Kind != "Pod" && e.Reason != "FailedCreate" {
		return nil
	}
	about := object{e.InvolvedObject.Kind, e.InvolvedObject.Name}
	now := event{reason: clip(e.Reason), message: clip(e.Message), at: lastSeen(&e)}
	if had, ok := l.warnings[about]; ok && now.compare(had) <= 0 {
		return nil
	}
	if l.warnings == nil {
		l.warnings = map[object]event{}
	}
	l.warnings[about] = now
	return nil
}

// lastSeen returns the last time of an event. The old and the new event API fill different fields.
func lastSeen(e *corev1.Event) time.Time {
	at := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(at) {
			at = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(at) {
		at = e.Series.LastObservedTime.Time
	}
	return at
}

// clip shortens a text from the cluster to one line of at most maxText bytes.
func clip(s string) string {
	if len(s) > 4*maxText {
		s = s[:4*maxText]
	}
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "")
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return s
}

// maxText limits quoted texts, in bytes.
const maxText = 300
