package workload

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
	"github.com/akash-net/kubectl-akash-net/render"
)

// services renders the Services of the service (provider: cluster/kube/builder/service.go): a ClusterIP for ports that
// its own lease and the routers reach, a NodePort for ports that are reached through the nodes.
func (s *service) services() []render.Object {
	var objects []render.Object
	onNode := func(e lease.Expose) bool { return e.Global && !e.IsIngress() }
	if ports := s.servicePorts(func(e lease.Expose) bool { return !onNode(e) }); len(ports) > 0 {
		objects = append(objects, s.kubeService(s.Name, corev1.ServiceTypeClusterIP, ports))
	}
	if ports := s.servicePorts(onNode); len(ports) > 0 {
		objects = append(objects, s.kubeService(s.Name+workload.NodePortSuffix, corev1.ServiceTypeNodePort, ports))
	}
	return objects
}

// servicePorts returns the external ports of the selected exposes; the first expose of a number and protocol is used. A
// port's name contains the index of its expose.
func (s *service) servicePorts(which func(lease.Expose) bool) []*coreac.ServicePortApplyConfiguration {
	type key struct {
		port     uint16
		protocol lease.Protocol
	}
	seen := map[key]bool{}
	var ports []*coreac.ServicePortApplyConfiguration
	for i, e := range s.ports {
		k := key{e.ExternalPort(), e.Protocol}
		if !which(e) || seen[k] {
			continue
		}
		seen[k] = true
		ports = append(ports, coreac.ServicePort().WithName(strconv.Itoa(i)+"-"+strconv.Itoa(int(k.port))).
			WithPort(int32(k.port)).WithTargetPort(intstr.FromInt32(int32(e.Port))).WithProtocol(corev1.Protocol(e.Protocol)))
	}
	return ports
}

func (s *service) kubeService(name string, kind corev1.ServiceType, ports []*coreac.ServicePortApplyConfiguration) render.Object {
	return render.Object{Kind: kinds.Service, Namespace: s.ns, Name: name, Config: coreac.Service(name, s.ns).
		WithLabels(s.labels()).WithAnnotations(s.annotations()).
		WithSpec(coreac.ServiceSpec().WithType(kind).WithSelector(s.labels()).WithPorts(ports...))}
}
