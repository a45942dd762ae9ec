package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
	"k8s.io/apimachinery/pkg/util/validation"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	netac "k8s.io/client-go/applyconfigurations/networking/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// Published maps hosts to their targets, taken from the status of routes, Gateways and Services in the cluster.
type Published map[string]dns.Target

// DNS is the result of rendering the DNS records of a lease.
type DNS struct {
	// Objects are DNSRecords or DNSEndpoints, sorted by host. Forms without objects of their own have none.
	Objects []Object
	// Unknown are the hosts whose value is neither configured nor published yet.
	Unknown []UnknownHost
}

// UnknownHost is a host whose record has no value yet, with the source of the value.
type UnknownHost struct {
	lease.Host
	Source string
	// Target is the kind of the host's route.
	Target string
	// Endpoint is the IP endpoint with the address, if the source is an address.
	Endpoint string
}

// Lacks describes what the record of a host waits for.
func (h UnknownHost) Lacks(cfg *config.ProviderConfig) string {
	switch {
	case h.Source == config.FromAddress:
		return "its record is written once MetalLB has granted an address; apply again"
	case h.Target == config.TargetRoute:
		return "its record is written once a router has said in the Route's status where it is reached; apply again"
	case h.Target == config.TargetHTTPRoute:
		g := cfg.Gateway
		return fmt.Sprintf("its record is written once Gateway %s/%s has an address in its status; apply again", g.Namespace, g.Name)
	}
	return "its record is written once the ingress controller has said in the Ingress' status where it is reached; apply again"
}

// Records renders the DNS records of a lease. Each host that is served gets records from the first configured source
// that applies to it; hosts that are only reserved get none. The error is of type lease.Problems.
func Records(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses, published Published) (DNS, error) {
	l := newLeased(def, cfg)
	var out DNS
	var problems lease.Problems
	for _, h := range namedHosts(def, cfg) {
		target := h.target(def, cfg, addrs, published)
		if problem := h.unwritable(cfg); problem != "" {
			problems.Add(h.At, "%s: %s", h.Name, problem)
			continue
		}
		records := target.Records(h.Name, cfg.DNS.TTL)
		if cfg.DNS.Ownership {
			records = append(records, dns.Owner(h.Name, def.Lease.String(), cfg.DNS.TTL))
		}
		if err := errors.Join(dns.CheckAll(records), checkApex(records, cfg)); err != nil && cfg.DNS.Records() {
			problems.Add(h.At, "the DNS records of %s: %s", h.Name, strings.ReplaceAll(err.Error(), "\n", "; "))
			continue
		}
		switch {
		case !cfg.DNS.Records():
		case target.Empty():
			unknown := UnknownHost{Host: h.Host, Source: h.source, Target: h.kind}
			if h.source == config.FromAddress {
				unknown.Endpoint = h.endpoint
			}
			out.Unknown = append(out.Unknown, unknown)
		case cfg.DNS.Form == config.DNSGardener:
			for _, r := range records {
				out.Objects = append(out.Objects, l.dnsRecord(h.Name, r))
			}
		default:
			out.Objects = append(out.Objects, l.dnsEndpoint(h.Name, records))
		}
	}
	if len(problems) > 0 {
		return DNS{}, problems
	}
	return out, nil
}

// checkApex rejects a CNAME record for a zone's own name: the zone's SOA and NS records have the same name, and a CNAME
// excludes all other records.
func checkApex(records []dns.Record, cfg *config.ProviderConfig) error {
	for _, r := range records {
		apex := func(z config.Zone) bool { return z.Domain == r.Name }
		if r.Type == dns.CNAME && slices.ContainsFunc(cfg.DNS.Gardener.Zones, apex) {
			return fmt.Errorf("%s is a zone of dns.gardener.zones, and a zone's own name can have no CNAME record (to %s), only "+
				"addresses: "+
				"name them in dns.targets, or lease one for its service with the source address", r.Name, strings.Join(r.Values, ", "))
		}
	}
	return nil
}

// namedHost is a host that gets records.
type namedHost struct {
	lease.Host
	source string
	// endpoint is the IP endpoint that its service leases, or empty.
	endpoint string
	routed   bool
	// kind is the kind of its route, one of config.Target….
	kind string
}

// namedHosts returns the hosts that are served, sorted and without duplicates.
func namedHosts(def *lease.Definition, cfg *config.ProviderConfig) []namedHost {
	if cfg.DNS.Form == config.DNSNone {
		return nil
	}
	var all []namedHost
	add := func(h lease.Host, routed bool, endpoint, kind string) {
		if source := cfg.DNS.Source(routed, endpoint != ""); source != "" {
			all = append(all, namedHost{h, source, endpoint, routed, cmp.Or(kind, cfg.Target)})
		}
	}
	for _, s := range def.Services {
		leased := ""
		for _, e := range s.Expose {
			leased = cmp.Or(leased, e.IP)
		}
		for _, e := range s.Expose {
			endpoint := e.IP
			if e.IsIngress() {
				endpoint = cmp.Or(e.IP, leased)
			}
			for _, h := range e.Hosts {
				add(h, e.IsIngress(), endpoint, s.Target)
			}
		}
		for _, own := range cfg.OwnHosts(def.Lease, &s) {
			add(lease.Host{Name: own.Host, At: s.At}, true, cmp.Or(own.Expose.IP, leased), s.Target)
		}
	}
	slices.SortStableFunc(all, func(a, b namedHost) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b namedHost) bool { return a.Name == b.Name })
}

// target returns the target of the host, which is empty if it is not known yet. In pool mode MetalLB chooses the
// address, whatever the definition requests.
func (h namedHost) target(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses, published Published) dns.Target {
	switch h.source {
	case config.FromTarget:
		return dns.ParseTarget(cfg.DNS.Targets)
	case config.FromDomain:
		return dns.Target{Host: cfg.Ingress.Domain}
	case config.FromAddress:
		if cfg.IP.Mode != config.ModePool {
			return dns.Target{Addresses: slices.Clone(endpointAddresses(def, addrs, h.endpoint))}
		}
	}
	return published[h.Name]
}

// unwritable returns the reason why annotations cannot express the host's target, or "".
func (h namedHost) unwritable(cfg *config.ProviderConfig) string {
	switch {
	case cfg.DNS.Form != config.DNSAnnotations || !h.routed:
	case h.kind == config.TargetRoute && (h.source != config.FromStatus || cfg.DNS.TTL > 0):
		return "Routes get no external-dns annotations, for a Route names its host and its target by itself: leave out dns.ttl and " +
			"use dns.sources [status], or use dns.form endpoint"
	case h.source == config.FromStatus:
	case h.kind == config.TargetHTTPRoute:
		return "external-dns takes the target of an HTTPRoute from its Gateway alone; use dns.sources [status], or dns.form endpoint"
	case h.source == config.FromAddress && cfg.IP.Mode == config.ModePool:
		return "MetalLB chooses its address (ip.mode: pool), so that no annotation can name it; use dns.form endpoint"
	}
	return ""
}

// dnsRecordSpec is the spec of Gardener's DNSRecord (gardener: pkg/apis/extensions/v1alpha1).
type dnsRecordSpec struct {
	Class      string    `json:"class,omitempty"`
	Name       string    `json:"name"`
	RecordType string    `json:"recordType"`
	Region     string    `json:"region,omitempty"`
	SecretRef  secretRef `json:"secretRef"`
	TTL        int64     `json:"ttl,omitempty"`
	Type       string    `json:"type"`
	Values     []string  `json:"values"`
	Zone       string    `json:"zone,omitempty"`
}

type secretRef struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// dnsRecord renders one record for Gardener. The object's name contains the type, because the type of a DNSRecord is
// immutable.
func (l *leased) dnsRecord(host string, r dns.Record) Object {
	g := l.cfg.DNS.Gardener
	access := g.Access(strings.TrimPrefix(r.Name, "*."))
	return NewCustom(kinds.DNSRecord, l.dnsMeta(host, "-"+strings.ToLower(string(r.Type))), dnsRecordSpec{
		Class: g.Class, Name: r.Name, RecordType: string(r.Type), Region: access.Region,
		SecretRef: secretRef{access.Secret.Name, access.Secret.Namespace},
		TTL:       r.TTL, Type: g.Type, Values: r.Values, Zone: access.Zone,
	})
}

// dnsEndpointSpec is the spec of external-dns' DNSEndpoint (external-dns: endpoint/endpoint.go).
type dnsEndpointSpec struct {
	Endpoints []endpoint `json:"endpoints"`
}

type endpoint struct {
	DNSName    string   `json:"dnsName"`
	RecordTTL  int64    `json:"recordTTL,omitempty"`
	RecordType string   `json:"recordType"`
	Targets    []string `json:"targets"`
}

// dnsEndpoint renders all records of a host for external-dns.
func (l *leased) dnsEndpoint(host string, records []dns.Record) Object {
	var spec dnsEndpointSpec
	for _, r := range records {
		spec.Endpoints = append(spec.Endpoints, endpoint{r.Name, r.TTL, string(r.Type), r.Values})
	}
	return NewCustom(kinds.DNSEndpoint, l.dnsMeta(host, ""), spec)
}

// dnsMeta returns metadata with a name made of the host and the suffix, or of the host's hash if that would be too
// long.
func (l *leased) dnsMeta(host, suffix string) Meta {
	name := dns.Plain(host) + suffix
	if len(name) > validation.DNS1123SubdomainMaxLength {
		name = lease.Hash(host) + suffix
	}
	a := l.annotations()
	a[lease.AnnotationHost] = host
	return Meta{Annotations: a, Labels: l.labelsAnd(lease.LabelOurs, "true"), Name: name, Namespace: l.namespace}
}

// annotateDNS annotates the objects that serve hosts for external-dns, if the configuration uses annotations. Routes
// already contain their hosts, and their status has the target unless another source is configured. Services get the
// hosts that have no route.
func annotateDNS(objects []Object, def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses) {
	if cfg.DNS.Form != config.DNSAnnotations {
		return
	}
	hosts := namedHosts(def, cfg)
	for _, o := range objects {
		switch c := o.Config.(type) {
		case *netac.IngressApplyConfiguration:
			a := external(cfg)
			i := slices.IndexFunc(hosts, func(h namedHost) bool { return slices.ContainsFunc(c.Spec.Rules, servesHost(h.Name)) })
			if i >= 0 && hosts[i].source != config.FromStatus {
				if values := targetText(hosts[i].target(def, cfg, addrs, nil)); values != "" {
					a.set("target", values)
				}
			}
			c.WithAnnotations(a.entries)
		case *gwac.HTTPRouteApplyConfiguration:
			c.WithAnnotations(external(cfg).entries)
		case *coreac.ServiceApplyConfiguration:
			if names := hostsOf(o.Name, def, hosts); len(names) > 0 {
				a := external(cfg)
				a.set("hostname", strings.Join(names, ","))
				c.WithAnnotations(a.entries)
			}
		}
	}
}

func servesHost(host string) func(netac.IngressRuleApplyConfiguration) bool {
	return func(r netac.IngressRuleApplyConfiguration) bool { return r.Host != nil && *r.Host == host }
}

// hostsOf returns the hosts without a route that the Service of a leased port serves.
func hostsOf(service string, def *lease.Definition, hosts []namedHost) []string {
	var names []string
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP == "" || strings.TrimSuffix(service, lease.SecondFamilySuffix) != lease.IPServiceName(s.Name, e.ExternalPort(), e.Protocol) {
				continue
			}
			for _, h := range e.Hosts {
				if slices.ContainsFunc(hosts, func(n namedHost) bool { return n.Name == h.Name && !n.routed }) {
					names = append(names, h.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// externalAnnotations are annotations with external-dns' prefix.
type externalAnnotations struct {
	prefix  string
	entries map[string]string
}

// external returns the annotations of every annotated object.
func external(cfg *config.ProviderConfig) externalAnnotations {
	a := externalAnnotations{cfg.DNS.AnnotationPrefix + "/", map[string]string{}}
	if cfg.DNS.TTL > 0 {
		a.set("ttl", strconv.FormatInt(cfg.DNS.TTL, 10))
	}
	return a
}

func (a externalAnnotations) set(name, value string) { a.entries[a.prefix+name] = value }

// targetText lists a target's values. external-dns creates A, AAAA and CNAME records from them.
func targetText(t dns.Target) string {
	var values []string
	for _, r := range t.Records("", 0) {
		values = append(values, r.Values...)
	}
	return strings.Join(values, ",")
}

// ownerPrefix is what external-dns puts before a name that has a CNAME record, for the TXT record that says that it is its own
// (external-dns: docs/registry/txt.md).
const ownerPrefix = "cname-"

// dnsWarnings tells of host names whose CNAME record a zone, or external-dns, cannot have.
func dnsWarnings(def *lease.Definition, cfg *config.ProviderConfig) (warnings lease.Problems) {
	for _, h := range namedHosts(def, cfg) {
		to := h.target(def, cfg, nil, nil).Host
		if to == "" {
			continue // addresses, or what the cluster publishes
		}
		if registered, err := publicsuffix.EffectiveTLDPlusOne(h.Name); err == nil && registered == h.Name {
			warnings.Warn(h.At, "%s is a registered domain, and its zone's own name can have no CNAME record (to %s), only addresses: name them in "+
				"dns.targets, or lease one for its service with the source address", h.Name, to)
		}
		label, _, _ := strings.Cut(h.Name, ".")
		if cfg.DNS.Form != config.DNSGardener && len(ownerPrefix+label) > validation.DNS1123LabelMaxLength {
			warnings.Warn(h.At, "external-dns cannot own %s: before the name of its TXT record it puts %q, and a label has at most %d characters; use a "+
				"first label of at most %d", h.Name, ownerPrefix, validation.DNS1123LabelMaxLength, validation.DNS1123LabelMaxLength-len(ownerPrefix))
		}
	}
	return warnings
}
