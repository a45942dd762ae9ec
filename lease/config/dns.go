package config

import "github.com/akash-net/kubectl-akash-net/lease/dns"

// The forms of DNS records.
const (
	// DNSNone makes no records.
	DNSNone = "none"
	// DNSGardener makes DNSRecords, which Gardener's extensions serve.
	DNSGardener = "gardener"
	// DNSEndpoint makes DNSEndpoints, which external-dns serves.
	DNSEndpoint = "endpoint"
	// DNSAnnotations tells external-dns by annotations on routes and Services.
	DNSAnnotations = "annotations"
)

// The sources of a record's value.
const (
	// FromAddress is the address that the host's service leases.
	FromAddress = "address"
	// FromStatus is where the ingress controller, or the Gateway, says that it is reached.
	FromStatus = "status"
	// FromTarget is what the configuration names.
	FromTarget = "target"
	// FromDomain is the provider's ingress domain, as a CNAME.
	FromDomain = "domain"
)

// DNS says which DNS records the hosts of leases get.
type DNS struct {
	Form string
	// Sources are where a value comes from: the first that applies to a host counts, also while it
	// has no value yet.
	Sources []string
	// Targets are addresses or one host name.
	Targets []string
	// TTL is in seconds; 0 leaves it to whoever serves the record.
	TTL int64
	// Ownership adds a TXT record that names the lease.
	Ownership bool
	// AnnotationPrefix is external-dns', without the slash.
	AnnotationPrefix string
	Gardener         Gardener
}

// Gardener is what a DNSRecord says beside the record.
type Gardener struct {
	// Type is the provider's extension, such as aws-route53.
	Type, Class string
	ZoneAccess
	// Zones are those of which the longest that a host is in is taken.
	Zones []Zone
}

// ZoneAccess is how a zone is written to. Of a Zone, what is empty is as for all.
type ZoneAccess struct {
	// Secret names the Secret with the credentials; it may be in any namespace.
	Secret SecretRef
	Region string
	// Zone is the provider's identifier; without it the extension searches for the zone.
	Zone string
}

// SecretRef names a Secret.
type SecretRef struct{ Name, Namespace string }

// Zone is a domain with its own access.
type Zone struct {
	Domain string
	ZoneAccess
}

// Records is true for the forms in which records are objects of their own.
func (d DNS) Records() bool { return d.Form == DNSGardener || d.Form == DNSEndpoint }

// Source is where the value of a host comes from: routed is true for a host with a route, leased
// for one whose service leases an address. It is empty for a host that leads nowhere. A host
// without a route has the address, whatever the sources: nothing else leads to it.
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

// Access is how the zone of a name is written to.
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
