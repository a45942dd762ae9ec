// Package protocol decides what a run does next with a claim, from what it wants and what it has read. It sends
// nothing and has no clock: package apply carries out what it says, and test/model walks through all
// interleavings of it. docs/ledger.md explains the protocol.
package protocol

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Next is what a run does next with a claim.
type Next int

// What a run may do next. Every write is pinned to the claim as it was read.
const (
	// Rest leaves the claim: it is as the run needs it.
	Rest Next = iota
	// Write writes parts. Where the claim has changed meanwhile it is read, and decided on, again.
	Write
	// Evict removes holds that have ended; then the claim is read again.
	Evict
	// Read reads again, after a moment.
	Read
	// Yield gives back what the run took: somebody else has the thing, or what excludes it.
	Yield
)

// Taking is what a run wants of one claim, and what it has read of it.
type Taking struct {
	Want state.Hold
	// Claim is the claim as it was read last; nil where there is none.
	Claim *state.Claim
	// Decide judges one part of Want on the claim.
	Decide func(*state.Claim, state.Part) state.Finding
	// Nonce is the run's mark.
	Nonce string
	// Patient runs yield to a run of another deployment of the owner that is under way, and ask again;
	// others are withheld at once what such a run holds.
	Patient bool
	// Relied is true when the run is about to write objects: it marks the parts that its lease held before, too.
	Relied bool
	// Pending is until when a wildcard that is taken may be pending.
	Pending string
	// Took and Anew are what an earlier look at the same claim answered.
	Took, Anew bool
}

// Taken is what a run does next to take a claim.
type Taken struct {
	Next Next
	// Claim is the claim that is written to; nil where it is to be made.
	Claim *state.Claim
	// Want are the parts to hold, without those that are withheld, and Parts the same as they are to be written.
	Want  state.Hold
	Parts []state.Part
	// Withheld are the parts that other deployments of the owner have.
	Withheld []Withheld
	// By is who is in the way of a run that yields.
	By state.Holder
	// Took is true where a part carries the run's mark. Anew is true where the run has taken something that it
	// did not hold, or took it over from a run that may not have compared it with the wildcard above.
	Took, Anew bool
}

// Withheld is a part that another deployment of the owner has.
type Withheld struct {
	Part state.Part
	By   state.Holder
}

// Take decides how the parts of one claim are taken.
func Take(t Taking) Taken {
	out := Taken{Claim: t.Claim, Want: t.Want, Took: t.Took, Anew: t.Anew}
	out.Want.Parts = nil
	for _, p := range t.Want.Parts {
		want := p
		switch f := t.Decide(out.Claim, p); {
		case f.Verdict == state.Held, f.Verdict == state.Withheld && f.By.Running && t.Patient:
			out.Next, out.By = Yield, f.By
			return out
		case f.Verdict == state.Going:
			out.Next = Read
			return out
		case f.Verdict == state.Expired:
			out.Next = Evict
			return out
		case f.Verdict == state.Withheld:
			out.Withheld = append(out.Withheld, Withheld{Part: p, By: f.By})
			continue
		case f.Verdict == state.Free:
			out.Next, out.Anew = Write, true
			if p.Run = t.Nonce; t.Want.Kind == state.Wildcard {
				p = Pend(p, out.Claim, t.Pending)
			}
		default:
			p = t.kept(*out.Claim.Part(p.Key), p, &out)
		}
		out.Want.Parts, out.Parts = append(out.Want.Parts, want), append(out.Parts, p)
	}
	return out
}

// Pend is a part of a wildcard as it is when it is taken: pending until the time, as RFC 3339, unless the owner's
// wildcard is bound already.
func Pend(p state.Part, claim *state.Claim, until string) state.Part {
	if claim != nil && claim.Bound() {
		p.Bound = true
	} else {
		p.Expires = until
	}
	return p
}

// kept is a part that the group holds. One that another run of the lease has marked gets this run's mark, so
// that the other's undoing cannot take it away, and with it the note that objects are about to stand for it. A hold that is renewed is as if it were taken now: it must not
// end while the run goes on, and a wildcard may have been bound over a host whose hold had ended.
func (t Taking) kept(own, want state.Part, out *Taken) state.Part {
	if own.Run == t.Nonce && !out.Took { // with our mark: the answer to our write was lost
		out.Took, out.Anew = true, true
	}
	renew := own.Expires != ""
	if own.Run != t.Nonce && (own.Run != "" || renew || t.Relied) {
		out.Next, out.Anew = Write, out.Anew || own.Run != "" || renew
		own.Run, own.Applied = t.Nonce, own.Applied || want.Applied
	}
	if renew && (t.Want.Kind != state.Wildcard || own.Bound) {
		own.Expires = want.Expires
	}
	return own
}

// Holds is true where a write that was answered gave the group the parts: the claim is theirs, and nobody else's.
func Holds(claim *state.Claim, group lease.Group, parts []state.Part) bool {
	return claim != nil && !claim.Deleting && claim.Owner == group.Owner && !slices.ContainsFunc(parts, func(p state.Part) bool {
		own := claim.Part(p.Key)
		return p.For == "" && (own == nil || own.Lease.Group() != group)
	})
}

// Above decides for hosts of a group by the wildcard above them, read after the hosts were claimed; nil where
// there is none. While another owner's is pending the hosts wait: one of the two sides has to yield, and it is the
// wildcard. Were both to yield at sight, both could lose.
func Above(group lease.Group, now time.Time, wildcard *state.Claim) Next {
	switch {
	case wildcard == nil, wildcard.Deleting, wildcard.Unreadable == "" && wildcard.Owner == group.Owner:
		return Rest
	case wildcard.Unreadable == "" && wildcard.Ended(now):
		return Evict
	case wildcard.Unreadable != "", wildcard.Bound():
		return Yield
	}
	return Read
}

// Below are the claims of other owners on hosts one label below a wildcard: those that stand, and those that
// are nothing but holds that have ended.
func Below(group lease.Group, now time.Time, wildcard string, claims []*state.Claim) (stand, ended []*state.Claim) {
	for _, c := range claims {
		switch {
		case c.Kind != state.Host, state.WildcardOver(c.Thing) != wildcard, c.Owner == group.Owner, c.Deleting:
		case !c.Ended(now):
			stand = append(stand, c)
		case c.Unreadable == "":
			ended = append(ended, c)
		}
	}
	return stand, ended
}

// Bind decides what becomes of a wildcard that is pending, by the hosts of other owners below it, listed after it
// was claimed. The parts are those to write.
func Bind(want state.Hold, own *state.Claim, group lease.Group, stand, ended []*state.Claim) (Next, []state.Part) {
	switch {
	case len(stand) > 0:
		return Yield, nil
	case len(ended) > 0:
		return Evict, nil // so that they cannot be renewed below it
	}
	parts := own.PartsOf(group)
	for i, p := range parts {
		if k := slices.IndexFunc(want.Parts, func(q state.Part) bool { return q.Key == p.Key }); k >= 0 {
			parts[i].Bound, parts[i].Expires = true, want.Parts[k].Expires
		}
	}
	return Write, parts
}

// Rebind decides after a wildcard could not be bound because its claim had changed: was is the claim as the run
// had it, now as it is.
func Rebind(want state.Hold, was, now *state.Claim, group lease.Group) Next {
	switch {
	case now == nil, now.UID != was.UID, !Holds(now, group, want.Parts):
		return Yield
	case IsBound(now, group):
		return Rest // another run of the lease has done it
	}
	return Read
}

// IsBound is true where each part that the group holds of a wildcard is bound.
func IsBound(claim *state.Claim, group lease.Group) bool {
	return !slices.ContainsFunc(claim.PartsOf(group), func(p state.Part) bool { return !p.Bound })
}

// Settle decides how a run ends its work on a claim, of which it had the object with the UID. final makes of the
// group's entries what they are to be without marks; ok is false where a part has gone.
func Settle(claim *state.Claim, uid types.UID, group lease.Group, final func(*state.Claim) (parts []state.Part, ok bool)) (Next, []state.Part) {
	if claim == nil || claim.Deleting || claim.UID != uid || claim.Owner != group.Owner {
		return Yield, nil
	}
	parts, ok := final(claim)
	switch {
	case !ok:
		return Yield, nil
	case slices.EqualFunc(parts, claim.Entries(group), state.Part.Same):
		return Rest, nil
	}
	return Write, parts
}

// GiveBack is what a group keeps of its entries on a claim when the run with the nonce gives back what it took:
// what carries the run's mark becomes what it was before, or goes. changed is false where nothing carries it.
func GiveBack(entries []state.Part, nonce string, before []state.Part) (keep []state.Part, changed bool) {
	for _, p := range entries {
		i := slices.IndexFunc(before, func(q state.Part) bool { return q.Key == p.Key })
		switch {
		case p.Run != nonce:
			keep = append(keep, p)
		case i >= 0:
			keep, changed = append(keep, before[i]), true
		default:
			changed = true
		}
	}
	return keep, changed
}

// Before is what of the entries before a run is brought back. What another run of the lease had marked is brought
// back only where the lease's objects serve it: else either that run has ended without it, or it finds out when it
// settles, and to put its mark back could leave a claim to nobody.
func Before(before []state.Part, served bool) []state.Part {
	if served {
		return before
	}
	return slices.DeleteFunc(slices.Clone(before), func(p state.Part) bool { return p.Run != "" })
}
