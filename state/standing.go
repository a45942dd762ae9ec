package state

import "github.com/akash-net/kubectl-akash-net/lease"

// Standing is what the claim on a thing means for an object that serves a part of the thing.
type Standing int

// The standings.
const (
	// Unclaimed is a part that nobody holds.
	Unclaimed Standing = iota
	// Entitled is an object whose deployment group holds the part.
	Entitled
	// Stray is an object of a group that may not serve the part: somebody else holds it, or a wildcard
	// above it.
	Stray
	// Unknown is a claim that cannot be understood. Nothing is decided by it.
	Unknown
)

// Served is one part of a thing that an object of a deployment group serves.
type Served struct {
	Group lease.Group
	// Key is the part; SharingKey is the IP endpoint that it is served for, empty for a host.
	Key, SharingKey string
	// Redirect is true for a route without a backend. It goes with any part that its group holds.
	Redirect bool
}

// Standing judges an object by the claim on what it serves, nil where there is none, and by the claim on
// the wildcard above a host, nil where there is none. By is the claim of whoever is in the way.
func (s Served) Standing(claim, over *Claim) (standing Standing, by *Claim) {
	part, own := claim.Part(s.Key), claim.PartsOf(s.Group)
	if part == nil && s.Redirect && len(own) > 0 {
		part = &own[0]
	}
	switch {
	case claim == nil || claim.Unreadable == "" && len(claim.Parts) == 0:
		if over.Held() && over.Bound() && over.Owner != s.Group.Owner {
			return Stray, over
		}
		return Unclaimed, nil
	case claim.Unreadable != "":
		return Unknown, claim
	case claim.Owner != s.Group.Owner, part != nil && part.Lease.Group() != s.Group, part == nil && len(own) == 0 && s.SharingKey != claim.SharingKey:
		return Stray, claim
	case part == nil:
		return Unclaimed, claim
	}
	return Entitled, claim
}

// Gives is true where a deployment group holds the part that an object serves, or holds a part of the
// thing while the object's own group holds none.
func (s Served) Gives(claim *Claim, to lease.Group) bool {
	if claim == nil || claim.Deleting || claim.Unreadable != "" {
		return false
	}
	if part := claim.Part(s.Key); part != nil && !s.Redirect {
		return part.Lease.Group() == to
	}
	return len(claim.PartsOf(to)) > 0 && len(claim.PartsOf(s.Group)) == 0
}

// Held is true for a claim that somebody holds a part of, as far as it can be understood.
func (c *Claim) Held() bool { return c != nil && c.Unreadable == "" && !c.Deleting && len(c.Parts) > 0 }

// Thing is the host or the address that is used, as a claim names it.
func (u Use) Thing() string {
	if u.Address.IsValid() {
		return u.Address.String()
	}
	return u.Host
}

// Hold is what the lease of the object is to hold of the thing.
func (u Use) Hold(o *OwnObject) *Hold {
	if u.Address.IsValid() {
		h := EndpointWant{SharingKey: u.SharingKey, Ports: []PortWant{{
			Protocol: o.Port.Protocol, ExternalPort: o.Port.ExternalPort, Service: o.Port.Service, Port: o.Port.Port,
		}}}.Hold(o.Lease, u.Address)
		return &h
	}
	h := HostWant{Host: u.Host, Path: u.Path, Service: u.Service, Port: u.Port}.Hold(o.Lease)
	return &h
}

// PartKey is the part that an object rests on: a port of an address, a path of a host.
func (u Use) PartKey(o *OwnObject) string {
	if u.Address.IsValid() {
		return PortKey(o.Port.Protocol, o.Port.ExternalPort)
	}
	return RouteKey(u.Path)
}
