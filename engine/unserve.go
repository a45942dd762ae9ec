package engine

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// written returns the objects that go: those that this program wrote for the group, and those of former holders that still
// serve what the group gives up. kept are those of the group that serve another lease since a transfer.
func (v view) written() (goes []observed.Object, others []LeftFor) {
	of := v.reading().is
	if v.fixes() != nil {
		for _, f := range v.fixes() {
			goes = append(goes, v.goingFor(f)...)
		}
		return goes, nil
	}
	chosen := state.Choice{} // an apply deletes what is not defined any more
	if v.want.Release != nil {
		chosen = v.want.Release.Choice
	}
	for _, o := range of.Chosen(v.group, chosen) {
		if v.want.Apply != nil && (!v.want.Prune || v.defines(o) || v.isStaying(o)) {
			continue
		}
		if id, serves := v.servesOther(o); serves {
			others = append(others, LeftFor{o, id})
			continue
		}
		goes = append(goes, o)
	}
	for _, c := range v.w.claimsOf(v.group) {
		for _, p := range c.PartsOf(v.group) {
			former, handed := p.Former()
			if !handed || !v.drops(c, p) {
				continue
			}
			for _, o := range of.Written.Of(former) {
				if slices.Contains(o.Near, c.Name()) && o.StandsFor(c, p) && !o.IsEntitled(v.w.claimsOf(former), v.w.Claim) {
					goes = append(goes, o)
				}
			}
		}
	}
	return append(goes, v.strays()...), others
}

// drops reports whether the group gives up its entry of a claim once nothing serves it.
func (v view) drops(c *state.Claim, p state.Part) bool {
	if v.fixes() != nil {
		return v.givesAllocation(c, p)
	}
	if v.want.Release != nil {
		return v.want.Release.Choice.Claim(c)
	}
	if v.want.Apply != nil && (v.want.Apply.Lost || v.want.Apply.Heal && !p.Applied) {
		return false
	}
	return v.want.Prune && !v.wantsPart(c, p)
}

// defines reports whether the lease wants an object of this kind and name.
func (v view) defines(o observed.Object) bool {
	return v.wanted().keys[keyOf(o)] || o.Record() != "" && slices.Contains(v.keptRecords(), keyOf(o))
}

// strays returns the routes and Services that this program wrote for other deployments, and that serve what the lease holds: the
// old ones of a transfer, or those of a command that was taken for crashed and went on writing.
func (v view) strays() (out []observed.Object) {
	if v.want.Apply == nil {
		return nil
	}
	of := v.reading().is
	for _, h := range v.things {
		c := v.w.Claim(h.Name())
		for _, o := range of.Serving(h.Name()) {
			if c != nil && o.Group != v.group && v.removes(o.Group, c) && !v.defines(o) && !of.Operators.Moves(o) && !v.isStaying(o) && v.isStray(o, h.Name()) {
				out = append(out, o)
			}
		}
	}
	return out
}

// readUnder reads everything again under an object whose delete has met another version: whether it still goes is asked of what was read
// after that. So are the claims under an object of another deployment, which this command has not announced: it may have got one of them.
func (v view) readUnder(o observed.Object) Step {
	s, known := v.f.objects[o.UID()]
	if !known || !s.there || s.stale || s.deleted > 0 {
		return Step{}
	}
	if s.misses > 0 && v.reading().sent < s.sent {
		return v.readOwner(s.sent, "it has changed: who keeps it now")
	}
	if o.Group == v.group {
		return Step{}
	}
	for _, name := range o.Near {
		if v.w.see(name).Sent < s.sent {
			return do(Request{Verb: Get, On: OfClaim{Name: name}, Why: "who holds it now"})
		}
	}
	return Step{}
}

// isStray reports whether an object of another deployment serves what the lease holds of a claim, and nothing that its own group holds.
func (v view) isStray(o observed.Object, name string) bool {
	h, asked := v.thing(name)
	c := v.w.Claim(name)
	serves := func(p state.Part) bool { return v.open[allocation{name, p.Key}] && o.StandsFor(c, p) }
	return asked && c != nil && !slices.ContainsFunc(c.PartsOf(v.group), serves) && o.IsStray(v.group, v.taking(h).Want.Parts, c, v.w.Claim)
}

// servesOther returns the lease that holds since a transfer what an object of the group serves.
func (v view) servesOther(o observed.Object) (id lease.ID, serves bool) {
	for _, name := range o.Near {
		c := v.w.Claim(name)
		for _, p := range c.FormerOf(o.Group) {
			if o.StandsFor(c, p) {
				id, serves = p.Lease, true
			}
		}
	}
	return id, serves
}

// unserve deletes the objects, waits until they are gone, and looks at everything that the owner has once more: others take
// no lock.
func (v view) unserve() Step {
	if v.want.Release == nil && v.want.Apply == nil {
		return Step{}
	}
	const looks = 10
	goes, others := v.written()
	if v.want.Apply != nil && len(others) > 0 {
		if s := v.tellKept(others); !s.idle() {
			return s
		}
	}
	if s := v.removeAll(goes); !s.idle() {
		return s
	}
	if (v.want.Apply != nil || v.fixes() != nil) && !v.givesUp() {
		return Step{}
	}
	if s := v.await(v.deletedObjects(), func(o observed.Object) string {
		return fmt.Sprintf("%s to be gone (finalizers %v); its claim is kept until then", o, o.Live.GetFinalizers())
	}); !s.idle() {
		return s
	}
	switch changed := v.changed(); {
	case changed == 0 || v.reading().sent > changed:
	case v.rounds() > looks:
		return v.giveBack(fmt.Errorf("lease %s is applied again and again by others; end that, and run this command again", v.group))
	default:
		return v.readOwner(changed, "whether anything serves what is given up")
	}
	if v.fixes() != nil {
		return Step{}
	}
	return v.await(v.leftByOperators(), func(o observed.Object) string {
		kind, namespace, name := o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName()
		return fmt.Sprintf("Akash's operator to remove %s; its claim is kept until then: the same command goes on. "+
			"An operator that was down when the %s was deleted never removes it: kubectl -n %s delete %s %s",
			o, kinds.MadeFrom(o.Kind).Kind, namespace, kind, name)
	})
}

// removeAll deletes objects in their order: those of one kind do not depend on each other. One that is named twice, for two of the hosts
// that it serves, is deleted once.
func (v view) removeAll(objects []observed.Object) (all Step) {
	named := sets.New[types.UID]()
	for _, o := range objects {
		if named.Has(o.UID()) {
			continue
		}
		named.Insert(o.UID())
		s := v.readUnder(o)
		if s.idle() {
			s = v.remove(o, "")
		}
		if !s.idle() && !all.joins(s, func(with Request) bool { return with.Verb == DeleteObject && On[OfObject](with).Object.Kind == o.Kind }) {
			break
		}
	}
	return all
}

// givesUp reports whether the group has an entry that goes once nothing serves it.
func (v view) givesUp() bool {
	return slices.ContainsFunc(v.w.claimsOf(v.group), func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(v.group), func(p state.Part) bool { return v.drops(c, p) })
	})
}

// tellKept tells which objects are kept for another lease since a transfer.
func (v view) tellKept(others []LeftFor) Step {
	var events []Event
	for _, o := range others {
		message := fmt.Sprintf("it is kept for lease %s until that is applied", o.Lease.Group())
		events = append(events, Event{Action: report.Kept, Of: keyOf(o.Object), Message: message, Once: "kept " + string(o.Object.UID())})
	}
	return v.tells(events...)
}

// rounds returns how many readings have shown something that has gone since.
func (v view) rounds() int {
	rested := map[Stamp]bool{}
	for _, s := range v.f.objects {
		if !s.object.Runs && s.isGone() {
			rested[s.by] = true
		}
	}
	return len(rested)
}

// leftByOperators returns what Akash's operators have made for parts that the group gives up, and that Akash's provider does
// not declare: they delete it, and until then it serves.
func (v view) leftByOperators() (made []observed.Object) {
	of := v.reading().is
	for _, c := range v.w.claimsOf(v.group) {
		for _, p := range c.PartsOf(v.group) {
			if !v.drops(c, p) {
				continue
			}
			by, declared := of.ServedBy(c, p)
			if declared {
				continue
			}
			for _, o := range by {
				known := func(x observed.Object) bool { return x.UID() == o.UID() }
				if !o.Ours && !slices.ContainsFunc(made, known) {
					made = append(made, o)
				}
			}
		}
	}
	return made
}

// servedBy returns what still serves a part that the lease gives up. A dry run takes for gone what the operators would delete.
func (v view) servedBy(of *observed.Snapshot, c *state.Claim, p state.Part) (by []observed.Object, declared bool) {
	all, declared := of.ServedBy(c, p)
	for _, o := range all {
		s, known := v.f.objects[o.UID()]
		if known && s.deleted > 0 && !o.Stays || !v.t.Settings.Waits && !declared && !o.Ours {
			continue
		}
		by = append(by, o)
	}
	return by, declared
}
