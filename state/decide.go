package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Verdict is what may be done with a thing that a lease wants.
type Verdict int

// The verdicts.
const (
	// Free may be taken.
	Free Verdict = iota
	// Mine is held by the deployment group itself.
	Mine
	// Withheld is held by another deployment group of the same owner: it is not taken, and that
	// is no error.
	Withheld
	// Held is held by another owner.
	Held
	// Going is a claim that is being deleted: it is free when it is gone.
	Going
	// Expired is a hold whose time is over: it may be removed, and taken.
	Expired
)

// Finding is a verdict with its reason.
type Finding struct {
	Verdict Verdict
	// By is the holder when the verdict is Withheld or Held.
	By Holder
}

// Holder is who holds a thing, as far as the cluster tells.
type Holder struct {
	// Owner is the holding wallet; empty where the object names none.
	Owner string
	// Lease is the holding lease; the zero ID where it is not known.
	Lease lease.ID
	// Object is the object that holds the thing, where that is no claim.
	Object string
	// Namespace is the namespace of the holder's routes.
	Namespace string
	// Since is when the thing was taken, by the API server's clock.
	Since   time.Time
	Service string
	Port    uint16
	// Running is true while a run is under way that took the thing and may yet give it back.
	Running bool
	// Reason is set where the claim itself is the trouble.
	Reason string
	// Input is where the same run's input asks for the thing, for another owner; nobody holds it yet.
	Input string
}

// Judge decides for one deployment group at one moment.
type Judge struct {
	Group lease.Group
	// Now is the API server's clock, never the client's.
	Now time.Time
	// Adopt lets the group take what an object of its own owner uses without a claim.
	Adopt bool
	// OnePort is true beside Akash's IP operator, which keys a port of an endpoint by its number alone: what
	// one deployment asks for in TCP it deletes when another asks for the same number in UDP.
	OnePort bool
}

// Decide says what the deployment group may do with one part of what it wants to hold. claim is the
// claim on the thing, nil where there is none; then what others have written for the same thing
// counts (uses). That second check is best effort by nature: nobody who writes a route without a
// claim can be kept from it.
func (j Judge) Decide(want Hold, key string, claim *Claim, uses []Use) Finding {
	group := j.Group
	switch {
	case claim == nil:
		return j.decideUses(uses)
	case claim.Deleting:
		return Finding{Verdict: Going, By: claim.holder(nil)}
	case claim.Unreadable == "" && claim.Owner != group.Owner && claim.Ended(j.Now):
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
		h.Reason = fmt.Sprintf("one claim may have %d parts and %d deployment groups, and this one would have more", MaxParts, MaxGroups)
		return Finding{Verdict: Held, By: h}
	case part == nil:
		return Finding{Verdict: Free}
	case part.Lease.Group() == group:
		return Finding{Verdict: Mine}
	case part.Ended(j.Now):
		return Finding{Verdict: Expired, By: claim.holder(part)}
	default:
		h := claim.holder(part)
		h.Running = part.Run != "" // whatever becomes of the parts beside it
		return Finding{Verdict: Withheld, By: h}
	}
}

// otherProtocol is the part that another deployment group holds of the same port number, where that counts.
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

// holder describes who holds the claim; part is the one that is in the way, nil for any.
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

// onlyReservedBy is true for an address of which the group alone holds a part, and that without a
// port: nothing depends on its sharing key yet.
func (c *Claim) onlyReservedBy(group lease.Group) bool {
	return !slices.ContainsFunc(c.Parts, func(p Part) bool { return p.Key != WholeAddress || p.Lease.Group() != group })
}

// HeldBy is the holder of the claim as others see it.
func (c *Claim) HeldBy() Holder { return c.holder(nil) }

// Full is true where nothing more fits into the claim for the group, not even a note.
func (c *Claim) Full(group lease.Group) bool { return c.full(Hold{}, group) }

// full is true where the claim would have more parts than one may have with those that are wanted anew,
// or more deployment groups.
func (c *Claim) full(want Hold, group lease.Group) bool {
	more := 0
	for _, p := range want.Parts {
		if c.Part(p.Key) == nil {
			more++
		}
	}
	groups := c.Writers() // each is a field manager, and costs as one
	return len(c.Parts)+len(c.Waits)+max(more, 1) > MaxParts || len(groups) >= MaxGroups && !slices.Contains(groups, group)
}
