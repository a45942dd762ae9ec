package observed

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// NodePorts says which node ports there are: the API server's --service-node-port-range, both ends in it. Others that
// Services have, from a time with another range, count nothing.
func (f *Fold) NodePorts(first, last uint16) { f.nodePorts = [2]int32{int32(first), int32(last)} }

// Service adds the node ports that a Service has. Those of a NodePort Service are what its lease asked for; a LoadBalancer
// Service gets some too, for which no lease asks.
func (f *Fold) Service(o *corev1.Service) {
	var ports []int32
	for _, p := range o.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	if o.Spec.Type != corev1.ServiceTypeNodePort {
		f.otherPorts = append(append(f.otherPorts, ports...), o.Spec.HealthCheckNodePort)
		return
	}
	if f.ports == nil {
		f.ports = map[string][]int32{}
	}
	f.ports[o.Namespace] = append(f.ports[o.Namespace], ports...)
}

// inRange counts the ports that are among the node ports, each once: two protocols of one port share it. None is port 0.
func (f *Fold) inRange(ports []int32) (n uint64) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(ports))) {
		if p > 0 && p >= f.nodePorts[0] && p <= f.nodePorts[1] {
			n++
		}
	}
	return n
}
