package config

import "github.com/akash-net/kubectl-akash-net/lease/dns"

// The forms of DNS records.
const (
	// DNSNone creates no records.
	DNSNone = "none"
	// DNSGardener creates DNSRecords for Gardener's extensions.
	DNSGardener = "gardener"
	// DNSEndpoint creates DNSEndpoints for external-dns.
	DNSEndpoint = "endpoint"
	// DNSAnnotations annotates routes and Services for external-dns.
	DNSAnnotations = "annotations"
)

// The sources of a record's value.
const (
	// FromAddress is the leased address of the host's service.
	FromAddress = "address"
	// FromStatus is the address in the status of the ingress controller or the Gateway.
	FromStatus = "status"
	// FromTarget is the configured target.
	FromTarget = "target"
	// FromDomain is the provider's ingress domain, as a CNAME.
	FromDomain = "domain"
)

// DNS configures the DNS records of hosts.
type DNS struct {
	Form string
	// Sources are the sources of a record's value. The first source that applies to a host is used, even while it has
	// no value yet.
	Sources []string
	// Targets are addresses or one host name.
	Targets []string
	// TTL is in seconds; 0 means the default of the record's provider.
	TTL int64
	// Ownership adds a TXT record that names the lease.
	Ownership bool
	// AnnotationPrefix is the prefix of external-dns' annotations, without the slash.
	AnnotationPrefix string
	Gardener         Gardener
}

// Gardener has the fields of a DNSRecord besides the record itself.
type Gardener struct {
	// Type is the type of the DNS provider's extension, such as aws-route53.
	Type, Class string
	ZoneAccess
	// Zones override the access per domain; the longest domain that contains the host is used.
	Zones []Zone
}

// ZoneAccess is how to write to a zone. Empty fields of a Zone fall back to Gardener's.
type ZoneAccess struct {
	// Secret is the Secret with the credentials, in any namespace.
	Secret SecretRef
	Region string
	// Zone is the DNS provider's identifier of the zone; without it the extension searches for the zone.
	Zone string
}

// SecretRef refers to a Secret.
type SecretRef struct{ Name, Namespace string }

// Zone is a domain with access of its own.
type Zone struct {
	Domain string
	ZoneAccess
}

// Records reports whether the records are objects of their own.
func (d DNS) Records() bool { return d.Form == DNSGardener || d.Form == DNSEndpoint }

// Source returns the source of a host's value, or "" if the host is not served. routed is true if the host has a route,
// leased if its service leases an address. A host without a route always uses the address, because nothing else serves
// it.
func (d DNS) Source(routed, leased bool) string {
	switch {
	case !routed && leased:
		return FromAddress
	case !routed:
		return ""
	}
	for _, s := range d.Sources {
		if s != FromAddress || leased {
			return s
		}
	}
	return ""
}

// Access returns how to write to the zone of a name.
func (g Gardener) Access(name string) ZoneAccess {
	domains := make([]string, len(g.Zones))
	for i, z := range g.Zones {
		domains[i] = z.Domain
	}
	access := g.ZoneAccess
	i := dns.Zone(name, domains)
	if i < 0 {
		return access
	}
	own := g.Zones[i].ZoneAccess
	access.Zone = own.Zone
	if own.Region != "" {
		access.Region = own.Region
	}
	if own.Secret != (SecretRef{}) {
		access.Secret = own.Secret
	}
	return access
}
