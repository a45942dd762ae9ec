package observed_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// Wherever the pods of a lease run, the lease counts once, with the larger of what was reserved and what its pods
// request.
func TestALeaseCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f observed.Fold
		f.Namespace("ns", "order")
		h := inventory.Hold{Nodes: map[string]inventory.Amounts{}}
		reserved, requested := uint64(0), uint64(0)
		for i := range 4 {
			name := fmt.Sprint("n", i)
			f.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			if n := rapid.Uint64Range(0, 9).Draw(t, "reserved"); n > 0 {
				h.Nodes[name] = inventory.Amounts{Memory: n}
				reserved += n
			}
			for range rapid.IntRange(0, 2).Draw(t, "pods") {
				n := rapid.Uint64Range(0, 9).Draw(t, "requested")
				requested += n
				f.Pod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: corev1.PodSpec{NodeName: name, Containers: []corev1.Container{
					{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"memory": *resource.NewQuantity(int64(n), resource.BinarySI)}}}}}})
			}
		}
		f.Reserve("order", h)
		counted := uint64(0)
		for _, n := range f.Capacity().Nodes {
			counted += n.InUse.Memory + n.Reserved.Memory
		}
		if want := max(reserved, requested); counted != want {
			t.Errorf("counted are %d, reserved %d, requested %d", counted, reserved, requested)
		}
	})
}
