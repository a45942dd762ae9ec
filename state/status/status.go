package status

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
)

// ErrNothing says that the cluster holds neither a Manifest of the lease nor a workload.
var ErrNothing = errors.New("it has no Manifest and no workloads")

// ErrNoWorkloads says that nothing runs for a lease of which there is a Manifest.
var ErrNoWorkloads = errors.New("it has a Manifest, but no Deployments and no StatefulSets")

// Of is the status of a lease. The public name is the provider's (workloads.publicHostname), empty where it has
// none. It fails with ErrNothing or ErrNoWorkloads.
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

// Service is the status of one service. Its URIs are all hosts of the lease, as upstream answers, if the service is
// reached by host names; empty where there are none yet.
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
	case record != nil && record.any(Expose.isIngress), o.Manifest == nil && len(o.hosts(name)) > 0:
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

// services are those that run. Of a StatefulSet and a Deployment of one name, the first counts, as upstream has it.
func (o *Objects) services() map[string]*Service {
	out := map[string]*Service{}
	for i := range o.Deployments {
		d, s := &o.Deployments[i], &o.Deployments[i].Status
		if d.Labels[lease.LabelManaged] != "true" {
			continue
		}
		out[d.Name] = &Service{
			Name: d.Name, Available: s.AvailableReplicas, Total: s.Replicas, ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas,
			UpdatedReplicas: s.UpdatedReplicas, ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas,
		}
	}
	for i := range o.StatefulSets {
		d, s := &o.StatefulSets[i], &o.StatefulSets[i].Status
		if d.Labels[lease.LabelManaged] != "true" {
			continue
		}
		out[d.Name] = &Service{
			Name: d.Name, Available: s.AvailableReplicas, Total: s.Replicas, ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas,
			UpdatedReplicas: s.UpdatedReplicas, ReadyReplicas: s.ReadyReplicas, AvailableReplicas: s.AvailableReplicas,
		}
	}
	return out
}

// hosts are the host names of a service, or of all for "", in the order of their objects' names; nil where there
// are none.
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

// sorted are the Services that are such ones, by name.
func (o *Objects) sorted(is func(*corev1.Service) bool) []*corev1.Service {
	var out []*corev1.Service
	for i := range o.Services {
		if s := &o.Services[i]; is(s) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Service) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// forwardedPorts are the ports of the NodePort Services, which have the names of their services with a suffix.
func (o *Objects) forwardedPorts(public string) map[string][]ForwardedPort {
	on := o.sorted(func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeNodePort && strings.HasSuffix(s.Name, workload.NodePortSuffix)
	})
	if o.Manifest == nil && len(on) == 0 || o.Manifest != nil && !o.Manifest.any(Expose.asksPort) {
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

// leasedIPs are the ports on the addresses that MetalLB granted. A Service without an address is left out, and the
// others are shown all the same.
func (o *Objects) leasedIPs() map[string][]LeasedIP {
	on := o.sorted(func(s *corev1.Service) bool {
		return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Labels[lease.LabelServiceTarget] == lease.ServiceTargetMetalLB &&
			s.Spec.Selector[lease.LabelService] != ""
	})
	asks := func(e Expose) bool { return e.Global && e.IP != "" }
	if o.Manifest == nil && len(on) == 0 || o.Manifest != nil && !o.Manifest.any(asks) {
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
				out[name] = append(out[name], LeasedIP{Port: uint32(containerPort(p)), ExternalPort: uint32(p.Port), Protocol: protocol(p), IP: granted.IP})
			}
		}
	}
	for _, ips := range out {
		slices.SortFunc(ips, func(a, b LeasedIP) int {
			return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.ExternalPort, b.ExternalPort), cmp.Compare(a.IP, b.IP), cmp.Compare(b.Protocol, a.Protocol))
		})
	}
	return out
}

// containerPort is the port that a Service's port leads to.
func containerPort(p corev1.ServicePort) int32 { return cmp.Or(p.TargetPort.IntVal, p.Port) }

// protocol is TCP where a port names none.
func protocol(p corev1.ServicePort) string { return string(cmp.Or(p.Protocol, corev1.ProtocolTCP)) }
