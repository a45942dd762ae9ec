package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
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
	f := v.w.Objects.Finding(v.judge(), h, p, v.settled(c), v.w.isClaimed)
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
	live := func(c *state.Claim) []lease.ID { return v.w.Objects.Live(c, v.group) }
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
	for host, uses := range v.w.Objects.Below(h.Thing) {
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
		if s, stale := v.isStale(h, seen); stale {
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
	c, parts := taken.Claim, slices.Clone(taken.Parts)
	if c == nil {
		c = taken.Want.Claim()
	}
	if c.SharingKey != taken.Want.SharingKey {
		rekeyed := *c
		rekeyed.SharingKey = taken.Want.SharingKey
		c = &rekeyed
	}
	for _, p := range c.Entries(v.group) {
		if !slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key || q.Key == p.For }) {
			parts = append(parts, p)
		}
	}
	r := Request{Verb: Put, Name: c.Name(), Claim: c, Group: v.group, Parts: parts, Anew: taken.Anew, Why: "it is free"}
	if from := v.takenFrom(c, parts); len(from) > 0 {
		r.Force, r.Why = true, "it is transferred"
		r.Event = &Event{Action: report.Transferred, Kind: string(c.Kind), Thing: c.Thing, Message: "from " + groupsText(from), From: from}
	} else if taken.Anew {
		r.Event = &Event{Action: report.Claimed, Kind: string(c.Kind), Thing: c.Thing}
		r.Changes = v.changeClaim(plan.Claim, c, parts)
	} else {
		r.Why = "another command that crashed may be about to give it up"
	}
	return r
}
