package view

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// SubjectEndpoints has no rows of its own. It adds the endpoints of Services to hosts and addresses.
const SubjectEndpoints Subject = "endpoints"

// Endpoints are the endpoints that a Service has for the port of a host or an address. Nothing answers without a ready one.
type Endpoints struct {
	// Ready is how many of the Total endpoints take requests. Total leaves out endpoints that end, unless they are ready.
	Ready int `json:"ready"`
	Total int `json:"total"`
	// Missing is MissingService or MissingPort, or empty.
	Missing string `json:"missing,omitempty"`
}

// What may be missing before there can be endpoints.
const (
	// MissingService says that the Service does not exist.
	MissingService = "Service"
	// MissingPort says that the Service does not have the port.
	MissingPort = "port"
)

// Silent returns why nothing answers at the port of a Service, or "" if something may.
func (e *Endpoints) Silent(service string, port uint16) string {
	switch {
	case e == nil || e.Ready > 0:
		return ""
	case e.Missing == MissingService:
		return fmt.Sprintf("Service %s does not exist", service)
	case e.Missing == MissingPort:
		return fmt.Sprintf("Service %s has no port %d", service, port)
	case e.Total == 0:
		return fmt.Sprintf("Service %s has no endpoints", service)
	}
	return fmt.Sprintf("Service %s has 0 of %d endpoints ready", service, e.Total)
}

// Backends are Services and their EndpointSlices. The zero Backends know nothing of either: a Service that was not read is not
// called missing, and the endpoints of slices that were not read are not counted.
type Backends struct {
	services map[backendKey]backend
	slices   map[backendKey][]slice
}

// backendKey names a Service.
type backendKey struct{ namespace, name string }

// backend is what counts of a Service.
type backend struct {
	ports []backendPort
	// external is true for a Service that stands for a name outside the cluster.
	external bool
}

type backendPort struct {
	name     string
	number   uint16
	protocol lease.Protocol
}

// slice is what counts of an EndpointSlice.
type slice struct {
	family config.Family
	// ports are the names of the Service's ports that the endpoints have.
	ports     []string
	endpoints []endpoint
}

// endpoint is what counts of an endpoint. Its id is the same in all slices.
type endpoint struct {
	id string
	// ready is true if it takes requests, ending if it is about to go.
	ready, ending bool
}

// ResetServices removes the Services that were added. known says that all that exist are added from now on.
func (b *Backends) ResetServices(known bool) {
	if b.services = nil; known {
		b.services = map[backendKey]backend{}
	}
}

// ResetSlices removes the EndpointSlices that were added. known says that all that exist are added from now on.
func (b *Backends) ResetSlices(known bool) {
	if b.slices = nil; known {
		b.slices = map[backendKey][]slice{}
	}
}

// HasSlices reports whether EndpointSlices were read.
func (b *Backends) HasSlices() bool { return b.slices != nil }

// AddService adds a Service.
func (b *Backends) AddService(o *corev1.Service) {
	if b.services == nil {
		b.ResetServices(true)
	}
	s := backend{external: o.Spec.Type == corev1.ServiceTypeExternalName}
	for _, p := range o.Spec.Ports {
		if number := uint16(p.Port); int32(number) == p.Port {
			s.ports = append(s.ports, backendPort{p.Name, number, lease.Protocol(cmp.Or(p.Protocol, corev1.ProtocolTCP))})
		}
	}
	b.services[backendKey{o.Namespace, o.Name}] = s
}

// AddSlice adds an EndpointSlice of a Service. Only slices of IPv4 and IPv6 addresses count: nothing routes to others.
func (b *Backends) AddSlice(o *discoveryv1.EndpointSlice) {
	if b.slices == nil {
		b.ResetSlices(true)
	}
	s := slice{family: config.Family(o.AddressType)}
	service := o.Labels[discoveryv1.LabelServiceName]
	if service == "" || s.family != config.IPv4 && s.family != config.IPv6 {
		return
	}
	for _, p := range o.Ports {
		s.ports = append(s.ports, valueOr(p.Name, ""))
	}
	for _, e := range o.Endpoints {
		id := ""
		if e.TargetRef != nil {
			id = cmp.Or(string(e.TargetRef.UID), e.TargetRef.Kind+"/"+e.TargetRef.Name)
		} else if len(e.Addresses) > 0 {
			id = e.Addresses[0]
		}
		s.endpoints = append(s.endpoints, endpoint{id, valueOr(e.Conditions.Ready, true), valueOr(e.Conditions.Terminating, false)})
	}
	key := backendKey{o.Namespace, service}
	b.slices[key] = append(b.slices[key], s)
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// of returns the endpoints of a Service's port for a family; "" stands for both. It returns nil if they are not known. Slices may
// share endpoints: an endpoint that has addresses of both families, or that moves between slices, is one, and is ready where one
// of the slices says so.
func (b *Backends) of(namespace, service string, port uint16, protocol lease.Protocol, family config.Family) *Endpoints {
	key := backendKey{namespace, service}
	s, exists := b.services[key]
	if b.services != nil && !exists {
		return &Endpoints{Missing: MissingService}
	}
	at := slices.IndexFunc(s.ports, func(p backendPort) bool { return p.number == port && p.protocol == protocol })
	switch {
	case s.external:
		return nil
	case exists && at < 0:
		return &Endpoints{Missing: MissingPort}
	case b.slices == nil:
		return nil
	}
	found := map[string]endpoint{}
	for _, l := range b.slices[key] {
		if family != "" && l.family != family || exists && !slices.Contains(l.ports, s.ports[at].name) {
			continue
		}
		for _, e := range l.endpoints {
			if again, ok := found[e.id]; ok {
				e.ready, e.ending = e.ready || again.ready, e.ending && again.ending
			}
			found[e.id] = e
		}
	}
	var out Endpoints
	for _, e := range found {
		if e.ready {
			out.Ready++
		}
		if e.ready || !e.ending {
			out.Total++
		}
	}
	return &out
}

// addTo adds their endpoints to the hosts that have a route of their holder, and to the addresses for which there is a Service. A host that the
// former holder still serves leads to another Service.
func (b *Backends) addTo(hosts []HostRow, ips []IPRow) {
	for i := range hosts {
		if r := &hosts[i]; r.Target != "" && r.Service != "" && r.State != StateTransferring {
			if r.Endpoints = b.of(r.Namespace, r.Service, r.Port, lease.TCP, ""); r.State == StateActive && r.Silent() != "" {
				r.Unserved = NotAnswering
			}
		}
	}
	for i := range ips {
		if r := &ips[i]; r.Routed() {
			r.Endpoints = b.of(r.Namespace, r.Object, r.Port, r.Protocol, r.Family)
		}
	}
}

// Routed reports whether there is a LoadBalancer Service for the address.
func (r *IPRow) Routed() bool { return r.Object != "" }

// Silent returns why nothing answers at the port, or "" if something may.
func (r *IPRow) Silent() string { return r.Endpoints.Silent(r.Object, r.Port) }
