package state

import (
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Kind is what sort of thing is claimed.
type Kind string

// The kinds of claim, in the order in which a run takes them.
const (
	Address Kind = "address"
	// Endpoint is an IP endpoint whose addresses MetalLB chooses: its sharing key is what is claimed.
	Endpoint Kind = "endpoint"
	Host     Kind = "host"
	Wildcard Kind = "wildcard"
)

// HasPorts is true for a kind of claim whose parts are ports.
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

	// ledgerVersion is the only version of the protocol that this program writes and trusts.
	ledgerVersion = "v1"
)

// Limits of one claim: an object's annotations have 256 KiB together, and a write costs more the
// more managers an object has (2.7 ms with ten, 100 ms with a hundred).
const (
	MaxGroups = 100
	MaxParts  = 500
)

// Claim is the exclusive hold of one thing by one owner, read from the metadata of an object of
// kind Lease. Deployment groups of the owner hold its parts.
type Claim struct {
	Kind Kind
	// Thing is what is claimed: a host name, an address in its shortest form, or a sharing key.
	Thing string
	// Owner is the only owner whose groups may hold parts.
	Owner string
	// SharingKey is the IP endpoint that an address belongs to, or that is claimed; empty for a host.
	SharingKey string
	// Parts are what is held, sorted by key. A claim without parts is free.
	Parts []Part
	// Waits are what deployment groups of the owner would hold if others of the owner did not:
	// it is withheld from them.
	Waits []Part

	UID             types.UID
	ResourceVersion string
	// Unmanaged are the deployment groups that hold parts and whose managers have applied nothing of the
	// claim: it was restored from a backup. It decides nothing.
	Unmanaged []lease.Group
	// Created is when the claim was made, by the API server's clock.
	Created time.Time
	// Updated is when it was last written, as far as its managed fields tell.
	Updated time.Time
	// Deleting is true for a claim that is going: it is no claim any more, but its name is not
	// free yet.
	Deleting bool
	// Finalizers keep the claim, and so its name, once it is being deleted.
	Finalizers []string
	// AtWork says who has taken parts of the claim and has not ended, where that was asked (Meet).
	AtWork string
	// Unreadable says why the claim cannot be understood; such a claim shuts out everybody.
	Unreadable string
}

// Name is the name of the object that is the claim.
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

// Addr is the claimed address; the zero Addr for a host.
func (c *Claim) Addr() netip.Addr {
	a, _ := netip.ParseAddr(c.Thing)
	return a
}

// Part is the part of the key, or nil.
func (c *Claim) Part(key string) *Part {
	if c == nil {
		return nil
	}
	if i := slices.IndexFunc(c.Parts, func(p Part) bool { return p.Key == key }); i >= 0 {
		return &c.Parts[i]
	}
	return nil
}

// PartsOf are the parts that a deployment group holds.
func (c *Claim) PartsOf(g lease.Group) []Part {
	var out []Part
	if c != nil {
		for _, p := range c.Parts {
			if p.Lease.Group() == g {
				out = append(out, p)
			}
		}
	}
	return out
}

// SaysAs is true where two readings of a claim, nil where there is none, name the same holders of the
// same parts, with the same backends and marks.
func (c *Claim) SaysAs(other *Claim) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.UID == other.UID && c.Owner == other.Owner && c.SharingKey == other.SharingKey && c.Deleting == other.Deleting &&
		c.Unreadable == other.Unreadable && slices.EqualFunc(c.Parts, other.Parts, Part.Same)
}

// Entries are all that a deployment group has written on the claim: the parts that it holds and
// those that it waits for.
func (c *Claim) Entries(g lease.Group) []Part {
	out := c.PartsOf(g)
	if c != nil {
		for _, p := range c.Waits {
			if p.Lease.Group() == g {
				out = append(out, p)
			}
		}
	}
	return out
}

// Groups are the deployment groups that hold a part, in order.
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

// Writers are the deployment groups that have written anything on the claim, each once.
func (c *Claim) Writers() []lease.Group {
	out := c.Groups()
	for _, w := range c.Waits {
		if g := w.Lease.Group(); !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// Marked is true while a run that took a part has not ended, or has crashed.
func (c *Claim) Marked() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Run != "" })
}

// Margin is how far the clocks of several API servers may be apart.
const Margin = 5 * time.Second

// Ended is true when all parts of the claim are holds whose time is over.
func (c *Claim) Ended(now time.Time) bool {
	return len(c.Parts) > 0 && !slices.ContainsFunc(c.Parts, func(p Part) bool { return !p.Ended(now) })
}

// Bound is true for a wildcard that shuts out other owners' hosts.
func (c *Claim) Bound() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Bound })
}
