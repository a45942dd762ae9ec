package state

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

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

// ProtocolPort is the protocol and the port of a part of an address; empty and 0 for a path.
func (p Part) ProtocolPort() (lease.Protocol, uint16) {
	protocol, port, _ := strings.Cut(strings.TrimPrefix(p.Key, PortPrefix), "-")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !strings.HasPrefix(p.Key, PortPrefix) {
		return "", 0
	}
	return lease.Protocol(strings.ToUpper(protocol)), uint16(n)
}

// namesPort is true for a key that PortKey makes, and for WholeAddress.
func (p Part) namesPort() bool {
	protocol, port := p.ProtocolPort()
	return p.Key == WholeAddress || port > 0 && (protocol == lease.TCP || protocol == lease.UDP) && p.Key == PortKey(protocol, port)
}

// Same is true where two parts are stored alike.
func (p Part) Same(q Part) bool {
	p.LeaseText, q.LeaseText = "", ""
	return reflect.DeepEqual(p, q)
}

// Wait is the note that a deployment group would hold the part.
func (p Part) Wait(definition string, http *lease.HTTPOptions) Part {
	p.For, p.Run, p.Expires, p.From, p.Bound, p.Applied = p.Key, "", "", "", false, false
	p.Key = waitPrefix + lease.Hash(p.Lease.Group().String()+" "+p.Key)
	p.Definition, p.HTTP = definition, http
	return p
}

// Ended is true for a hold whose time is over at the moment now, by the API server's clock. Whoever
// comes next may remove it.
func (p Part) Ended(now time.Time) bool {
	if p.Expires == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, p.Expires)
	return err == nil && now.After(at.Add(Margin))
}

// PortText is a part of an address as people read it: 443/tcp.
func (p Part) PortText() string {
	if p.Key == WholeAddress {
		return "(no port yet)"
	}
	protocol, port := p.ProtocolPort()
	return strconv.Itoa(int(port)) + "/" + strings.ToLower(string(protocol))
}
