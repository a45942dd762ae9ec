package status

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Objects are what the cluster holds of one lease.
type Objects struct {
	// Manifest is Akash's record of what the lease runs; nil where there is none.
	Manifest     *Manifest
	Deployments  []appsv1.Deployment
	StatefulSets []appsv1.StatefulSet
	Services     []corev1.Service
	// Hosts are the lease's ProviderHosts, of any order.
	Hosts []Host
}

// Manifest is the part of a Manifest object that status rests on (provider: pkg/apis/akash.network/v2beta2).
type Manifest struct {
	Spec struct {
		Group struct {
			Services []ManifestService `json:"services"`
		} `json:"group"`
	} `json:"spec"`
}

// ManifestService is a service of a Manifest.
type ManifestService struct {
	Name   string   `json:"name"`
	Expose []Expose `json:"expose"`
}

// Expose is a port of a service, as a Manifest keeps it.
type Expose struct {
	Port uint16 `json:"port"`
	// ExternalPort is 0 where the manifest named none.
	ExternalPort uint16 `json:"external_port"`
	// Proto is TCP or UDP.
	Proto  string `json:"proto"`
	Global bool   `json:"global"`
	// IP names the endpoint whose address the port is on.
	IP string `json:"ip"`
}

// Host is a ProviderHost: its object's name, the host and the service that it is routed to.
type Host struct {
	Name string
	Spec struct {
		Hostname string `json:"hostname"`
		Service  string `json:"service_name"`
	}
}

// service is the Manifest's record of a service, nil where it has none.
func (m *Manifest) service(name string) *ManifestService {
	if m == nil {
		return nil
	}
	for i := range m.Spec.Group.Services {
		if s := &m.Spec.Group.Services[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// any is true where an expose of the Manifest is such a one.
func (m *Manifest) any(is func(Expose) bool) bool {
	if m == nil {
		return false
	}
	for i := range m.Spec.Group.Services {
		if m.Spec.Group.Services[i].any(is) {
			return true
		}
	}
	return false
}

func (s *ManifestService) any(is func(Expose) bool) bool {
	for _, e := range s.Expose {
		if is(e) {
			return true
		}
	}
	return false
}

// isIngress is true for a port that is reached over HTTP by its host names.
func (e Expose) isIngress() bool {
	return e.Global && e.Proto == "TCP" && (e.ExternalPort == 80 || e.ExternalPort == 0 && e.Port == 80)
}

// asksPort is true for an expose that makes upstream look for ports on the nodes: external port 80 that the manifest
// did not name counts too. Of UDP, 80 is a port as any other, which upstream forgets.
func (e Expose) asksPort() bool { return e.Global && (e.ExternalPort != 80 || e.Proto != "TCP") }
