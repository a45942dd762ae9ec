package state

import "github.com/akash-net/kubectl-akash-net/lease"

// Standing is what the claim on a thing means for an object that serves a part of it.
type Standing int

// The standings.
const (
	// Unclaimed objects serve a part that nobody holds.
	Unclaimed Standing = iota
	// Entitled objects belong to the deployment group that holds the part.
	Entitled
	// Stray objects may not serve the part: another group holds it, or another owner holds the wildcard above it.
	Stray
	// Unknown is for a claim that cannot be read. Nothing may be decided by it.
	Unknown
)

// Served is one part of a thing that an object of a deployment group serves.
type Served struct {
	Group lease.Group
	// Key is the key of the part. SharingKey is the IP endpoint that it is served for, or "" for a host.
	Key, SharingKey string
	// Redirect is true for a route without a backend. Any part that its group holds entitles it.
	Redirect bool
}

// Standing returns the standing of the object. claim is the claim on the thing and over the claim on the wildcard above
// the host; each may be nil. by is the claim that decides, or nil.
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
	case claim.Owner != s.Group.Owner, part != nil && part.Lease.Group() != s.Group,
		part == nil && len(own) == 0 && s.SharingKey != claim.SharingKey:
		return Stray, claim
	case part == nil:
		return Unclaimed, claim
	}
	return Entitled, claim
}

// Gives reports whether the deployment group to takes over from the object: it holds the part that the object serves,
// or it holds a part of the thing and the object's own group holds none.
func (s Served) Gives(claim *Claim, to lease.Group) bool {
	if claim == nil || claim.Deleting || claim.Unreadable != "" {
		return false
	}
	if part := claim.Part(s.Key); part != nil && !s.Redirect {
		return part.Lease.Group() == to
	}
	return len(claim.PartsOf(to)) > 0 && len(claim.PartsOf(s.Group)) == 0
}

// Held reports whether the claim can be read and somebody holds a part of it.
func (c *Claim) Held() bool { return c != nil && c.Unreadable == "" && !c.Deleting && len(c.Parts) > 0 }

// Thing returns the host or the address that is used, as in Claim.Thing.
func (u Use) Thing() string {
	if u.Address.IsValid() {
		return u.Address.String()
	}
	return u.Host
}

// Hold returns the hold that the object's lease needs for the thing.
func (u Use) Hold(o *OwnObject) Hold {
	if u.Address.IsValid() {
		return EndpointWant{SharingKey: u.SharingKey, Ports: []PortWant{o.Port}}.Hold(o.Lease, u.Address)
	}
	return HostWant{Host: u.Host, Path: u.Path, Service: u.Service, Port: u.Port}.Hold(o.Lease)
}

// PartKey returns the key of the part that the object serves: a port of an address or a path of a host.
func (u Use) PartKey(o *OwnObject) string {
	if u.Address.IsValid() {
		return o.Port.Key()
	}
	return RouteKey(u.Path)
}
