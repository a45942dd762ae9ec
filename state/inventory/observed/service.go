package observed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodePorts sets the range of node ports, both ends included: the API server's --service-node-port-range. Ports outside
// it, which Services may have from an earlier range, do not count.
func (f *Fold) NodePorts(first, last uint16) { f.nodePorts = [2]int32{int32(first), int32(last)} }

// Service adds the node ports of a Service. A lease asks only for those of NodePort Services; LoadBalancer Services
// have node ports that no lease asked for.
func (f *Fold) Service(o *corev1.Service) {
	var ports []int32
	for _, p := range o.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	if o.Spec.Type != corev1.ServiceTypeNodePort {
		f.otherPorts = append(append(f.otherPorts, ports...), o.Spec.HealthCheckNodePort)
		return
	}
	set(&f.ports, o.Namespace, append(f.ports[o.Namespace], ports...))
}

// inRange counts the ports that are node ports, each once: TCP and UDP share a port. Port 0 means no port.
func (f *Fold) inRange(ports []int32) (n uint64) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(ports))) {
		if p > 0 && p >= f.nodePorts[0] && p <= f.nodePorts[1] {
			n++
		}
	}
	return n
}
