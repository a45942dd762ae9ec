package status

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Objects are the objects of one lease in the cluster.
type Objects struct {
	// Manifest is Akash's record of what the lease runs, or nil.
	Manifest     *Manifest
	Deployments  []appsv1.Deployment
	StatefulSets []appsv1.StatefulSet
	Services     []corev1.Service
	// Hosts are the lease's ProviderHosts, in any order.
	Hosts []Host
}

// Manifest is the part of a Manifest object that the status needs (provider: pkg/apis/akash.network/v2beta2).
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

// Expose is an exposed port of a service in a Manifest.
type Expose struct {
	Port uint16 `json:"port"`
	// ExternalPort is 0 if the manifest names none.
	ExternalPort uint16 `json:"external_port"`
	// Proto is TCP or UDP.
	Proto  string `json:"proto"`
	Global bool   `json:"global"`
	// IP is the name of the endpoint whose address has the port.
	IP string `json:"ip"`
}

// Host is a ProviderHost: the name of the object, and the host and service in its spec.
type Host struct {
	Name string
	Spec struct {
		Hostname string `json:"hostname"`
		Service  string `json:"service_name"`
	}
}

// service returns the service with the name, or nil. m may be nil.
func (m *Manifest) service(name string) *ManifestService {
	if m == nil {
		return nil
	}
	services := m.Spec.Group.Services
	if i := slices.IndexFunc(services, func(s ManifestService) bool { return s.Name == name }); i >= 0 {
		return &services[i]
	}
	return nil
}

// exposes reports whether the Manifest has a matching expose. m may be nil.
func (m *Manifest) exposes(matches func(Expose) bool) bool {
	return m != nil && slices.ContainsFunc(m.Spec.Group.Services, func(s ManifestService) bool {
		return slices.ContainsFunc(s.Expose, matches)
	})
}

// isIngress reports whether the port is reached over HTTP by host name.
func (e Expose) isIngress() bool {
	return e.Global && e.Proto == "TCP" && (e.ExternalPort == 80 || e.ExternalPort == 0 && e.Port == 80)
}

// asksPort reports whether the expose makes upstream look for node ports. Port 80 counts if the manifest named no
// external port. Unlike upstream, UDP port 80 counts too: it is a port like any other.
func (e Expose) asksPort() bool { return e.Global && (e.ExternalPort != 80 || e.Proto != "TCP") }
