package observed_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// requesting returns a pod on n1 with one container for each request.
func requesting(resourceName corev1.ResourceName, requests ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	for _, r := range requests {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{resourceName: resource.MustParse(r)}}})
	}
	return p
}

// Pods request at least as much as each of their containers: a sum beyond 2^63 must not wrap and leave the node empty.
func TestRequestsDoNotWrap(t *testing.T) {
	for _, c := range []struct {
		resource corev1.ResourceName
		requests []string
		want     uint64
	}{
		{"memory", []string{"1Gi"}, 1 << 30},
		{"memory", []string{"0.1"}, 1}, // what is less than a byte is a byte
		{"memory", []string{"-1Gi"}, 0},
		{"memory", []string{"7Ei", "1"}, 7<<60 + 1},
		{"memory", []string{"7Ei", "7Ei"}, math.MaxInt64},
		{"memory", []string{"4Ei", "4Ei"}, math.MaxInt64},
		{"memory", strings.Fields(strings.Repeat("4Ei ", 4)), math.MaxInt64},
		{"memory", []string{"9223372036854775807", "9223372036854775807", "2"}, math.MaxInt64},
		{"memory", []string{"100E", "1"}, math.MaxInt64},
		{"ephemeral-storage", []string{"7Ei", "7Ei"}, math.MaxInt64},
		{"nvidia.com/gpu", []string{"9223372036854775807", "9223372036854775807"}, math.MaxInt64},
		{"cpu", []string{"1m", "2"}, 2001},
		{"cpu", []string{"0.0001"}, 1},
		{"cpu", []string{"9223372036854775"}, 9223372036854775000},
		{"cpu", []string{"9223372036854776"}, math.MaxInt64},
		{"cpu", []string{"4611686018427387904", "4611686018427387904"}, math.MaxInt64},
		{"cpu", strings.Fields(strings.Repeat("4611686018427387904 ", 4)), math.MaxInt64},
		{"cpu", []string{"-2"}, 0},
	} {
		var f observed.Fold
		f.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
		f.Pod(requesting(c.resource, c.requests...))
		a := f.Capacity().Nodes[0].InUse
		got := map[corev1.ResourceName]uint64{"cpu": a.CPU, "memory": a.Memory, "ephemeral-storage": a.EphemeralStorage, "nvidia.com/gpu": a.GPU}[c.resource]
		if got != c.want {
			t.Errorf("%s %v: in use %d, want %d", c.resource, c.requests, got, c.want)
		}
	}
}

// A node has at most its amount minus the largest request left.
func TestAPodTakesWhatItAsks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64())
		all := max(size.Draw(t, "node"), 0)
		var f observed.Fold
		f.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{"memory": *resource.NewQuantity(all, resource.BinarySI)},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}})
		largest := int64(0)
		for range rapid.IntRange(0, 3).Draw(t, "pods") {
			var requests []string
			for range rapid.IntRange(1, 4).Draw(t, "containers") {
				n := size.Draw(t, "request")
				requests, largest = append(requests, fmt.Sprint(n)), max(largest, n)
				if n < 0 {
					return // negative requests are refused by the API server; a sum with one says nothing
				}
			}
			f.Pod(requesting("memory", requests...))
		}
		if left := f.Capacity().Cluster().Nodes[0].Memory.Available(); left > uint64(max(all-largest, 0)) {
			t.Errorf("of %d are %d left, and a container requests %d", all, left, largest)
		}
	})
}
