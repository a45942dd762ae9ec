package engine

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// written returns the objects that go: those that this program wrote for the group, and those of former holders that still
// serve what the group gives up. kept are those of the group that serve another lease since a transfer.
func (v view) written() (goes []Object, others []LeftFor) {
	of := v.reading().objects
	for _, o := range of.Written(v.group, v.want.Release.Choice) {
		if id, serves := v.servesOther(of, o); serves {
			others = append(others, LeftFor{o, id})
			continue
		}
		goes = append(goes, o)
	}
	for _, c := range v.w.claimsOf(v.group) {
		for _, p := range c.PartsOf(v.group) {
			former, handed := p.Former()
			if !handed || !v.want.Release.Choice.Claim(c) {
				continue
			}
			for _, o := range of.Written(former, Choice{}) {
				if slices.Contains(o.Near, c.Name()) && of.StandsFor(o, c, p) {
					goes = append(goes, o)
				}
			}
		}
	}
	return goes, others
}

// servesOther returns the lease that holds since a transfer what an object of the group serves.
func (v view) servesOther(of Objects, o Object) (id lease.ID, serves bool) {
	for _, name := range o.Near {
		c := v.w.Claim(name)
		for _, p := range c.FormerOf(o.Group) {
			if of.StandsFor(o, c, p) {
				id, serves = p.Lease, true
			}
		}
	}
	return id, serves
}

// unserve deletes the objects, waits until they are gone, and looks at everything that the owner has once more: others take
// no lock.
func (v view) unserve() Step {
	if v.want.Release == nil {
		return Step{}
	}
	const looks = 10
	goes, _ := v.written()
	for _, o := range goes {
		if s := v.remove(o, ""); !s.idle() {
			return s
		}
	}
	if s := v.await(v.deletedObjects(), func(o Object) string {
		return fmt.Sprintf("%s to be gone (finalizers %v); its claim is kept until then", o, o.Live.GetFinalizers())
	}); !s.idle() {
		return s
	}
	switch changed := v.changed(); {
	case changed == 0 || v.reading().sent > changed:
	case v.rounds() > looks:
		return v.giveBack(fmt.Errorf("lease %s is applied again and again while it is released; end that, and release it again", v.group))
	default:
		return v.readOwner(changed, "whether anything serves what is given up")
	}
	return v.await(v.leftByOperators(), func(o Object) string {
		kind, namespace, name := o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName()
		return fmt.Sprintf("Akash's operator to remove %s; its claim is kept until then: the same command goes on. "+
			"An operator that was down when the %s was deleted never removes it: kubectl -n %s delete %s %s",
			o, kinds.MadeFrom(o.Kind).Kind, namespace, kind, name)
	})
}

// rounds returns how many readings have shown something that has gone since.
func (v view) rounds() int {
	rested := map[Stamp]bool{}
	for _, s := range v.f.objects {
		if !s.object.Runs && (!s.there || s.deleted > 0) {
			rested[s.by] = true
		}
	}
	return len(rested)
}

// leftByOperators returns what Akash's operators have made for parts that the group gives up, and that Akash's provider does
// not declare: they delete it, and until then it serves.
func (v view) leftByOperators() (made []Object) {
	of := v.reading().objects
	for _, c := range v.w.claimsOf(v.group) {
		for _, p := range c.PartsOf(v.group) {
			by, declared := of.ServedBy(c, p)
			if declared || !v.want.Release.Choice.Claim(c) {
				continue
			}
			for _, o := range by {
				known := func(x Object) bool { return x.uid() == o.uid() }
				if !o.Ours && !slices.ContainsFunc(made, known) {
					made = append(made, o)
				}
			}
		}
	}
	return made
}

// servedBy returns what still serves a part that the lease gives up. A dry run takes for gone what the operators would delete.
func (v view) servedBy(of Objects, c *state.Claim, p state.Part) (by []Object, declared bool) {
	all, declared := of.ServedBy(c, p)
	for _, o := range all {
		s, known := v.f.objects[o.uid()]
		if known && s.deleted > 0 && !o.Stays || !v.t.Settings.Waits && !declared && !o.Ours {
			continue
		}
		by = append(by, o)
	}
	return by, declared
}
