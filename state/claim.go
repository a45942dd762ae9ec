package state

import (
	"cmp"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
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

// Part is what one deployment group holds of a claim: a path of a host, or a port of an address.
// Its annotation's value contains the lease, so that two leases never write the same value and
// server-side apply never lets both own it.
type Part struct {
	// Key is the annotation that is the part's lock.
	Key string `json:"-"`
	// For is the key of the part that is waited for; empty for a part that is held.
	For string `json:"for,omitempty"`
	// Lease is the holder.
	Lease lease.ID `json:"-"`
	// LeaseText is Lease as it is stored.
	LeaseText string `json:"lease"`
	// Path is the part of a host; Service and Port are the backend it leads to.
	Path    string `json:"path,omitempty"`
	Service string `json:"service,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	// HTTP are the options with which a host that is waited for would be routed, Definition the
	// hash of the definition that asks for it.
	HTTP       *lease.HTTPOptions `json:"http,omitempty"`
	Definition string             `json:"definition,omitempty"`
	// Run is the mark of the run that took the part (Mark). Who reads the ledger takes those of ended runs off.
	Run string `json:"run,omitempty"`
	// Expires is when a hold ends, by the API server's clock, as RFC 3339; empty for a part that
	// is held until it is given up.
	Expires string `json:"expires,omitempty"`
	// From is the deployment group (OWNER/DSEQ/GSEQ) whose objects still serve the part: a transfer has
	// handed it on, and the new holder's own are yet to come. Empty where the holder's own serve.
	From string `json:"from,omitempty"`
	// Bound is true once a wildcard is known to have no host of another owner below it. Until
	// then the wildcard is pending: it yields to such a host.
	Bound bool `json:"bound,omitempty"`
	// Applied is true once a run has written the objects of Lease that stand for the part. What was only
	// reserved, handed on, or applied by a version that did not note it, does not say so.
	Applied bool `json:"applied,omitempty"`
}

// RouteKey is the annotation key for a path of a host. The root path may be written "" or "/".
func RouteKey(path string) string {
	return routePrefix + lease.Hash(cmp.Or(path, "/"))
}

// PortKey is the annotation key for a port of an address.
func PortKey(protocol lease.Protocol, port uint16) string {
	return PortPrefix + strings.ToLower(string(protocol)) + "-" + strconv.Itoa(int(port))
}

// OtherProtocol is the key of the same port number in the other protocol; empty for what is no port.
func OtherProtocol(key string) string {
	switch protocol, port := (Part{Key: key}).ProtocolPort(); protocol {
	case lease.TCP:
		return PortKey(lease.UDP, port)
	case lease.UDP:
		return PortKey(lease.TCP, port)
	}
	return ""
}

// WholeAddress is the annotation key for an address that is reserved before it is known which
// ports will be used.
const WholeAddress = PortPrefix + "any"

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

// ProtocolPort is the protocol and the port of a part of an address; empty and 0 for a path.
func (p Part) ProtocolPort() (lease.Protocol, uint16) {
	protocol, port, _ := strings.Cut(strings.TrimPrefix(p.Key, PortPrefix), "-")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !strings.HasPrefix(p.Key, PortPrefix) {
		return "", 0
	}
	return lease.Protocol(strings.ToUpper(protocol)), uint16(n)
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

// Same is true where two parts are stored alike.
func (p Part) Same(q Part) bool {
	p.LeaseText, q.LeaseText = "", ""
	return reflect.DeepEqual(p, q)
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

// Wait is the note that a deployment group would hold the part.
func (p Part) Wait(definition string, http *lease.HTTPOptions) Part {
	p.For, p.Run, p.Expires, p.From, p.Bound, p.Applied = p.Key, "", "", "", false, false
	p.Key = waitPrefix + lease.Hash(p.Lease.Group().String()+" "+p.Key)
	p.Definition, p.HTTP = definition, http
	return p
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

// Ended is true for a hold whose time is over at the moment now, by the API server's clock. Whoever
// comes next may remove it.
func (p Part) Ended(now time.Time) bool {
	if p.Expires == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, p.Expires)
	return err == nil && now.After(at.Add(Margin))
}

// Ended is true when all parts of the claim are holds whose time is over.
func (c *Claim) Ended(now time.Time) bool {
	return len(c.Parts) > 0 && !slices.ContainsFunc(c.Parts, func(p Part) bool { return !p.Ended(now) })
}

// Bound is true for a wildcard that shuts out other owners' hosts.
func (c *Claim) Bound() bool {
	return slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Bound })
}

// PortText is a part of an address as people read it: 443/tcp.
func (p Part) PortText() string {
	if p.Key == WholeAddress {
		return "(no port yet)"
	}
	protocol, port := p.ProtocolPort()
	return strconv.Itoa(int(port)) + "/" + strings.ToLower(string(protocol))
}
