// Package status computes the status of a lease as the gateway of Akash's provider answers it (provider:
// gateway/rest/router.go and cluster/kube/client.go), from the objects of the lease. It does not access a cluster.
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
	"github.com/akash-net/kubectl-akash-net/lease/manifest"
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
	record := o.recorded(name)
	switch {
	case !runs && record == nil:
		return nil, fmt.Errorf("it has no service %q: %s", name, known(slices.Sorted(maps.Keys(services))))
	case !runs:
		return nil, fmt.Errorf("its service %q has no Deployment and no StatefulSet", name)
	case record != nil && slices.ContainsFunc(record.Expose, isIngress), o.Manifest == nil && len(o.hosts(name)) > 0:
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
	if o.Manifest == nil && len(on) == 0 || o.Manifest != nil && !o.exposes(asksPort) {
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
	asks := func(e manifest.Expose) bool { return e.Global && e.IP != "" }
	if o.Manifest == nil && len(on) == 0 || o.Manifest != nil && !o.exposes(asks) {
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

// Lease is the answer of Akash's gateway to GET /lease/DSEQ/GSEQ/OSEQ/status (provider: gateway/rest/router.go).
type Lease struct {
	// Services are the Deployments and StatefulSets by name.
	Services map[string]*Service `json:"services"`
	// ForwardedPorts are the node ports by service. It is nil if the lease asks for none, and empty if it has none yet.
	ForwardedPorts map[string][]ForwardedPort `json:"forwarded_ports"`
	// IPs are the ports on leased addresses by service. It is nil if the lease asks for none, and empty if none is
	// granted yet.
	IPs map[string][]LeasedIP `json:"ips"`
}

// Service is the status of a service (provider: cluster/types/v1beta3, ServiceStatus). All numbers count replicas.
type Service struct {
	Name string `json:"name"`
	// Available is the number of replicas that have been ready for minReadySeconds.
	Available int32 `json:"available"`
	Total     int32 `json:"total"`
	// URIs are host names. It is nil if the service has none.
	URIs []string `json:"uris"`

	ObservedGeneration int64 `json:"observed_generation"`
	Replicas           int32 `json:"replicas"`
	UpdatedReplicas    int32 `json:"updated_replicas"`
	ReadyReplicas      int32 `json:"ready_replicas"`
	AvailableReplicas  int32 `json:"available_replicas"`
}

// ForwardedPort is a container port that is reached through the provider's nodes.
type ForwardedPort struct {
	// Host is the provider's public host name, if it has one.
	Host string `json:"host,omitempty"`
	// Port is the container port, ExternalPort the node port.
	Port         uint16 `json:"port"`
	ExternalPort uint16 `json:"externalPort"`
	// Proto is TCP or UDP.
	Proto string `json:"proto"`
	// Name is the name of the service.
	Name string `json:"name"`
}

// LeasedIP is a port on a leased address. Upstream's type gives its fields no JSON names.
type LeasedIP struct {
	// Port is the container port, ExternalPort the port on the address.
	Port         uint32
	ExternalPort uint32
	Protocol     string
	IP           string
}

// Objects are the objects of one lease in the cluster.
type Objects struct {
	// Manifest is Akash's record of what the lease runs, or nil.
	Manifest     *manifest.Manifest
	Deployments  []appsv1.Deployment
	StatefulSets []appsv1.StatefulSet
	Services     []corev1.Service
	// Hosts are the lease's ProviderHosts, in any order.
	Hosts []Host
}

// Host is a ProviderHost: the name of the object, and the host and service in its spec.
type Host struct {
	Name string
	Spec struct {
		Hostname string `json:"hostname"`
		Service  string `json:"service_name"`
	}
}

// recorded returns the service of the Manifest with the name, or nil.
func (o *Objects) recorded(name string) *manifest.Service {
	if o.Manifest == nil {
		return nil
	}
	services := o.Manifest.Spec.Group.Services
	if i := slices.IndexFunc(services, func(s manifest.Service) bool { return s.Name == name }); i >= 0 {
		return &services[i]
	}
	return nil
}

// exposes reports whether the Manifest, which is there, has a matching expose.
func (o *Objects) exposes(matches func(manifest.Expose) bool) bool {
	return slices.ContainsFunc(o.Manifest.Spec.Group.Services, func(s manifest.Service) bool { return slices.ContainsFunc(s.Expose, matches) })
}

// isIngress reports whether the port is reached over HTTP by host name.
func isIngress(e manifest.Expose) bool {
	return e.Global && e.Proto == "TCP" && (e.ExternalPort == 80 || e.ExternalPort == 0 && e.Port == 80)
}

// asksPort reports whether the expose makes upstream look for node ports. Port 80 counts if the manifest named no
// external port. Unlike upstream, UDP port 80 counts too: it is a port like any other.
func asksPort(e manifest.Expose) bool { return e.Global && (e.ExternalPort != 80 || e.Proto != "TCP") }
