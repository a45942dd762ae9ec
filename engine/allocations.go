package engine

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// The allocations that a deployment group is to have of a claim: while the lease takes them (protocol.Take), in the end (final), after it has
// failed (before, and moveBack for what others had), and without what ends or is given up (without). Each is a function of the claim and of
// what was seen; allocate writes it.

// allocation is a part of a claim.
type allocation struct{ name, key string }

// allocate returns the request after which a deployment group has the entries of a claim that are named; none if it has them. A claim of
// which nobody holds a part any more is deleted.
func allocate(c *state.Claim, on OfClaim, r Request) Step {
	if slices.EqualFunc(on.Parts, c.Entries(on.Group), state.Part.Same) {
		return Step{}
	}
	others := slices.ContainsFunc(c.Parts, func(p state.Part) bool { return p.Lease.Group() != on.Group })
	on.Name, on.Claim = c.Name(), c
	if r.Verb, r.On = Put, on; len(partsOnly(on.Parts)) == 0 && !others {
		r.Verb = Delete
	}
	return do(r)
}

// goBack returns the first request that gives something back of claims, each as far as it is as the lease left it.
func (v view) goBack(names []string, of func(name string, c *state.Claim) Step) Step {
	for _, name := range names {
		switch s := v.w.see(name); {
		case v.keeps(name) != nil:
		case s.Stale:
			return do(Request{Verb: Get, On: OfClaim{Name: name}, Back: true, Why: "it has changed"})
		case s.Claim != nil && !s.Claim.Deleting && s.Claim.Unreadable == "":
			if back := of(name, s.Claim); !back.idle() {
				return back
			}
		}
	}
	return Step{}
}

// final returns the entries that the group has in the end of a claim that the lease asks for: the parts of the request as requested, the
// others unchanged. It removes the marks of other commands from requested parts. ok is false if the group has lost a requested part.
func (v view) final(h state.Hold, c *state.Claim) (entries []state.Part, ok bool) {
	want := v.taking(h).Want
	if len(want.Parts) == 0 || slices.ContainsFunc(want.Parts, func(p state.Part) bool { return v.own(c, p.Key) == nil }) {
		return nil, false
	}
	for _, own := range c.Entries(v.group) {
		i := slices.IndexFunc(want.Parts, func(p state.Part) bool { return p.Key == own.Key })
		if i >= 0 {
			was := own
			own = want.Parts[i]
			if was.Run == v.mark {
				own.Run = v.mark
			}
			own.Applied = v.appliedAs(c, was, own)
			own.Bound, own.From, own.Held = was.Bound, was.From, was.Held
			if v.want.Apply != nil && v.formerOf(c, was) == "" {
				own.From = "" // what its former holder had is gone
			}
			if was.Expires == "" {
				own.Expires = "" // a part without an end does not get one
			}
		}
		entries = append(entries, own)
	}
	return entries, true
}

// appliedAs returns whether objects are written for a part that the lease asks for. A lease that changes nothing else does not
// write that. A part that another order of the lease has applied, or that a reservation finds unserved, becomes a reservation again.
func (v view) appliedAs(c *state.Claim, was, now state.Part) bool {
	if v.want.Move != nil {
		return was.Applied
	}
	if n, _ := v.w.Snapshot.Namespace(v.id.Namespace()); n.Alive && len(v.want.Serves) > 0 {
		return true // a pipeline may deliver objects before the lease's namespace exists: these do not count yet
	}
	if v.want.Apply == nil {
		return was.Applied && was.Lease == now.Lease && v.w.Snapshot.Serves(c, v.group)
	}
	return v.stands(c, now) && (was.Applied || was.Run == v.mark || v.isChanged() || was.Lease != now.Lease)
}

// own returns a part of a claim that the group holds, nil if it does not.
func (v view) own(c *state.Claim, key string) *state.Part {
	if p := c.Part(key); p != nil && p.Lease.Group() == v.group {
		return p
	}
	return nil
}

// before returns the entries that the group had of a claim before the lease has taken any of it, of those that have its mark.
func (v view) before(name string, c *state.Claim) []state.Part {
	before := protocol.Before(v.f.taken[name].Before, v.w.Snapshot.Serves(c, v.group))
	return protocol.GiveBack(c.Entries(v.group), v.mark, before)
}

// without returns the entries of a deployment group but for some.
func without(c *state.Claim, g lease.Group, goes func(state.Part) bool) []state.Part {
	return slices.DeleteFunc(slices.Clone(c.Entries(g)), goes)
}

// beside returns parts that a deployment group is to have of a claim, with its other parts, and its notes about others.
func beside(c *state.Claim, g lease.Group, parts []state.Part) []state.Part {
	return append(slices.Clip(parts), without(c, g, func(p state.Part) bool {
		return slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key || q.Key == p.For })
	})...)
}

// partsOnly returns the entries that are held; the others are notes.
func partsOnly(entries []state.Part) []state.Part {
	return slices.DeleteFunc(slices.Clone(entries), func(p state.Part) bool { return p.For != "" })
}

// evict removes the entries of holds that have ended. Where others hold parts, it removes those of one group, because a
// write changes one group.
func (v view) evict(c *state.Claim) Step {
	const why = "its hold has ended"
	if c.Ended(v.w.Time) {
		return do(Request{Verb: Delete, On: OfClaim{Name: c.Name(), Claim: c}, Why: why})
	}
	for _, g := range c.Groups() {
		kept := without(c, g, func(p state.Part) bool { return p.Ended(v.w.Time) })
		if s := allocate(c, OfClaim{Group: g, Parts: kept}, Request{Why: why}); !s.idle() {
			return s
		}
	}
	return Step{}
}
