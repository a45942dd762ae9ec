package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// pendingFor limits how long a wildcard may be pending. After that anybody may delete it, because its command has crashed.
const pendingFor = time.Minute

// judge returns the rules by which the lease decides on parts.
func (v view) judge() state.Judge {
	return state.Judge{Group: v.group, Now: v.w.Time, Adopt: v.want.Adopt, OnePort: v.t.Settings.OnePort}
}

// find returns who has a part of a claim.
func (v view) find(h state.Hold, c *state.Claim, p state.Part) state.Finding {
	f := v.w.Snapshot.Decide(v.judge(), v.t.Settings.Config, h, p, v.settled(c), v.w.claimsOfEndpoint(h.SharingKey), v.w.isClaimed)
	if f.Verdict == state.Held {
		if at := v.rival(h.Name(), f.By); at != "" {
			f.By = state.Holder{Owner: f.By.Owner, Lease: f.By.Lease, Input: at}
		}
	}
	return f
}

// taking decides on the parts of one claim.
func (v view) taking(h state.Hold) protocol.Taken {
	taken, known := v.memo.takings[h.Name()]
	if !known {
		taken = v.takingNow(h)
		v.memo.takings[h.Name()] = taken
	}
	return taken
}

func (v view) takingNow(h state.Hold) protocol.Taken {
	known, took := v.f.taken[h.Name()]
	live := func(c *state.Claim) []lease.ID { return v.w.Snapshot.LiveFor(c, v.group) }
	if v.want.Apply != nil {
		live = nil
	}
	return protocol.Take(protocol.Taking{
		Want: h, Group: v.group, Claim: v.w.Claim(h.Name()), Nonce: v.mark, Former: v.takesOver(h),
		Decide:  func(c *state.Claim, p state.Part) state.Finding { return v.find(h, c, p) },
		Live:    live,
		Patient: v.isPatient(v.w.Turn.Since, v.w.see(h.Name()).At, 1), Relied: v.succeeds(),
		Pending: v.w.Time.Add(pendingFor).UTC().Format(time.RFC3339), Took: took, Anew: known.Anew,
	})
}

// inTheWay returns who holds a thing, or a wildcard or host that excludes it.
func (v view) inTheWay(h state.Hold) (held []report.HeldThing) {
	c, mine := v.w.Claim(h.Name()), false
	for _, p := range h.Parts {
		f := v.find(h, c, p)
		mine = mine || f.Verdict == state.Mine && !c.Part(p.Key).Ended(v.w.Time)
		if f.Verdict == state.Held {
			held = append(held, report.HeldThing{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At})
			break
		}
	}
	switch {
	case mine:
	case h.Kind == state.Host:
		if over := state.WildcardOver(h.Thing); over != "" {
			if c := v.w.Claim(state.HostName(over)); protocol.Above(v.group, v.w.Time, c) == protocol.Yield {
				held = append(held, v.heldBy(c, h.At))
			}
		}
	case h.Kind == state.Wildcard:
		held = append(held, v.hostsBelow(h, v.w.list(state.Host))...)
	}
	return held
}

// heldBy is a claim of another owner that excludes what is asked for at a place of the input.
func (v view) heldBy(c *state.Claim, at lease.Place) report.HeldThing {
	by := v.settled(c).HeldBy()
	if in := v.rival(c.Name(), by); in != "" {
		by = state.Holder{Owner: by.Owner, Lease: by.Lease, Input: in}
	}
	return report.HeldThing{Kind: c.Kind, Thing: c.Thing, By: by, At: at}
}

// hostsBelow returns the hosts of other owners one label below a wildcard, claimed or served without a claim.
func (v view) hostsBelow(h state.Hold, claims []*state.Claim) (held []report.HeldThing) {
	hosts, _ := protocol.Below(v.group, v.w.Time, h.Thing, claims)
	for _, c := range hosts {
		held = append(held, v.heldBy(c, h.At))
	}
	for host, uses := range v.w.Snapshot.Below(h.Thing) {
		if v.w.isClaimed(host) {
			continue
		}
		if f := v.judge().Decide(state.Hold{}, "", nil, uses); f.Verdict == state.Held {
			held = append(held, report.HeldThing{Kind: state.Host, Thing: host, By: f.By, At: h.At})
		}
	}
	slices.SortFunc(held, func(a, b report.HeldThing) int { return strings.Compare(a.Thing, b.Thing) })
	return held
}

// refuse ends the work on a lease that cannot have what it wants, before it takes anything. The error names everything
// that is in the way.
func (v view) refuse() Step {
	if v.hasTaken() {
		return Step{}
	}
	var held []report.HeldThing
	for _, h := range v.things {
		if v.isPicked(h) {
			continue // another address will do
		}
		for _, by := range v.inTheWay(h) {
			same := func(other report.HeldThing) bool { return other.Kind == by.Kind && other.Thing == by.Thing }
			if !slices.ContainsFunc(held, same) {
				held = append(held, by)
			}
		}
	}
	switch endless := v.endless(); {
	case len(held) > 0 && !isTransient(held):
		return v.giveBack(report.Gather(append(v.missing(), &report.HeldError{Lease: v.id, Held: held})))
	case len(endless) > 0:
		return v.giveBack(&report.EndlessError{Holder: "lease " + v.group.String(), Things: endless})
	}
	return Step{}
}

// endless returns what the lease holds without an end, of what it asks for with one: a reservation for good is no hold again.
func (v view) endless() (names []string) {
	if v.want.Expires == "" {
		return nil
	}
	for _, h := range v.things {
		c := v.w.Claim(h.Name())
		for _, p := range h.Parts {
			if own := c.Part(p.Key); own != nil && own.Lease == v.id && own.Run == "" && own.Expires == "" {
				names = append(names, string(h.Kind)+"/"+h.Thing)
				break
			}
		}
	}
	return names
}

// take takes the claims one by one, in the order in which every command takes them.
func (v view) take() Step {
	for _, h := range v.things {
		seen := v.w.see(h.Name())
		if s := v.readStale(h, seen); !s.idle() {
			return s
		}
		if known, took := v.f.taken[h.Name()]; took && known.Written == seen.Answered {
			continue // it is as the lease has written it
		}
		taken := v.taking(h)
		switch taken.Next {
		case protocol.Yield:
			held := report.HeldThing{Kind: h.Kind, Thing: h.Thing, By: taken.By, At: h.At}
			if !taken.By.Running || !v.isPatient(v.w.Turn.Since, seen.At, 1) {
				return v.refused([]report.HeldThing{held})
			}
			return v.readAgain(h.Name(), "another command has just taken it, and may give it back")
		case protocol.Read:
			if !v.isPatient(v.w.Turn.Since, seen.At, 1) {
				by := v.w.Claim(h.Name()).HeldBy()
				by.Reason = "its claim is being deleted: kubectl akash-net explain " + state.Typed(h.Thing)
				return v.refused([]report.HeldThing{{Kind: h.Kind, Thing: h.Thing, By: by, At: h.At}})
			}
			return v.readAgain(h.Name(), "it is being deleted")
		case protocol.Evict:
			return v.evict(taken.Claim)
		case protocol.Write:
			return do(v.put(taken))
		}
	}
	return Step{}
}

// put returns the request that writes the taken parts, and keeps the other parts and notes of the group.
func (v view) put(taken protocol.Taken) Request {
	c := taken.Claim
	if c == nil {
		c = taken.Want.Claim()
	}
	if c.SharingKey != taken.Want.SharingKey {
		rekeyed := *c
		rekeyed.SharingKey = taken.Want.SharingKey
		c = &rekeyed
	}
	parts := beside(c, v.group, taken.Parts)
	on := OfClaim{Name: c.Name(), Claim: c, Group: v.group, Parts: parts, Anew: taken.Anew}
	r := Request{Verb: Put, Why: "it is free"}
	if groups, from := v.takenFrom(c, parts); len(groups) > 0 {
		on.Force, r.Why = true, "it is transferred"
		r.Event = &Event{Action: report.Transferred, Kind: string(c.Kind), Thing: c.Thing, Message: "from " + strings.Join(from, ", "), From: groups}
	} else if taken.Anew {
		r.Event = &Event{Action: report.Claimed, Kind: string(c.Kind), Thing: c.Thing}
		r.Changes = v.changeClaim(plan.Claim, c, parts)
	} else {
		r.Why = "another command that crashed may be about to give it up"
	}
	r.On = on
	return r
}

// A wildcard and a host below it are two claims, but only one owner may have both names. A lease creates the wildcard as
// pending, lists the hosts below it, and withdraws if another owner has one. A lease that takes a host creates its claim,
// reads the wildcard above it, and withdraws if the wildcard is bound; it waits while the wildcard is pending. If both
// withdrew at once, both could lose. So a wildcard waits for less time than a host, and the smaller of two owners withdraws
// first.
const (
	smallerWaits = 0.2
	greaterWaits = 0.6
)

// bind binds the lease's pending wildcards, once no host of another owner is below them.
func (v view) bind() Step {
	for _, h := range v.things {
		c := v.w.Claim(h.Name())
		if h.Kind != state.Wildcard || len(c.PartsOf(v.group)) == 0 || protocol.IsBound(c, v.group) {
			continue
		}
		all, list := v.w.lists[state.Host], Request{Verb: List, On: OfKind(state.Host), Why: "the hosts below " + h.Thing}
		if all.sent <= max(v.f.taken[h.Name()].Written, v.w.Turn.Alone) {
			return do(list)
		}
		claims := v.w.list(state.Host)
		if below := v.hostsBelow(h, claims); len(below) > 0 {
			patience := smallerWaits
			if slices.ContainsFunc(below, func(b report.HeldThing) bool { return b.By.Owner < v.group.Owner }) {
				patience = greaterWaits
			}
			switch again := v.again(all.at); {
			case !isTransient(below) || !v.isPatient(v.f.taken[h.Name()].At, all.at, patience):
				return v.refused(below)
			case again.After(v.w.Clock):
				return Step{Wait: "the hosts below " + h.Thing, Until: again}
			}
			return do(list)
		}
		hosts, ended := protocol.Below(v.group, v.w.Time, h.Thing, claims)
		next, parts := protocol.Bind(h, c, v.group, hosts, ended)
		if next == protocol.Evict {
			slices.SortFunc(ended, (*state.Claim).Compare)
			return v.evictAll(ended)
		}
		return allocate(c, OfClaim{Group: v.group, Parts: beside(c, v.group, parts)}, Request{Why: "no host of another owner is below it"})
	}
	return Step{}
}

// evictAll evicts the holds that have ended, after a moment where others write them.
func (v view) evictAll(claims []*state.Claim) (step Step) {
	for _, c := range claims {
		if s := v.readStale(state.Hold{Kind: c.Kind, Thing: c.Thing}, v.w.see(c.Name())); !s.idle() {
			return s
		}
		step.Requests = append(step.Requests, v.evict(c).Requests...)
	}
	return step
}

// lookAbove compares the hosts that the lease has taken with the wildcards above them, read after that.
func (v view) lookAbove() Step {
	var unread []string
	for _, h := range v.things {
		taken, over := v.f.taken[h.Name()], state.WildcardOver(h.Thing)
		if h.Kind != state.Host || !taken.Anew || over == "" {
			continue
		}
		name := state.HostName(over)
		s := v.w.seeOf(state.Wildcard, name)
		if s.Sent <= taken.Written || s.Stale {
			if !slices.Contains(unread, over) {
				unread = append(unread, over)
			}
			continue
		}
		switch protocol.Above(v.group, v.w.Time, v.settled(s.Claim)) {
		case protocol.Yield:
			return v.refused([]report.HeldThing{v.heldBy(s.Claim, h.At)})
		case protocol.Evict:
			return v.evict(s.Claim)
		case protocol.Read:
			if !v.isPatient(taken.At, s.At, 1) {
				return v.refused([]report.HeldThing{v.heldBy(s.Claim, h.At)})
			}
			if again := v.again(s.At); again.After(v.w.Clock) {
				return Step{Wait: "wildcard " + over, Until: again}
			}
			return v.readAbove(over)
		}
	}
	switch {
	case len(unread) == 0:
		return Step{}
	case len(unread) == 1 && len(v.t.Wants) == 1:
		return v.readAbove(unread...)
	}
	s := v.readAbove(unread...)
	s.Requests[0].Verb, s.Requests[0].On, s.Requests[0].Why = List, OfKind(state.Wildcard), "which of them exclude the hosts"
	return s
}

// readAbove reads a wildcard above hosts; the error names all of them.
func (v view) readAbove(over ...string) Step {
	slices.Sort(over)
	return do(Request{
		Verb: Get, On: OfClaim{Name: state.HostName(over[0])}, Why: "whether it excludes the host",
		Fails: "its hosts could not be compared with the wildcards above them (" + strings.Join(over, ", ") + ")",
	})
}
