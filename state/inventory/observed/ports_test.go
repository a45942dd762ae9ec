package observed_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

func portService(namespace string, kind corev1.ServiceType, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: corev1.ServiceSpec{Type: kind, Ports: ports}}
}

// However Services are listed and ports repeated, no more node ports are in use than exist.
func TestNoMoreNodePortsAreInUseThanThereAre(t *testing.T) {
	var f observed.Fold
	f.NodePorts(30000, 30002)
	var ports []corev1.ServicePort
	for p := int32(29990); p < 30020; p++ {
		ports = append(ports, corev1.ServicePort{NodePort: p, Protocol: "TCP"}, corev1.ServicePort{NodePort: p, Protocol: "UDP"})
	}
	for _, p := range []int32{0, -1, math.MaxInt32, math.MinInt32} {
		ports = append(ports, corev1.ServicePort{NodePort: p})
	}
	f.Service(portService("ns", "NodePort", ports...))
	if got, want := *f.Capacity().NodePorts, (observed.Counted{Total: 3, InUse: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if left := f.Capacity().Cluster().NodePorts.Available(); left != 0 {
		t.Errorf("%d are left", left)
	}
}
