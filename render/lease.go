// Package render converts a lease definition, the provider's configuration and the leased addresses to Kubernetes
// objects. It is pure: the same input gives the same bytes, whatever the cluster and the time.
package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// Addresses maps IP endpoints to their leased addresses, at most one per family.
type Addresses map[string][]netip.Addr

// Lease renders a lease. First come the routes, sorted by host and path: each with a ProviderHost if Akash's operators
// know the route, and with the other objects that it needs. Then come the leased ports, in the order of the services:
// each with a ProviderLeasedIP and its Service, or two Services if the port has an address of each family. An endpoint
// without an entry in addrs gets the addresses of the definition. The objects share label maps and must not be changed.
// The error is of type lease.Problems: missing addresses, and route settings that the target does not support.
func Lease(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses) ([]Object, error) {
	l := newLeased(def, cfg)
	objects := l.routeObjects()
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP == "" {
				continue
			}
			ports, problem := l.leasedPort(def, s.Name, e, addrs)
			if problem != nil {
				l.problems = append(l.problems, *problem)
			}
			objects = append(objects, ports...)
		}
	}
	if l.problems.Failed() {
		return nil, l.problems.Errors().Sorted()
	}
	annotateDNS(objects, def, cfg, addrs)
	return objects, nil
}

// Warnings returns what users should know about the routes that Lease renders: where a target interprets a setting
// slightly differently. Only definitions with route settings, wildcards, or options of the Gateway API have warnings.
func Warnings(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	all, warnings := routes(def, cfg), append(lease.Warnings(def), dnsWarnings(def, cfg)...)
	warns := func(r route) bool {
		return r.routing != nil || r.target == config.TargetHTTPRoute &&
			(r.wildcard() || cfg.Gateway.Implementation == config.GatewayStandard)
	}
	if !slices.ContainsFunc(all, warns) {
		return warnings
	}
	l := newLeased(def, cfg)
	l.findBackends(all)
	for _, r := range all {
		l.appendRoute(nil, r)
	}
	return append(warnings, l.problems.Warnings()...).Sorted()
}

// leasedPort renders the ProviderLeasedIP and the Services of one port.
func (l *leased) leasedPort(def *lease.Definition, service string, e lease.Expose, addrs Addresses) ([]Object, *lease.Problem) {
	ips, problem := addressesFor(def, l.cfg, addrs, e)
	if problem != nil {
		return nil, problem
	}
	services, problem := l.services(service, e, ips)
	if problem != nil {
		return nil, problem
	}
	return append([]Object{l.providerLeasedIP(service, e)}, services...), nil
}

// leased has what the objects of a lease share, and what is collected while rendering.
type leased struct {
	def       *lease.Definition
	id        lease.ID
	cfg       *config.ProviderConfig
	namespace string
	labels    map[string]string
	hash      string
	// internalLabels are the labels of routes that Akash's operators do not know; created on first use.
	internalLabels map[string]string
	// backends is how the Gateway connects to each Service; nil if no route re-encrypts.
	backends map[string]backendTLS
	// issued are the Secrets that cert-manager writes for an Ingress of the definition.
	issued   map[string]bool
	problems lease.Problems
}

func newLeased(def *lease.Definition, cfg *config.ProviderConfig) *leased {
	return &leased{
		def: def, id: def.Lease, cfg: cfg,
		namespace: def.Lease.Namespace(),
		labels:    def.Lease.Labels(),
		hash:      def.Hash,
		issued:    map[string]bool{},
	}
}

// addressesFor returns the addresses that the expose's Services request, IPv4 first; none in pool mode.
func addressesFor(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses, e lease.Expose) ([]netip.Addr,
	*lease.Problem) {
	if cfg.IP.Mode == config.ModePool {
		return nil, nil
	}
	ips := endpointAddresses(def, addrs, e.IP)
	endpoint := def.Endpoint(e.IP)
	at := e.IPAt
	if endpoint != nil {
		at = cmp.Or(endpoint.At, at)
	}
	if len(ips) == 0 {
		return nil, &lease.Problem{At: at, Message: fmt.Sprintf("IP endpoint %q has no address: "+
			"write one into the lease definition (spec.ipEndpoints[].addresses), "+
			"or let the ledger give one with --ledger cluster or --ledger DIR", e.IP)}
	}
	if len(ips) > 2 || len(ips) == 2 && ips[0].BitLen() == ips[1].BitLen() {
		return nil, &lease.Problem{At: at, Message: fmt.Sprintf(
			"IP endpoint %q has several addresses of one family (%v): at most one each of IPv4 and IPv6 can be leased", e.IP, ips)}
	}
	return ips, nil
}

func endpointAddresses(def *lease.Definition, addrs Addresses, name string) []netip.Addr {
	ips := addrs[name]
	if endpoint := def.Endpoint(name); len(ips) == 0 && endpoint != nil {
		ips = endpoint.Addresses
	}
	if slices.IsSortedFunc(ips, netip.Addr.Compare) {
		return ips
	}
	return slices.SortedFunc(slices.Values(ips), netip.Addr.Compare)
}

// Object is a rendered object, as server-side apply sends it, without empty fields.
type Object struct {
	Kind            kinds.Kind
	Namespace, Name string
	// Config is an apply configuration, or a struct of this package for a kind whose Go module is not worth the
	// dependency. It marshals to the whole object.
	Config any
}

// MarshalJSON returns the object as it is sent to the API server.
func (o Object) MarshalJSON() ([]byte, error) { return json.Marshal(o.Config) }

// String returns kind/name, as kubectl prints an object.
func (o Object) String() string { return o.Kind.Singular + "/" + o.Name }

// Converted returns an object that Look need not convert any more.
func Converted(o Object) Object {
	o.Config = Rendered(o)
	return o
}

// Look is Rendered for somebody who changes nothing of it.
func Look(o Object) *unstructured.Unstructured {
	if u, ok := o.Config.(*unstructured.Unstructured); ok {
		return u
	}
	return Rendered(o)
}

// Rendered converts an object to the form in which the API server returns it. Rendered objects are plain JSON.
func Rendered(o Object) *unstructured.Unstructured {
	if u, ok := o.Config.(*unstructured.Unstructured); ok {
		return u.DeepCopy()
	}
	body, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(o.Config)
	return &unstructured.Unstructured{Object: body}
}

// Annotated returns a copy of a rendered object with an annotation.
func Annotated(o Object, name, value string) Object {
	body := Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	body.SetAnnotations(annotations)
	o.Config = body
	return o
}

// OptionsOf returns the annotations in which Akash's programs write the HTTP options of an Ingress or an HTTPRoute.
func OptionsOf(kind kinds.Kind, o lease.HTTPOptions) map[string]string {
	prefix, size := nginxPrefix, "proxy-body-size"
	if kind == kinds.HTTPRoute {
		prefix, size = gatewayPrefix, "client-max-body-size"
	}
	a := map[string]string{
		prefix + size:                        strconv.FormatUint(uint64(o.MaxBodySize), 10),
		prefix + "proxy-read-timeout":        seconds(o.ReadTimeout),
		prefix + "proxy-send-timeout":        seconds(o.SendTimeout),
		prefix + "proxy-next-upstream-tries": strconv.FormatUint(uint64(o.NextTries), 10),
		prefix + "proxy-next-upstream":       nextCases(o.NextCases),
	}
	switch {
	case kind != kinds.HTTPRoute:
		a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout)
	case o.NextTimeout > 0:
		a[prefix+"proxy-next-upstream-timeout"] = seconds(o.NextTimeout) + "s"
	}
	return a
}

// Kinds returns the kinds of objects that Lease, Pools and Records render for a definition, whatever its addresses.
func Kinds(def *lease.Definition, cfg *config.ProviderConfig) []kinds.Kind {
	var all []kinds.Kind
	add := func(these ...kinds.Kind) {
		for _, k := range these {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	routes := newLeased(def, cfg).routeObjects()
	for _, o := range routes {
		add(o.Kind)
	}
	leased := slices.ContainsFunc(def.Services, func(s lease.Service) bool {
		return slices.ContainsFunc(s.Expose, func(e lease.Expose) bool { return e.IP != "" })
	})
	if leased {
		add(kinds.ProviderLeasedIP, kinds.Service)
		if cfg.IP.Mode != config.ModePool {
			add(kinds.WrittenPools(cfg)...)
		}
	}
	if len(routes) > 0 || leased {
		add(kinds.WrittenRecords(cfg)...)
	}
	return all
}

// custom is an object of a kind whose Go module is not worth the dependency.
type custom[S any] struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   Meta   `json:"metadata"`
	Spec       S      `json:"spec"`
}

// Meta is the metadata of such an object.
type Meta struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
}

// NewCustom returns an object of a kind whose Go module is not worth the dependency.
func NewCustom[S any](k kinds.Kind, m Meta, spec S) Object {
	return Object{Kind: k, Namespace: m.Namespace, Name: m.Name, Config: &custom[S]{
		APIVersion: k.GroupVersion().String(),
		Kind:       k.Kind,
		Metadata:   m,
		Spec:       spec,
	}}
}

// annotations returns the annotations that every object of the lease has, in a new map.
func (l *leased) annotations() map[string]string {
	a := make(map[string]string, 8)
	if l.hash != "" {
		a[lease.AnnotationDefinition] = l.hash
	}
	return a
}

// labelsAnd returns the labels of the lease and further labels, given as name, value, ….
func (l *leased) labelsAnd(pairs ...string) map[string]string {
	all := maps.Clone(l.labels)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = pairs[i+1]
	}
	return all
}
