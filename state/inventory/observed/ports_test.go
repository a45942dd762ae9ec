package observed_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

func portService(namespace string, kind corev1.ServiceType, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: corev1.ServiceSpec{Type: kind, Ports: ports}}
}

// Kubernetes gives a port with two protocols one node port. It counts once.
func TestOneNodePortForTwoProtocols(t *testing.T) {
	tcp, udp := corev1.ServicePort{Port: 53, Protocol: "TCP", NodePort: 30053}, corev1.ServicePort{Port: 53, Protocol: "UDP", NodePort: 30053}
	for name, c := range map[string]struct {
		service *corev1.Service
		reserve uint64
		want    observed.Counted
	}{
		"NodePort":     {portService("ns", "NodePort", tcp, udp), 0, observed.Counted{Total: 10, InUse: 1}},
		"LoadBalancer": {portService("ns", "LoadBalancer", tcp, udp), 0, observed.Counted{Total: 10, InUse: 1}},
		// Its order holds two; it counts by the larger.
		"of an order": {portService("ns", "NodePort", tcp, udp), 2, observed.Counted{Total: 10, InUse: 1, Reserved: 1}},
	} {
		var f observed.Fold
		f.NodePorts(30050, 30059)
		f.Namespace("ns", "akash1a/1/1/1")
		f.Service(c.service)
		if c.reserve > 0 {
			f.Reserve("akash1a/1/1/1", inventory.Hold{NodePorts: c.reserve})
		}
		if got := *f.Capacity().NodePorts; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
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

// The range includes both ends. A range of one port has one port; without a range there are none.
func TestRangeOfNodePorts(t *testing.T) {
	for r, want := range map[[2]uint16]uint64{{30000, 32767}: 2768, {1, 1}: 1, {1, 65535}: 65535, {65535, 65535}: 1} {
		var f observed.Fold
		f.NodePorts(r[0], r[1])
		f.Service(portService("a", "NodePort", corev1.ServicePort{NodePort: int32(r[0])}, corev1.ServicePort{NodePort: int32(r[1])}))
		used := uint64(2)
		if r[0] == r[1] {
			used = 1
		}
		if got := *f.Capacity().NodePorts; got != (observed.Counted{Total: want, InUse: used}) {
			t.Errorf("%v: %+v", r, got)
		}
	}
	var f observed.Fold
	f.NodePorts(0, 0)
	if f.Capacity().NodePorts != nil {
		t.Error("nobody has said which there are, and they are counted")
	}
}
