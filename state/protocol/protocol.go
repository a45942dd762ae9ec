// Package protocol decides what a run does next with a claim, given what it wants and what it has read, and with its
// announcement. It sends nothing and has no clock: package engine decides by it what a command does next, and the tests of that
// explore each order of the requests.
// docs/ledger.md explains the protocol.
package protocol

import (
	"cmp"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Next is what a run does next with a claim.
type Next int

// The next steps of a run. Every write is pinned to the claim as it was read.
const (
	// Rest does nothing: the claim is as the run needs it.
	Rest Next = iota
	// Write writes parts. If the claim has changed, the run reads it and decides again.
	Write
	// Evict removes holds that have ended. The run then reads the claim again.
	Evict
	// Read reads the claim again after a moment.
	Read
	// Yield gives back what the run took: somebody else has the thing, or one that excludes it.
	Yield
)

// Taking is the input of Take: what a run wants of one claim and what it has read.
type Taking struct {
	Want state.Hold
	// Group is the deployment group of the run.
	Group lease.Group
	// Claim is the claim as last read, or nil if it does not exist.
	Claim *state.Claim
	// Decide returns the finding on one part of Want.
	Decide func(*state.Claim, state.Part) state.Finding
	// Live returns the leases whose objects serve a claim, if the run is a reservation; nil for any other run, which
	// writes what it takes.
	Live func(*state.Claim) []lease.ID
	// Nonce is the run's mark.
	Nonce string
	// Former returns which deployment group still serves a part that another deployment of the owner holds, as text, if the run
	// takes such parts over: a transfer. It is nil for any other run.
	Former func(*state.Claim, state.Part) string
	// Patient runs yield to another running deployment of the owner and ask again later. Without it, what such a run
	// holds is withheld at once.
	Patient bool
	// Relied is true if the run is about to write objects. It then also marks the parts that its lease already holds.
	Relied bool
	// Pending is when a pending wildcard expires, in RFC 3339.
	Pending string
	// Took and Anew are the results of an earlier Take for the same claim.
	Took, Anew bool
}

// Taken is the result of Take.
type Taken struct {
	Next Next
	// Claim is the claim to write, or nil to create one.
	Claim *state.Claim
	// Want is what to hold, without the withheld parts. Parts are the same parts as they are written.
	Want  state.Hold
	Parts []state.Part
	// Withheld are the parts that other deployments of the owner hold.
	Withheld []Withheld
	// Beside are the parts that stay as they are, because another lease of the group serves them.
	Beside []Beside
	// By is the holder that makes the run yield.
	By state.Holder
	// Took is true if a part carries the run's mark. Anew is true if the run has taken a part that it did not hold, or
	// took one over from a run that may not have checked the wildcard above.
	Took, Anew bool
}

// Withheld is a part that another deployment of the owner holds.
type Withheld struct {
	Part state.Part
	By   state.Holder
}

// Beside is a part that another lease of the run's deployment group serves.
type Beside struct {
	Part state.Part
	By   lease.ID
}

// Take decides how a run takes the parts of one claim.
func Take(t Taking) Taken {
	out := Taken{Claim: t.Claim, Want: t.Want, Took: t.Took, Anew: t.Anew}
	out.Want.Parts = nil
	for _, p := range t.Want.Parts {
		want := p
		if own := out.Claim.Part(p.Key); t.takesOver(out.Claim, own) {
			out.Next, out.Anew = Write, true
			out.Want.Parts, out.Parts = append(out.Want.Parts, want), append(out.Parts, t.takeOver(*own, p))
			continue
		}
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
			own := *out.Claim.Part(p.Key)
			want = t.reserve(own, want, &out)
			p = t.keepPart(own, p, &out)
		}
		out.Want.Parts, out.Parts = append(out.Want.Parts, want), append(out.Parts, p)
	}
	return out
}

// takesOver reports whether a transfer takes a part over from the deployment that holds it.
func (t Taking) takesOver(c *state.Claim, own *state.Part) bool {
	return t.Former != nil && own != nil && !c.Deleting && c.Unreadable == "" && c.Owner == t.Group.Owner && own.Lease.Group() != t.Group
}

// takeOver returns a part as a transfer takes it over. A hold becomes a claim that does not end.
func (t Taking) takeOver(own, want state.Part) state.Part {
	want.Run, want.From, want.Applied, want.Bound = t.Nonce, t.Former(t.Claim, own), false, own.Bound
	switch {
	case t.Want.Kind == state.Wildcard && !own.Bound:
		return Pend(want, t.Claim, t.Pending)
	case own.Expires != "":
		want.Expires = state.WhileTurned
	}
	return want
}

// reserve returns a part that the group holds already as the run leaves it in the end.
func (t Taking) reserve(own, want state.Part, out *Taken) state.Part {
	if t.Live == nil {
		return want
	}
	part, by := own.Reserve(want, t.Live(out.Claim))
	if by != (lease.ID{}) {
		out.Beside = append(out.Beside, Beside{Part: part, By: by})
	}
	return part
}

// Pend returns the part of a wildcard as it is taken: bound if the owner's wildcard is bound already, else pending
// until the given time in RFC 3339.
func Pend(p state.Part, claim *state.Claim, until string) state.Part {
	if claim != nil && claim.Bound() {
		p.Bound = true
	} else {
		p.Expires = until
	}
	return p
}

// keepPart returns a part that the group already holds. If another run of the lease has marked it, the part gets this
// run's mark, so that the other run cannot give it back, and with it the note that objects will be written for it. A
// renewed hold counts as taken now: it must not expire during the run, and a wildcard may have been bound over a host
// whose hold had expired.
func (t Taking) keepPart(own, want state.Part, out *Taken) state.Part {
	if own.Run == t.Nonce && !out.Took { // our own mark: the answer to our write was lost
		out.Took, out.Anew = true, true
	}
	renew := own.Expires != ""
	if own.Run != t.Nonce && (own.Run != "" || renew || t.Relied) {
		out.Next, out.Anew = Write, out.Anew || own.Run != "" || renew
		own.Held = own.Run == ""
		own.Run, own.Applied = t.Nonce, own.Applied || want.Applied
	}
	if renew && (t.Want.Kind != state.Wildcard || own.Bound) {
		own.Expires = cmp.Or(want.Expires, state.WhileTurned)
	}
	return own
}

// Holds reports whether a write that was answered gave the parts to the group: the claim belongs to its owner and the
// group holds every part.
func Holds(claim *state.Claim, group lease.Group, parts []state.Part) bool {
	return claim != nil && !claim.Deleting && claim.Owner == group.Owner && !slices.ContainsFunc(parts, func(p state.Part) bool {
		own := claim.Part(p.Key)
		return p.For == "" && (own == nil || own.Lease.Group() != group)
	})
}

// Above decides for hosts of a group from the wildcard above them, read after the hosts were claimed. wildcard may be
// nil. While another owner's wildcard is pending, the hosts wait: one side must yield, and it is the wildcard. If both
// yielded at once, both could lose.
func Above(group lease.Group, now time.Time, wildcard *state.Claim) Next {
	switch {
	case wildcard == nil, wildcard.Deleting, wildcard.Unreadable == "" && wildcard.Owner == group.Owner:
		return Rest
	case wildcard.Ended(now):
		return Evict
	case wildcard.Unreadable != "", wildcard.Bound():
		return Yield
	}
	return Read
}

// Below returns other owners' claims on hosts one label below a wildcard: those that are valid, also because nobody can read whose they
// are, and those that consist only of expired holds.
func Below(group lease.Group, now time.Time, wildcard string, claims []*state.Claim) (stand, ended []*state.Claim) {
	for _, c := range claims {
		switch {
		case c.Kind != state.Host, state.WildcardOver(c.Thing) != wildcard, c.Unreadable == "" && c.Owner == group.Owner, c.Deleting:
		case c.Ended(now):
			ended = append(ended, c)
		default:
			stand = append(stand, c)
		}
	}
	return stand, ended
}

// Bind decides about a pending wildcard from the claims of Below, listed after it was claimed. It returns the parts to
// write.
func Bind(want state.Hold, own *state.Claim, group lease.Group, stand, ended []*state.Claim) (Next, []state.Part) {
	switch {
	case len(stand) > 0:
		return Yield, nil
	case len(ended) > 0:
		return Evict, nil // so that nobody can renew them below the wildcard
	}
	parts := own.PartsOf(group)
	for i, p := range parts {
		parts[i].Bound = true // also a part that a crashed command has left: the name is the group's, or it is not
		if k := slices.IndexFunc(want.Parts, func(q state.Part) bool { return q.Key == p.Key }); k >= 0 {
			parts[i].Expires = want.Parts[k].Expires
		}
	}
	return Write, parts
}

// IsBound reports whether every part of the wildcard that the group holds is bound.
func IsBound(claim *state.Claim, group lease.Group) bool {
	return !slices.ContainsFunc(claim.PartsOf(group), func(p state.Part) bool { return !p.Bound })
}

// Turn is what a command that has announced itself does next.
type Turn int

// The turns.
const (
	// Work starts the work of the command: no other command writes for its groups.
	Work Turn = iota
	// Fence declares the other command dead with a pinned write to its announcement. The command then lists the
	// announcements again.
	Fence
	// Await waits until the other announcement is deleted or fenced. The other command withdraws.
	Await
	// Withdraw deletes the command's own announcement (pinned), waits like Await, and announces the command again.
	Withdraw
	// Stop ends the command: another one has declared it dead.
	Stop
)

// NextTurn decides from all announcements, listed after the command announced itself. Commands for one deployment group
// run one after the other: of two, the one whose nonce sorts later yields. Fenced commands block nobody. It also
// returns the other announcement that the turn refers to.
func NextTurn(
	own *state.Announcement, all []*state.Announcement, over func(*state.Announcement) bool,
) (Turn, *state.Announcement) {
	i := slices.IndexFunc(all, func(a *state.Announcement) bool { return a.Nonce == own.Nonce })
	if i < 0 || Lost(all[i]) {
		return Stop, nil
	}
	turn, other := Work, (*state.Announcement)(nil)
	byNonce := func(a, b *state.Announcement) int { return cmp.Compare(a.Nonce, b.Nonce) }
	for _, a := range slices.SortedFunc(slices.Values(all), byNonce) {
		switch {
		case a.Nonce == own.Nonce, a.Phase == state.Fenced, !a.Names(own.Groups...):
		case over(a):
			return Fence, a
		case turn == Work && a.Nonce < own.Nonce:
			turn, other = Withdraw, a
		case turn == Work:
			turn, other = Await, a
		}
	}
	return turn, other
}

// Lost reports whether another command has declared this one dead. now is its own announcement, read after a refused
// write, or nil. Such a command may neither commit nor give anything back.
func Lost(now *state.Announcement) bool { return now == nil || now.Phase == state.Fenced }

// Remaining returns the groups that a fenced announcement still names after some are done. If none remain, the
// announcement is deleted.
func Remaining(fenced *state.Announcement, done []lease.Group) []lease.Group {
	return slices.DeleteFunc(slices.Clone(fenced.Groups), func(g lease.Group) bool { return slices.Contains(done, g) })
}

// GiveBack returns the entries that a group keeps when the run with the nonce gives back what it took: an entry with
// the run's mark becomes what it was before, or is removed.
func GiveBack(entries []state.Part, nonce string, before []state.Part) (keep []state.Part) {
	for _, p := range entries {
		i := slices.IndexFunc(before, func(q state.Part) bool { return q.Key == p.Key })
		switch {
		case p.Run != nonce:
			keep = append(keep, p)
		case i >= 0:
			was := before[i]
			if was.Bound = was.Bound || p.Bound; p.Expires == "" {
				was.Expires = "" // the run has made it a claim, which never becomes a hold
			}
			keep = append(keep, was)
		}
	}
	return keep
}

// Before returns which of the earlier entries GiveBack restores. It restores an entry with the mark of another run of
// the lease only if the lease's objects serve it. Otherwise that run has ended without the entry, or will notice when
// it settles, and restoring its mark could leave a claim that belongs to nobody.
func Before(before []state.Part, served bool) []state.Part {
	if served {
		return before
	}
	return slices.DeleteFunc(slices.Clone(before), func(p state.Part) bool { return p.Run != "" })
}

// Watch is what a command has seen of the announcements of others. It judges whether a command is alive by whether its
// announcement changes while one looks at it, by a steady clock, as the leader election of client-go does. The times in
// an announcement decide nothing: the clocks of API servers may differ by hours.
type Watch map[string]Sighting

// Sighting is the version of an announcement, and when it was first seen.
type Sighting struct {
	Version string
	Since   time.Time
}

// Over reports whether an announcement has not changed for as long as it is valid, while it was watched: its command has
// crashed. now is by the watcher's steady clock. An uninstall renews nothing.
func (w Watch) Over(a *state.Announcement, now time.Time) bool {
	seen, known := w[a.Nonce]
	if !known || seen.Version != a.ResourceVersion {
		w[a.Nonce] = Sighting{a.ResourceVersion, now}
		return false
	}
	return a.Phase != state.Closing && now.Sub(seen.Since) >= a.Patience()
}
