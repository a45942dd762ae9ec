package harness

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// Amounts returns the resources of a node or a pod: CPU, memory, 100Gi of ephemeral storage, 110 pods, and more as
// pairs of name and quantity.
func Amounts(cpu, memory string, more ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for pair := range slices.Chunk(append([]string{"cpu", cpu, "memory", memory, "ephemeral-storage", "100Gi", "pods", "110"}, more...), 2) {
		l[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return l
}

// Node creates a ready node and deletes it after the test.
func Node(t testing.TB, name string, labels map[string]string, has corev1.ResourceList) {
	t.Helper()
	nodes := Client().CoreV1().Nodes()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	must(err)
	t.Cleanup(func() {
		_ = Client().CoreV1().Nodes().Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{})
	})
	must(retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write nodes too
		n, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
		must(err)
		n.Status.Allocatable, n.Status.Capacity = has, has
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if n, err = nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{}); err != nil {
			return err
		}
		n.Spec.Taints = nil // the API server taints a new node
		_, err = nodes.Update(t.Context(), n, metav1.UpdateOptions{})
		return err
	}))
}
