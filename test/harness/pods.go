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

// Client is the administrator's typed client.
func Client() *kubernetes.Clientset { return kubernetes.NewForConfigOrDie(Plane.Config) }

// Pods waits until a service has so many pods that are not being deleted, as its controller makes them. They are in
// the order of their names.
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

// Runs says, in place of a kubelet, that pods run and are ready.
func Runs(t *testing.T, pods ...corev1.Pod) {
	t.Helper()
	for _, p := range pods {
		container(t, &p, corev1.PodRunning, true, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	}
}

// Waits says, in place of a kubelet, that the container of a pod waits.
func Waits(t *testing.T, p corev1.Pod, reason, message string) {
	t.Helper()
	container(t, &p, corev1.PodRunning, false, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}})
}

// Unschedulable says, in place of the scheduler, that no node takes a pod.
func Unschedulable(t *testing.T, p corev1.Pod, message string) {
	t.Helper()
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}
	setStatus(t, &p)
}

func container(t *testing.T, p *corev1.Pod, phase corev1.PodPhase, ready bool, state corev1.ContainerState) {
	t.Helper()
	condition := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}
	if !ready {
		condition.Status, condition.Reason = corev1.ConditionFalse, "ContainersNotReady"
	}
	p.Status.Phase, p.Status.Conditions = phase, []corev1.PodCondition{condition}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Image: p.Spec.Containers[0].Image, Ready: ready, State: state}}
	setStatus(t, p)
}

// setStatus writes a pod's status over whatever version of the pod there is.
func setStatus(t *testing.T, p *corev1.Pod) {
	t.Helper()
	p.ResourceVersion = ""
	if _, err := Client().CoreV1().Pods(p.Namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
