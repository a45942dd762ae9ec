package status

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// ErrNothing is returned if the cluster has neither a Manifest of the lease nor a workload.
var ErrNothing = errors.New("it has no Manifest and no workloads")

// ErrNoWorkloads is returned if the cluster has a Manifest of the lease but no workload.
var ErrNoWorkloads = errors.New("it has a Manifest, but no Deployments and no StatefulSets")

// Of returns the status of the lease. public is the provider's public host name (workloads.publicHostname), or "". It
// returns ErrNothing or ErrNoWorkloads if nothing runs.
func (o *Objects) Of(public string) (*Lease, error) {
	services := o.services()
	switch {
	case len(services) == 0 && o.Manifest == nil:
		return nil, ErrNothing
	case len(services) == 0:
		return nil, ErrNoWorkloads
	}
	for name, s := range services {
		s.URIs = o.hosts(name)
	}
	return &Lease{Services: services, ForwardedPorts: o.forwardedPorts(public), IPs: o.leasedIPs()}, nil
}

// Service returns the status of one service. Like upstream, it lists all hosts of the lease if the service is reached
// by host name, and an empty list if there are none yet.
func (o *Objects) Service(name string) (*Service, error) {
	services := o.services()
	if len(services) == 0 && o.Manifest == nil {
		return nil, ErrNothing
	}
	s, runs := services[name]
	record := o.Manifest.service(name)
	switch {
	case !runs && record == nil:
		return nil, fmt.Errorf("it has no service %q: %s", name, known(slices.Sorted(maps.Keys(services))))
	case !runs:
		return nil, fmt.Errorf("its service %q has no Deployment and no StatefulSet", name)
	case record != nil && slices.ContainsFunc(record.Expose, Expose.isIngress), o.Manifest == nil && len(o.hosts(name)) > 0:
		s.URIs = append([]string{}, o.hosts("")...)
	}
	return s, nil
}

func known(names []string) string {
	if len(names) == 0 {
		return "nothing runs for it"
	}
	return "it has " + strings.Join(names, ", ")
}

// services returns the running services by name. If a StatefulSet and a Deployment have the same name, the StatefulSet
// counts, as upstream.
func (o *Objects) services() map[string]*Service {
	out := map[string]*Service{}
	add := func(meta *metav1.ObjectMeta, s appsv1.DeploymentStatus) {
		if meta.Labels[lease.LabelManaged] == "true" {
			out[meta.Name] = &Service{
				Name: meta.Name, Available: s.AvailableReplicas, Total: s.Replicas, ObservedGeneration: s.ObservedGeneration,
				Replicas: s.Replicas, UpdatedReplicas: s.UpdatedReplicas, ReadyReplicas: s.ReadyReplicas,
				AvailableReplicas: s.AvailableReplicas,
			}
		}
	}
	for i := range o.Deployments {
		add(&o.Deployments[i].ObjectMeta, o.Deployments[i].Status)
	}
	for i := range o.StatefulSets {
		s := &o.StatefulSets[i].Status
		add(&o.StatefulSets[i].ObjectMeta, appsv1.DeploymentStatus{
			ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, UpdatedReplicas: s.UpdatedReplicas,
			ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas,
		})
	}
	return out
}

// hosts returns the host names of a service, or of all services for "", sorted by the name of the ProviderHost.
func (o *Objects) hosts(service string) []string {
	var out []string
	sorted := slices.SortedFunc(slices.Values(o.Hosts), func(a, b Host) int { return cmp.Compare(a.Name, b.Name) })
	for _, h := range sorted {
		if service == "" || h.Spec.Service == service {
			out = append(out, h.Spec.Hostname)
		}
	}
	return out
}

// sorted returns the matching Services, sorted by name.
func (o *Objects) sorted(matches func(*corev1.Service) bool) []*corev1.Service {
	var out []*corev1.Service
	for i := range o.Services {
		if s := &o.Services[i]; matches(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Service) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// forwardedPorts returns the ports of the NodePort Services by service. Such a Service has the name of its service and
// a suffix.
func (o *Objects) forwardedPorts(public string) map[string][]ForwardedPort {
	on := o.sorted(func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeNodePort && strings.HasSuffix(s.Name, workload.NodePortSuffix)
	})
	if o.Manifest == nil && len(on) == 0 || o.Manifest != nil && !o.Manifest.exposes(Expose.asksPort) {
		return nil
	}
	out := map[string][]ForwardedPort{}
	for _, s := range on {
		name := strings.TrimSuffix(s.Name, workload.NodePortSuffix)
		for _, p := range s.Spec.Ports {
			if p.NodePort == 0 {
				continue
			}
			out[name] = append(out[name], ForwardedPort{
				Host: public, Port: uint16(containerPort(p)), ExternalPort: uint16(p.NodePort), Proto: protocol(p), Name: name,
			})
		}
	}
	return out
}

// leasedIPs returns the ports on addresses that MetalLB granted, by service. It skips Services without an address.
func (o *Objects) leasedIPs() map[string][]LeasedIP {
	on := o.sorted(func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Labels[lease.LabelServiceTarget] == lease.ServiceTargetMetalLB &&
			s.Spec.Selector[lease.LabelService] != ""
	})
	asks := func(e Expose) bool { return e.Global && e.IP != "" }
	if o.Manifest == nil && len(on) == 0 || o.Manifest != nil && !o.Manifest.exposes(asks) {
		return nil
	}
	out := map[string][]LeasedIP{}
	for _, s := range on {
		name := s.Spec.Selector[lease.LabelService]
		for _, granted := range s.Status.LoadBalancer.Ingress {
			if granted.IP == "" {
				continue
			}
			for _, p := range s.Spec.Ports {
				out[name] = append(out[name], LeasedIP{
					Port: uint32(containerPort(p)), ExternalPort: uint32(p.Port), Protocol: protocol(p), IP: granted.IP,
				})
			}
		}
	}
	for _, ips := range out {
		slices.SortFunc(ips, func(a, b LeasedIP) int {
			return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.ExternalPort, b.ExternalPort), cmp.Compare(a.IP, b.IP),
				cmp.Compare(b.Protocol, a.Protocol))
		})
	}
	return out
}

// containerPort returns the target port of a Service's port.
func containerPort(p corev1.ServicePort) int32 { return cmp.Or(p.TargetPort.IntVal, p.Port) }

// protocol returns the protocol of a port, TCP by default.
func protocol(p corev1.ServicePort) string { return string(cmp.Or(p.Protocol, corev1.ProtocolTCP)) }
