package render

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// services renders the LoadBalancer Services of one leased port: one per address, IPv4 first; in pool mode one without
// an address.
func (l *leased) services(name string, e lease.Expose, ips []netip.Addr) ([]Object, *lease.Problem) {
	object := lease.IPServiceName(name, e.ExternalPort(), e.Protocol)
	if len(ips) == 0 {
		return []Object{l.service(object, name, e, netip.Addr{})}, nil
	}
	objects := []Object{l.service(object, name, e, ips[0])}
	if len(ips) == 2 {
		second := object + lease.SecondFamilySuffix
		if len(second) > validation.DNS1123LabelMaxLength {
			return nil, &lease.Problem{At: e.At, Message: fmt.Sprintf("the Service for the IPv6 address would be named %q, "+
				"which has more than %d characters: shorten the service's name", second, validation.DNS1123LabelMaxLength)}
		}
		objects = append(objects, l.service(second, name, e, ips[1]))
	}
	return objects, nil
}

// service renders a LoadBalancer Service as Akash writes it (provider:
// cluster/kube/operators/clients/metallb/client.go). It requests the address if there is one. Only IPv6 needs a family
// policy, because IPv4 is the default of most clusters.
func (l *leased) service(object, name string, e lease.Expose, ip netip.Addr) Object {
	spec := coreac.ServiceSpec().
		WithType(corev1.ServiceTypeLoadBalancer).
		WithSelector(map[string]string{lease.LabelManaged: "true", lease.LabelService: name}).
		WithPorts(coreac.ServicePort().
			WithName(lease.IPServiceName(name, e.ExternalPort(), e.Protocol)).
			WithProtocol(corev1.Protocol(e.Protocol)).
			WithPort(int32(e.ExternalPort())).
			WithTargetPort(intstr.FromInt32(int32(e.Port))))
	if ip.Is6() {
		spec.WithIPFamilyPolicy(corev1.IPFamilyPolicySingleStack).WithIPFamilies(corev1.IPv6Protocol)
	}
	service := coreac.Service(object, l.namespace).
		WithLabels(l.labelsAnd(lease.LabelServiceTarget, lease.ServiceTargetMetalLB)).
		WithAnnotations(l.serviceAnnotations(e.IP, ip)).
		WithSpec(spec)
	return Object{Kind: kinds.Service, Namespace: l.namespace, Name: object, Config: service}
}

// serviceAnnotations returns the annotations for MetalLB, which accepts both prefixes (MetalLB 0.15:
// controller/service.go).
func (l *leased) serviceAnnotations(endpoint string, ip netip.Addr) map[string]string {
	prefix := l.cfg.IP.AnnotationPrefix + "/"
	a := l.annotations()
	a[prefix+"allow-shared-ip"] = lease.SharingKey(l.id.Owner, endpoint)
	switch {
	case ip.IsValid():
		a[prefix+"loadBalancerIPs"] = ip.String()
	case l.cfg.IP.Pool != "default":
		a[prefix+"address-pool"] = l.cfg.IP.Pool
	}
	return a
}
