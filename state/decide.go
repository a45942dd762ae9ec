package state

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Verdict is what a deployment group may do with a part that it wants.
type Verdict int

// The verdicts.
const (
	// Free parts may be taken.
	Free Verdict = iota
	// Mine is for parts that the deployment group itself holds.
	Mine
	// Withheld parts belong to another deployment group of the same owner. They are not taken, which is no error.
	Withheld
	// Held parts belong to another owner.
	Held
	// Going is for a claim that is being deleted. It is free once it is gone.
	Going
	// Expired holds may be removed and then taken.
	Expired
)

// Finding is a verdict and its reason.
type Finding struct {
	Verdict Verdict
	// By is the holder. It is set unless the verdict is Free or Mine.
	By Holder
}

// Holder describes who holds a thing, with what the cluster says about it.
type Holder struct {
	// Owner is the wallet of the holder. It is empty if the object names none.
	Owner string
	// Lease is the lease that holds the thing. It is the zero ID if it is unknown.
	Lease lease.ID
	// Object is the object that uses the thing if no claim exists.
	Object string
	// Namespace is the namespace of the holder's routes.
	Namespace string
	// Since is when the holder took the thing, by the API server's clock.
	Since   time.Time
	Service string
	Port    uint16
	// Running is true if the run that took the thing has not ended. It may still give the thing back.
	Running bool
	// Reason is set if the claim itself is the obstacle.
	Reason string
	// Input is the place where another owner's definition in the same input asks for the thing, which nobody holds yet.
	Input string
}

// Judge decides for one deployment group at one moment.
type Judge struct {
	Group lease.Group
	// Now is by the API server's clock, never the client's.
	Now time.Time
	// Adopt lets the group take things that objects of its own owner use without a claim.
	Adopt bool
	// OnePort is true if Akash's IP operator runs. It identifies a port of an endpoint by its number alone: when one
	// deployment asks for a number in UDP, the operator deletes what another has in TCP.
	OnePort bool
}

// Decide returns what the deployment group may do with the part of want that has the key. claim is the claim on the
// thing, or nil. Without a claim, the objects that others have written for the thing (uses) decide. That check is best
// effort: nothing stops a client that writes a route without a claim.
func (j Judge) Decide(want Hold, key string, claim *Claim, uses []Use) Finding {
	group := j.Group
	switch {
	case claim == nil:
		return j.decideUses(uses)
	case claim.Deleting:
		return Finding{Verdict: Going, By: claim.holder(nil)}
	case claim.Owner != group.Owner && claim.Ended(j.Now):
		return Finding{Verdict: Expired, By: claim.holder(nil)}
	case claim.Unreadable != "" || claim.Owner != group.Owner:
		return Finding{Verdict: Held, By: claim.holder(claim.Part(key))}
	case claim.SharingKey != want.SharingKey && !claim.onlyReservedBy(group):
		h := claim.holder(nil)
		h.Reason = "the address is leased for " + claim.SharingKey
		return Finding{Verdict: Held, By: h}
	}
	part := claim.Part(key)
	if other := j.otherProtocol(claim, key); other != nil && (part == nil || !part.Applied && other.Applied) {
		part = other
	}
	switch {
	case part == nil && claim.full(want, group):
		h := claim.holder(nil)
		h.Reason = fmt.Sprintf("one claim may have %d parts and %d deployment groups, and this one would have more",
			MaxParts, MaxGroups)
		return Finding{Verdict: Held, By: h}
	case part == nil:
		return Finding{Verdict: Free}
	case part.Lease.Group() == group:
		return Finding{Verdict: Mine}
	case part.Ended(j.Now):
		return Finding{Verdict: Expired, By: claim.holder(part)}
	default:
		h := claim.holder(part)
		h.Running = part.Run != "" // the marks of other parts do not matter
		return Finding{Verdict: Withheld, By: h}
	}
}

// otherProtocol returns the part with the same port number in the other protocol if another deployment group holds it
// and OnePort is set. Otherwise it returns nil.
func (j Judge) otherProtocol(claim *Claim, key string) *Part {
	other := claim.Part(OtherProtocol(key))
	if !j.OnePort || other == nil || other.Lease.Group() == j.Group {
		return nil
	}
	return other
}

func (j Judge) decideUses(uses []Use) Finding {
	finding := Finding{Verdict: Free}
	for _, u := range uses {
		if u.Of(j.Group) && u.Labelled || j.Adopt && u.HasLease && u.Lease.Owner == j.Group.Owner {
			continue
		}
		by := Holder{Object: u.String(), Namespace: u.Namespace, Since: u.Since, Service: u.Service, Port: u.Port}
		if u.HasLease {
			by.Owner, by.Lease, by.Namespace = u.Lease.Owner, u.Lease, u.Lease.Namespace()
		}
		if by.Owner == j.Group.Owner && !u.Of(j.Group) {
			if finding.Verdict == Free {
				finding = Finding{Verdict: Withheld, By: by}
			}
			continue
		}
		if by.Owner == j.Group.Owner {
			by.Reason = "it serves without a claim; --adopt takes it over"
		}
		return Finding{Verdict: Held, By: by}
	}
	return finding
}

// holder describes the holder of the part, or of the first part if part is nil.
func (c *Claim) holder(part *Part) Holder {
	h := Holder{Owner: c.Owner, Since: c.Created, Running: c.Marked(), Reason: c.Unreadable}
	if part == nil && len(c.Parts) > 0 {
		part = &c.Parts[0]
	}
	if part != nil {
		h.Lease, h.Namespace = part.Lease, part.Lease.Namespace()
		h.Service, h.Port = part.Service, part.Port
	}
	return h
}

// onlyReservedBy reports whether the group alone holds the address and uses no port of it yet. Nothing depends on its
// sharing key then.
func (c *Claim) onlyReservedBy(group lease.Group) bool {
	return !slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Key != WholeAddress || p.Lease.Group() != group })
}

// HeldBy describes the holder of the claim.
func (c *Claim) HeldBy() Holder { return c.holder(nil) }

// Full reports whether the claim has no room for another entry of the group, not even a wait.
func (c *Claim) Full(group lease.Group) bool { return c.full(Hold{}, group) }

// full reports whether the claim would exceed MaxParts with the parts that want adds, or MaxGroups with the group.
func (c *Claim) full(want Hold, group lease.Group) bool {
	more := 0
	for _, p := range want.Parts {
		if c.Part(p.Key) == nil {
			more++
		}
	}
	groups := c.Writers() // each writer is a field manager
	return len(c.Parts)+len(c.Waits)+max(more, 1) > MaxParts || len(groups) >= MaxGroups && !slices.Contains(groups, group)
}

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

// Former returns the deployment group whose objects still serve the part after a transfer. ok is false if the holder's
// own objects serve it.
func (p Part) Former() (g lease.Group, ok bool) {
	if p.From == "" {
		return lease.Group{}, false
	}
	g, err := lease.ParseGroup(p.From)
	return g, err == nil && g.Owner == p.Lease.Owner && g != p.Lease.Group()
}

// FormerOf returns the parts that other groups hold and that the objects of g still serve.
func (c *Claim) FormerOf(g lease.Group) []Part {
	var out []Part
	for p, former := range c.transferred() {
		if former == g {
			out = append(out, p)
		}
	}
	return out
}

// transferred yields the parts that a former holder's objects still serve, and the former holder.
func (c *Claim) transferred() iter.Seq2[Part, lease.Group] {
	return func(yield func(Part, lease.Group) bool) {
		if c == nil || c.Unreadable != "" || c.Deleting {
			return
		}
		for _, p := range c.Parts {
			if former, ok := p.Former(); ok && !yield(p, former) {
				return
			}
		}
	}
}

// Formers returns the deployment groups whose objects still serve parts of other groups after a transfer, each once.
func (c *Claim) Formers() []lease.Group {
	var out []lease.Group
	for _, former := range c.transferred() {
		if !slices.Contains(out, former) {
			out = append(out, former)
		}
	}
	return out
}

// ServesFor returns the part that an object of the group still serves for another group after a transfer, or nil. A
// redirect serves any part of the host.
func (c *Claim) ServesFor(g lease.Group, key string, redirect bool) *Part {
	for _, p := range c.FormerOf(g) {
		if p.Key == key || redirect {
			return &p
		}
	}
	return nil
}

// Transferring describes a part that the objects of another deployment still serve.
func Transferring(from string) string {
	return fmt.Sprintf("deployment %s serves it until the next apply of this lease", from)
}
