package state

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Labelled is what the metadata of an object says about its lease, whoever wrote the object.
type Labelled struct {
	// Kind is the object's kind in lower case.
	Kind, Namespace, Name string
	// Lease is the lease that the labels name. HasLease is false if they name none, or the lease of another namespace.
	Lease    lease.ID
	HasLease bool
	// Owner is the owner label, which may be set without the other labels of a lease.
	Owner string
	Since time.Time
	// Edited is true if kubectl users own fields of the object, which this program has applied.
	Edited bool
	// Rendered is true for an object that says from which definition it was rendered.
	Rendered bool
}

// LabelledOf reads the labels of an object of the kind.
func LabelledOf(kind string, o metav1.Object) Labelled {
	l := Labelled{
		Kind: intern(strings.ToLower(kind)), Namespace: o.GetNamespace(), Name: o.GetName(),
		Owner: intern(o.GetLabels()[lease.LabelOwner]), Since: o.GetCreationTimestamp().Time, Edited: managed.Edited(o),
		Rendered: o.GetAnnotations()[lease.AnnotationDefinition] != "",
	}
	if l.Lease, l.HasLease = labelledLease(kind, o); !l.HasLease && isForged(o) {
		l.Owner = ""
	}
	l.Lease.Owner, l.Lease.Provider = intern(l.Lease.Owner), intern(l.Lease.Provider)
	return l
}

// isForged reports whether the labels of an object name a lease that has another namespace.
func isForged(o metav1.Object) bool {
	id, ok := lease.IDFromLabels(o.GetLabels())
	return ok && id.Namespace() != o.GetNamespace()
}

// Of reports whether the object belongs to the deployment group.
func (l Labelled) Of(g lease.Group) bool { return l.HasLease && l.Lease.Group() == g }

// HostObject is a ProviderHost or a route of a lease. Akash's provider and this program both name them after the host.
type HostObject struct {
	Labelled
	// Host is the host or wildcard and PathHash the hash of the path (lease.PathHash) in the object's name. Redirect is
	// true for a route that redirects to the route with the backend.
	Host, PathHash string
	Redirect       bool
	// Whole is true if the whole object was read. Only then are the fields below set.
	Whole bool
	// Service and Port are the backend: that of the host and the path of the name, if the object routes them.
	Service string
	Port    uint16
	// Routing is what a route takes, nil for a ProviderHost.
	Routing *Routing
	// Unaccepted says why a route does not serve yet, according to the controllers that write its status.
	Unaccepted string
}

// HostObjectOf reads the metadata of a ProviderHost or a route.
func HostObjectOf(kind string, o metav1.Object) HostObject {
	h := HostObject{Labelled: LabelledOf(kind, o)}
	h.Host, h.PathHash, h.Redirect = lease.ParseRouteName(h.Name)
	return h
}

// PortObject is a ProviderLeasedIP: one port of an IP endpoint.
type PortObject struct {
	Labelled
	SharingKey string
	Protocol   lease.Protocol
	Port       uint16
	Service    string
}

// PortObjectOf reads the metadata of a ProviderLeasedIP. The name contains the sharing key, the protocol and the port.
// If the name has another form, the labels contain the protocol and the port.
func PortObjectOf(o metav1.Object) PortObject {
	labels := o.GetLabels()
	p := PortObject{Labelled: LabelledOf("ProviderLeasedIP", o), Service: labels["service-name"]}
	ok := false
	if p.SharingKey, p.Protocol, p.Port, ok = lease.ParseLeasedIPName(p.Name); !ok {
		p.SharingKey, p.Protocol = p.Name, lease.Protocol(strings.ToUpper(labels["proto"]))
		if port, err := strconv.ParseUint(labels["external-port"], 10, 16); err == nil {
			p.Port = uint16(port)
		}
	}
	return p
}

// ServiceObject is the LoadBalancer Service of a leased port.
type ServiceObject struct {
	Labelled
	SharingKey string
	Protocol   lease.Protocol
	// Port is the port on the address, ContainerPort the port of the workload's Service.
	Port, ContainerPort uint16
	Service             string
	// Pool is the pool that MetalLB allocated the address from, or else the pool that the Service requests.
	Pool           string
	Asked, Granted []netip.Addr
}

// ServiceObjectOf reads a LoadBalancer Service.
func ServiceObjectOf(o *unstructured.Unstructured) ServiceObject {
	s := ServiceObject{Labelled: LabelledOf("Service", o)}
	for _, u := range AddressUses(o) {
		if u.Granted {
			s.Granted = append(s.Granted, u.Address)
		} else {
			s.Asked = append(s.Asked, u.Address)
		}
	}
	annotations := o.GetAnnotations()
	for _, name := range []string{"address-pool", "ip-allocated-from-pool"} {
		for _, prefix := range []string{"metallb.universe.tf/", "metallb.io/"} {
			if pool := annotations[prefix+name]; pool != "" {
				s.Pool = pool
			}
			if key := annotations[prefix+"allow-shared-ip"]; key != "" {
				s.SharingKey = key
			}
		}
	}
	port := first(Field(o.Object, "spec"), "ports")
	protocol, _ := Field(port, "protocol").(string)
	s.Protocol = cmp.Or(lease.Protocol(protocol), lease.TCP)
	s.Port, s.ContainerPort = portNumber(Field(port, "port")), portNumber(Field(port, "targetPort"))
	s.Service, _ = Field(o.Object, "spec", "selector", lease.LabelService).(string)
	return s
}

// PoolObject is an IPAddressPool.
type PoolObject struct {
	Name string
	Ref  ObjectRef
	// Ours is true for a pool that this program created.
	Ours bool
	// Texts are the entries of spec.addresses, Ranges those of them that can be parsed.
	Texts  []string
	Ranges []config.Range
	// Assigned and Available are MetalLB's counts. MetalLB 0.15 and later report them; Counted is false if it does not.
	Assigned, Available int64
	Counted             bool
	// counts are the counts per family.
	counts map[config.Family]poolCount
}

type poolCount struct{ assigned, available int64 }

// Of returns the pool reduced to one family.
func (p PoolObject) Of(f config.Family) PoolObject {
	p.Assigned, p.Available = p.counts[f].assigned, p.counts[f].available
	p.Ranges = slices.DeleteFunc(slices.Clone(p.Ranges), func(r config.Range) bool { return config.FamilyOf(r.First) != f })
	return p
}

// PoolObjectOf reads an IPAddressPool.
func PoolObjectOf(o *unstructured.Unstructured) PoolObject {
	p := PoolObject{Name: o.GetName(), Ours: o.GetLabels()[lease.LabelOurs] == "true", Ref: ObjectRef{
		Kind: "ipaddresspool", Namespace: o.GetNamespace(), Name: o.GetName(),
		UID: string(o.GetUID()), ResourceVersion: o.GetResourceVersion(),
	}}
	p.Texts, _, _ = unstructured.NestedStringSlice(o.Object, "spec", "addresses")
	for _, text := range p.Texts {
		if r, err := config.ParseRange(text); err == nil {
			p.Ranges = append(p.Ranges, r)
		}
	}
	status := Field(o.Object, "status")
	p.counts = map[config.Family]poolCount{}
	for _, family := range []config.Family{config.IPv4, config.IPv6} {
		assigned, isCount := Field(status, "assigned"+string(family)).(int64)
		available, _ := Field(status, "available"+string(family)).(int64)
		p.counts[family] = poolCount{assigned, available}
		p.Counted = p.Counted || isCount
		p.Assigned, p.Available = Saturated(p.Assigned, assigned), Saturated(p.Available, available)
	}
	return p
}

// Saturated returns a+b, or math.MaxInt64 if the sum would overflow.
func Saturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
