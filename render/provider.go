package render

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/manifest"
)

// providerHostSpec is the spec of Akash's ProviderHost (provider: pkg/apis/akash.network/v2beta2/provider_host.go).
// Here DSeq is a number.
type providerHostSpec struct {
	DSeq         uint64 `json:"dseq"`
	ExternalPort uint16 `json:"external_port"`
	GSeq         uint32 `json:"gseq"`
	Hostname     string `json:"hostname"`
	OSeq         uint32 `json:"oseq"`
	Owner        string `json:"owner"`
	Provider     string `json:"provider"`
	ServiceName  string `json:"service_name"`
}

// providerHost renders the object through which Akash's hostname operator knows the host. It is named after the host,
// so a second one cannot exist.
func (l *leased) providerHost(r route) Object {
	return NewCustom(kinds.ProviderHost, Meta{
		Annotations: l.annotations(),
		Labels:      l.labels,
		Name:        r.host,
		Namespace:   l.cfg.ManifestNamespace,
	}, providerHostSpec{
		DSeq:         l.id.DSeq,
		ExternalPort: r.port,
		GSeq:         l.id.GSeq,
		Hostname:     r.host,
		OSeq:         l.id.OSeq,
		Owner:        l.id.Owner,
		Provider:     l.id.Provider,
		ServiceName:  r.service,
	})
}

// providerLeasedIPSpec is the spec of Akash's ProviderLeasedIP (provider:
// pkg/apis/akash.network/v2beta2/provider_lease_ip.go).
type providerLeasedIPSpec struct {
	ExternalPort uint16           `json:"external_port"`
	LeaseID      manifest.LeaseID `json:"lease_id"`
	Port         uint16           `json:"port"`
	Protocol     lease.Protocol   `json:"protocol"`
	ServiceName  string           `json:"service_name"`
	SharingKey   string           `json:"sharing_key"`
}

// providerLeasedIP renders the object through which Akash's IP operator knows the leased port. The last three labels
// have no prefix, as in Akash's own objects.
func (l *leased) providerLeasedIP(service string, e lease.Expose) Object {
	key := lease.SharingKey(l.id.Owner, e.IP)
	return NewCustom(kinds.ProviderLeasedIP, Meta{
		Annotations: l.annotations(),
		Labels: l.labelsAnd(
			"service-name", service,
			"external-port", strconv.Itoa(int(e.ExternalPort())),
			"proto", string(e.Protocol)),
		Name:      lease.LeasedIPName(key, e.Protocol, e.ExternalPort()),
		Namespace: l.cfg.ManifestNamespace,
	}, providerLeasedIPSpec{
		ExternalPort: e.ExternalPort(),
		LeaseID:      manifest.NewLeaseID(l.id),
		Port:         e.Port,
		Protocol:     e.Protocol,
		ServiceName:  service,
		SharingKey:   key,
	})
}

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

// poolSpec has the fields of an IPAddressPool's spec that are written. AutoAssign is false, so that only Services that
// request an address get one.
type poolSpec struct {
	Addresses  []string `json:"addresses"`
	AutoAssign bool     `json:"autoAssign"`
}

// advertisementSpec has the fields of the specs of both kinds of advertisements. The configuration has only those of one kind.
type advertisementSpec struct {
	IPAddressPools      []string               `json:"ipAddressPools"`
	NodeSelectors       []metav1.LabelSelector `json:"nodeSelectors,omitempty"`
	Interfaces          []string               `json:"interfaces,omitempty"`
	Peers               []string               `json:"peers,omitempty"`
	Communities         []string               `json:"communities,omitempty"`
	LocalPref           uint32                 `json:"localPref,omitempty"`
	AggregationLength   int                    `json:"aggregationLength,omitempty"`
	AggregationLengthV6 int                    `json:"aggregationLengthV6,omitempty"`
}

// Pools renders the IPAddressPools that serve the addresses, each followed by its advertisement: one pair per
// configured range in range mode, one per address in dedicated mode, none in pool mode. Leases share them, so they
// belong to no lease. It returns an error for an address that no pool can serve.
func Pools(cfg *config.ProviderConfig, addrs []netip.Addr) ([]Object, error) {
	if cfg.IP.Mode == config.ModePool {
		return nil, nil
	}
	addrs = slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
	var objects []Object
	done := map[string]bool{}
	for _, a := range addrs {
		name, ok := cfg.PoolFor(a)
		if !ok {
			return nil, fmt.Errorf("address %s is in none of the provider's ranges: "+
				"add it to spec.ip.ranges of the configuration, or lease another (configured: %s)", a, describe(cfg.IP.Ranges))
		}
		if done[name] {
			continue
		}
		done[name] = true
		ranges := []config.Range{{First: a, Last: a}}
		if cfg.IP.Mode == config.ModeRange {
			configured, _ := cfg.IP.Ranges.Find(a)
			ranges = cfg.IP.Ranges.Pieces(configured)
		}
		objects = append(objects, PoolPair(cfg, name, ranges)...)
	}
	return objects, nil
}

// RangePools renders the pools of all configured ranges, except ranges that are excluded completely.
func RangePools(cfg *config.ProviderConfig) ([]Object, error) {
	var addresses []netip.Addr
	for _, r := range cfg.IP.Ranges.Include {
		if pieces := cfg.IP.Ranges.Pieces(r); len(pieces) > 0 {
			addresses = append(addresses, pieces[0].First)
		}
	}
	return Pools(cfg, addresses)
}

// Pool renders an IPAddressPool with the addresses of ranges.
func Pool(cfg *config.ProviderConfig, name string, ranges []config.Range) Object {
	return NewCustom(kinds.IPAddressPool, poolMeta(cfg, name), poolSpec{Addresses: texts(ranges)})
}

// PoolPair renders an IPAddressPool with the addresses of ranges, and its advertisement.
func PoolPair(cfg *config.ProviderConfig, name string, ranges []config.Range) []Object {
	a := cfg.IP.Advertisement
	spec := advertisementSpec{
		IPAddressPools: []string{name}, NodeSelectors: a.NodeSelectors, Interfaces: a.Interfaces, Peers: a.Peers, Communities: a.Communities,
		LocalPref: a.LocalPref,
	}
	if a.Type == config.AdvertiseBGP {
		spec.AggregationLength, spec.AggregationLengthV6 = a.AggregationLength, a.AggregationLengthV6
	}
	return []Object{Pool(cfg, name, ranges), NewCustom(kinds.AdvertisementOf(cfg), poolMeta(cfg, name), spec)}
}

func poolMeta(cfg *config.ProviderConfig, name string) Meta {
	return Meta{Labels: map[string]string{lease.LabelOurs: "true"}, Name: name, Namespace: cfg.IP.MetalLBNamespace}
}

// texts returns ranges in MetalLB's format.
func texts(ranges []config.Range) (out []string) {
	for _, r := range ranges {
		out = append(out, r.MetalLB())
	}
	return out
}

// describe lists the configured ranges for a message.
func describe(ranges config.Ranges) string {
	all := texts(ranges.Include)
	for _, text := range texts(ranges.Exclude) {
		all = append(all, "!"+text)
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}
