package state

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Part is what one deployment group holds of a claim: a path of a host, or a port of an address. The value of its
// annotation contains the lease. So two leases never write the same value, and server-side apply never makes both of
// them owners.
type Part struct {
	// Key is the annotation key. It locks the part.
	Key string `json:"-"`
	// For is the key of the part that is waited for. It is empty for a part that is held.
	For string `json:"for,omitempty"`
	// Lease is the holder.
	Lease lease.ID `json:"-"`
	// LeaseText is Lease as stored.
	LeaseText string `json:"lease"`
	// Path is the path on the host. Service and Port are the backend.
	Path    string `json:"path,omitempty"`
	Service string `json:"service,omitempty"`
	Port    uint16 `json:"port,omitempty"`
	// HTTP are the options of the route to a host that is waited for. Definition is the hash of the definition that
	// asks for it.
	HTTP       *lease.HTTPOptions `json:"http,omitempty"`
	Definition string             `json:"definition,omitempty"`
	// Run is the mark of the run that took the part (see Mark). Claim.Meet removes the marks of runs that have ended.
	Run string `json:"run,omitempty"`
	// Held is true if the lease held the part for good before that run, which has only touched it: whatever becomes of the
	// run, the lease holds the part. It is stored in the mark (touchesFrom).
	Held bool `json:"-"`
	// Expires is when a hold ends, by the API server's clock, in RFC 3339. It is empty for a part without an end.
	Expires string `json:"expires,omitempty"`
	// From is the deployment group (OWNER/DSEQ/GSEQ) whose objects still serve the part after a transfer, until the new
	// holder is applied. It is empty if the objects of the holder serve the part.
	From string `json:"from,omitempty"`
	// Bound is true once a run has checked that no other owner has a host below the wildcard. Until then the wildcard
	// is pending and yields to such hosts.
	Bound bool `json:"bound,omitempty"`
	// Applied is true once a run has written the objects of Lease for the part. It is false for parts that were only
	// reserved or transferred, or that an older version applied.
	Applied bool `json:"applied,omitempty"`
}

// WhileTurned is the end of a hold while a run turns it into a claim. The last write of the run removes it. If the run
// fails it gives back the hold: a claim never becomes a hold, and the guard refuses that.
const WhileTurned = "2199-12-31T23:59:59Z"

// RouteKey returns the annotation key of a path of a host. The root path is "" or "/".
func RouteKey(path string) string {
	return routePrefix + lease.Hash(cmp.Or(path, "/"))
}

// PortKey returns the annotation key of a port of an address.
func PortKey(protocol lease.Protocol, port uint16) string {
	return PortPrefix + strings.ToLower(string(protocol)) + "-" + strconv.Itoa(int(port))
}

// OtherProtocol returns the key of the same port number in the other protocol, or "" for a key that names no port.
func OtherProtocol(key string) string {
	switch protocol, port := (Part{Key: key}).ProtocolPort(); protocol {
	case lease.TCP:
		return PortKey(lease.UDP, port)
	case lease.UDP:
		return PortKey(lease.TCP, port)
	}
	return ""
}

// WholeAddress is the annotation key of an address that is reserved before its ports are known.
const WholeAddress = PortPrefix + "any"

// ProtocolPort returns the protocol and the port of a part of an address, or "" and 0 for a path.
func (p Part) ProtocolPort() (lease.Protocol, uint16) {
	protocol, port, _ := strings.Cut(strings.TrimPrefix(p.Key, PortPrefix), "-")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !strings.HasPrefix(p.Key, PortPrefix) {
		return "", 0
	}
	return lease.Protocol(strings.ToUpper(protocol)), uint16(n)
}

// namesPort reports whether the key is WholeAddress or one that PortKey makes.
func (p Part) namesPort() bool {
	protocol, port := p.ProtocolPort()
	return p.Key == WholeAddress ||
		port > 0 && (protocol == lease.TCP || protocol == lease.UDP) && p.Key == PortKey(protocol, port)
}

// Same reports whether both parts are stored alike.
func (p Part) Same(q Part) bool {
	p.LeaseText, q.LeaseText = "", ""
	return reflect.DeepEqual(p, q)
}

// Wait returns the entry that notes that the deployment group waits for the part.
func (p Part) Wait(definition string, http *lease.HTTPOptions) Part {
	p.For, p.Run, p.Expires, p.From, p.Bound, p.Applied = p.Key, "", "", "", false, false
	p.Key = waitPrefix + lease.Hash(p.Lease.Group().String()+" "+p.Key)
	p.Definition, p.HTTP = definition, http
	return p
}

// Ended reports whether the hold has expired, plus Margin. Anyone may remove it then. now is by the API server's clock.
func (p Part) Ended(now time.Time) bool {
	if p.Expires == "" {
		return false
	}
	at, err := time.Parse(time.RFC3339, p.Expires)
	return err == nil && now.After(at.Add(Margin))
}

// Lapsed reports whether what a run has announced with an end has ended, or ends later than any run announces: then
// somebody else has written it, and nobody may have to wait for that. now is by the API server's clock.
func (p Part) Lapsed(now time.Time) bool {
	at, err := time.Parse(time.RFC3339, p.Expires)
	return p.Ended(now) || err == nil && at.Sub(now) > MaxLasts+Margin
}

// PortText formats a part of an address for people, for example 443/tcp.
func (p Part) PortText() string {
	if p.Key == WholeAddress {
		return "(no port yet)"
	}
	protocol, port := p.ProtocolPort()
	return strconv.Itoa(int(port)) + "/" + strings.ToLower(string(protocol))
}
