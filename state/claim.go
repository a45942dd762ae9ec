// Package state holds the rules of the ledger: what a lease must hold, who holds what, which claims may be taken, which
// address comes next, and what objects in the cluster say about hosts and addresses. It is pure: package apply reads
// the cluster for it and carries out what it decides. Package view builds the book that people read from it; package
// diagnose finds and explains problems.
package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Kind is the kind of thing that a claim is for.
type Kind string

// The kinds of claim, in the order in which a run takes them.
const (
	Address Kind = "address"
	// Endpoint is an IP endpoint whose addresses MetalLB chooses. The claim is on its sharing key.
	Endpoint Kind = "endpoint"
	Host     Kind = "host"
	Wildcard Kind = "wildcard"
)

// HasPorts reports whether the parts of a claim of the kind are ports.
func (k Kind) HasPorts() bool { return k == Address || k == Endpoint }

// Labels and annotations of a claim.
const (
	LabelKind  = lease.Domain + "/kind"
	LabelOwner = lease.Domain + "/owner"

	AnnotationLedger     = lease.Domain + "/ledger"
	AnnotationSharingKey = lease.Domain + "/sharing-key"

	routePrefix = "route." + lease.Domain + "/"
	PortPrefix  = "port." + lease.Domain + "/"
	waitPrefix  = "wait." + lease.Domain + "/"

	// LedgerVersion is the only version of the ledger that this program reads and writes.
	LedgerVersion = "v1"
)

// Limits of one claim: the annotations of an object have at most 256 KiB, and each field manager makes a write slower
// (10 managers: 2.7 ms, 100 managers: 100 ms).
const (
	MaxGroups = 100
	MaxParts  = 500
)

// Claim gives one owner exclusive use of a host, a wildcard, an address or an IP endpoint. Deployment groups of the
// owner hold its parts. A claim is stored in the metadata of a Lease object.
type Claim struct {
	Kind Kind
	// Thing is the claimed host name, the address in its shortest form, or the sharing key.
	Thing string
	// Owner is the only owner whose deployment groups may hold parts.
	Owner string
	// SharingKey identifies the IP endpoint of an address or endpoint claim. It is empty for a host.
	SharingKey string
	// Parts are the parts that are held, sorted by key. A claim without parts is free.
	Parts []Part
	// Waits are the parts that deployment groups of the owner asked for while another group of the owner held them.
	// They are notes and hold nothing.
	Waits []Part

	UID             types.UID
	ResourceVersion string
	// Unmanaged are the deployment groups that hold parts but whose field managers own nothing on the claim: it was
	// restored from a backup. No decision depends on it.
	Unmanaged []lease.Group
	// Former are the deployment groups whose field managers own fields of the claim although they hold nothing of it: a transfer has
	// not removed them yet. No decision on who holds what depends on it.
	Former []lease.Group
	// Created is when the claim was created, by the API server's clock.
	Created time.Time
	// Updated is the time of the last write according to the managed fields.
	Updated time.Time
	// Deleting is true for a claim with a deletion timestamp. It no longer counts as a claim, but its name is not free
	// yet.
	Deleting bool
	// Finalizers delay the deletion of the claim, and so keep its name in use.
	Finalizers []string
	// AtWork describes the run that has taken parts of the claim and has not ended. Only Meet sets it.
	AtWork string
	// Unreadable says why the claim cannot be read. Nobody may take or use such a claim.
	Unreadable string
}

// Name returns the name of the Lease object.
func (c *Claim) Name() string {
	if c.Kind == Address {
		if a, err := netip.ParseAddr(c.Thing); err == nil {
			return AddressName(a)
		}
	}
	if c.Kind == Endpoint {
		return EndpointName(c.SharingKey)
	}
	return HostName(c.Thing)
}

// Addr returns the claimed address, or the zero Addr for a host.
func (c *Claim) Addr() netip.Addr {
	a, _ := netip.ParseAddr(c.Thing)
	return a
}

// Part returns the part with the key, or nil.
func (c *Claim) Part(key string) *Part {
	if c == nil {
		return nil
	}
	if i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Key == key }); i >= 0 {
		return &c.Parts[i]
	}
	return nil
}

// PartsOf returns the parts that the deployment group holds.
func (c *Claim) PartsOf(g lease.Group) []Part {
	if c == nil {
		return nil
	}
	return partsOf(c.Parts, g)
}

// partsOf returns the parts of the deployment group.
func partsOf(parts []Part, g lease.Group) []Part {
	var out []Part
	for _, p := range parts {
		if p.Lease.Group() == g {
			out = append(out, p)
		}
	}
	return out
}

// SaysAs reports whether two readings of a claim (nil if it does not exist) have the same owner and the same parts,
// with their holders, backends and marks.
func (c *Claim) SaysAs(other *Claim) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.UID == other.UID && c.Owner == other.Owner && c.SharingKey == other.SharingKey && c.Deleting == other.Deleting &&
		c.Unreadable == other.Unreadable && slices.EqualFunc(c.Parts, other.Parts, Part.Same)
}

// Entries returns everything that the deployment group has written on the claim: the parts that it holds and those that
// it waits for.
func (c *Claim) Entries(g lease.Group) []Part {
	if c == nil {
		return nil
	}
	return append(partsOf(c.Parts, g), partsOf(c.Waits, g)...)
}

// Groups returns the deployment groups that hold a part, sorted.
func (c *Claim) Groups() []lease.Group {
	var out []lease.Group
	for _, p := range c.Parts {
		if g := p.Lease.Group(); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, lease.Group.Compare)
	return out
}

// Writers returns the deployment groups that hold a part or wait for one, each once.
func (c *Claim) Writers() []lease.Group {
	out := c.Groups()
	for _, w := range c.Waits {
		if g := w.Lease.Group(); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// Marked reports whether a part has the mark of a run that has not ended or has crashed.
func (c *Claim) Marked() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Run != "" })
}

// Margin is the clock skew that is tolerated between API servers.
const Margin = 5 * time.Second

// Ended reports whether every part of the claim is a hold that has expired. One that cannot be read never ends.
func (c *Claim) Ended(now time.Time) bool {
	return c.Unreadable == "" && len(c.Parts) > 0 && !slices.ContainsFunc(c.Parts, func(p Part) bool { return !c.PartEnded(p, now) })
}

// PartEnded reports whether a part has ended: one of a pending wildcard also if no run can have announced it.
func (c *Claim) PartEnded(p Part, now time.Time) bool {
	return p.Ended(now) || c.Kind == Wildcard && !c.Bound() && p.Lapsed(now)
}

// Bound reports whether the claim is a wildcard that excludes the hosts of other owners.
func (c *Claim) Bound() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Bound })
}

// addressPrefix starts the name of each claim on an address.
const addressPrefix = "ip--"

// AddressName returns the object name of the claim on an address, with dashes for dots and colons. IPv6 addresses are
// fully expanded.
func AddressName(a netip.Addr) string { return addressPrefix + config.Dashed(a) }

// endpointPrefix starts the name of each claim on an IP endpoint.
const endpointPrefix = "ep--"

// EndpointName returns the object name of the claim on an IP endpoint.
func EndpointName(sharingKey string) string { return endpointPrefix + lease.Hash(sharingKey) }

// wildcardLabel replaces the asterisk of a wildcard in the name of its claim.
const wildcardLabel = "wc--any"

// HostName returns the object name of the claim on a host or wildcard.
func HostName(host string) string {
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		return wildcardLabel + "." + domain
	}
	return host
}

// WildcardOver returns the wildcard that covers the host: it replaces exactly one label and never covers the apex. It
// returns "" for a wildcard and for a host of one label.
func WildcardOver(host string) string {
	first, domain, ok := strings.Cut(host, ".")
	if !ok || first == "*" {
		return ""
	}
	return "*." + domain
}

// parseAddressName returns the address in the name of a claim. It accepts only the name that AddressName makes, so an
// IPv4 address has no second name in IPv6 form.
func parseAddressName(name string) (netip.Addr, bool) {
	text, ok := strings.CutPrefix(name, addressPrefix)
	if !ok {
		return netip.Addr{}, false
	}
	separator := "."
	if strings.Count(text, "-") == 7 {
		separator = ":"
	}
	a, err := netip.ParseAddr(strings.ReplaceAll(text, "-", separator))
	return a, err == nil && !a.Is4In6() && AddressName(a) == name
}

// Kept describes the finalizers that delay the deletion of the claim.
func (c *Claim) Kept() string { return "its finalizers " + strings.Join(c.Finalizers, ", ") }

// Refused returns why the provider does not let the holders have the host, or "". NewRequest has already checked which
// port a generated host belongs to; here any port of the service is allowed.
func (c *Claim) Refused(cfg *config.ProviderConfig) string {
	if c.Kind.HasPorts() {
		return ""
	}
	for _, part := range c.Parts {
		if why := RefusedBackend(cfg, c.Thing, part.Lease, part.Service, part.Port); why != "" {
			return why
		}
	}
	if len(c.Parts) > 0 {
		return ""
	}
	return cfg.Refuse(c.Thing, config.Backend{})
}

// RefusedBackend returns why the lease may not have the host for the backend that a claim or a route names, or "". The
// port may be a container port, so a host that is allowed for any port of the service is allowed.
func RefusedBackend(cfg *config.ProviderConfig, host string, id lease.ID, service string, port uint16) string {
	why := cfg.Refuse(host, config.Backend{Lease: id, Service: service, Port: port})
	if why == "" {
		return ""
	}
	return cfg.Refuse(host, config.Backend{Lease: id, Service: service})
}

// Holders returns the names of the deployment groups that hold parts of the claim.
func Holders(c *Claim) string {
	return cmp.Or(strings.Join(groupTexts(c.Groups()), " and "), c.Owner, "nobody that can be read")
}

// Stamp formats a time for people.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Withholder describes who holds the part that is waited for.
func (c *Claim) Withholder(wait Part) string {
	if p := c.Part(wait.For); p != nil {
		return fmt.Sprintf("held by deployment %d", p.Lease.DSeq)
	}
	return "free since; the next apply takes it"
}
