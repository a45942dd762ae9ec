package engine

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

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
		all, list := v.w.lists[state.Host], Request{Verb: List, Kind: state.Host, Why: "the hosts below " + h.Thing}
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
		for _, p := range c.Entries(v.group) {
			if p.For != "" {
				parts = append(parts, p)
			}
		}
		return do(Request{Verb: Put, Name: c.Name(), Claim: c, Group: v.group, Parts: parts, Why: "no host of another owner is below it"})
	}
	return Step{}
}

// evictAll evicts the holds that have ended, after a moment where others write them.
func (v view) evictAll(claims []*state.Claim) (step Step) {
	for _, c := range claims {
		if s, stale := v.isStale(state.Hold{Kind: c.Kind, Thing: c.Thing}, v.w.see(c.Name())); stale {
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
	s.Requests[0].Verb, s.Requests[0].Kind, s.Requests[0].Why = List, state.Wildcard, "which of them exclude the hosts"
	return s
}

// readAbove reads a wildcard above hosts; the error names all of them.
func (v view) readAbove(over ...string) Step {
	slices.Sort(over)
	return do(Request{
		Verb: Get, Name: state.HostName(over[0]), Why: "whether it excludes the host",
		Fails: "its hosts could not be compared with the wildcards above them (" + strings.Join(over, ", ") + ")",
	})
}
