package harness

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Client returns the administrator's typed client.
func Client() *kubernetes.Clientset { return kubernetes.NewForConfigOrDie(Plane.Config) }

// Pods waits until a service has count pods that are not being deleted, and returns them sorted by name.
func Pods(t *testing.T, namespace, service string, count int) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	Eventually(t, "the pods of "+service, func(ctx context.Context) (bool, error) {
		list, err := Client().CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: lease.LabelService + "=" + service})
		if err != nil {
			return false, err
		}
		found = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		return len(found) == count, nil
	})
	slices.SortFunc(found, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return found
}

// Runs sets the status of pods to running and ready, in place of a kubelet.
func Runs(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		setContainer(t, &p, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	}
}

// Waits sets the state of a pod's container to waiting, in place of a kubelet.
func Waits(t *testing.T, p corev1.Pod, reason, message string) {
	t.Helper()
	setContainer(t, &p, false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
}

// Unschedulable sets the condition of a pod that no node fits, in place of the scheduler.
func Unschedulable(t *testing.T, p corev1.Pod, message string) {
	t.Helper()
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}
	setStatus(t, &p)
}

// setContainer writes the status of a running pod with one container.
func setContainer(t *testing.T, p *corev1.Pod, ready bool, state corev1.ContainerState) {
	t.Helper()
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	if !ready {
		condition.Status, condition.Reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{condition}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Image: p.Spec.Containers[0].Image, Ready: ready, State: state}}
	setStatus(t, p)
}

// setStatus writes a pod's status whatever version the pod has.
func setStatus(t *testing.T, p *corev1.Pod) {
	t.Helper()
	p.ResourceVersion = ""
	if _, err := Client().CoreV1().Pods(p.Namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
