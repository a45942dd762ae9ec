package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// unmovable refuses a transfer before anything is taken over: to a lease that has nothing while another lease of its deployment is
// live, of a host that the provider gives to another lease, and of what a deployment holds that is not announced.
func (v view) unmovable() Step {
	t := v.want.Transfer
	if t == nil || v.hasTaken() || v.f.wrote > 0 {
		return Step{}
	}
	d, _ := v.kept()
	if live, elsewhere := state.Elsewhere(v.id, v.reading().objects.LiveOf(v.group, d)); elsewhere && !t.Whole {
		return v.giveBack(&report.ElsewhereError{Named: v.id, Live: live, Next: fmt.Sprintf(
			"--to %s transfers to that lease; if the deployment has moved to the new one, apply the definition of that first", live)})
	}
	var refused lease.Problems
	for _, c := range v.named() {
		h, _ := v.thing(c.Name())
		why := v.t.Settings.Config.OwnDomain(c.Thing)
		if c.Owner != v.group.Owner || c.Kind.HasPorts() || why == "" {
			continue
		}
		if slices.ContainsFunc(h.Parts, func(p state.Part) bool {
			return !v.t.Settings.Config.Gives(c.Thing, config.Backend{Lease: p.Lease, Service: p.Service, Port: p.Port})
		}) {
			refused.Add(lease.Place{}, "%s %s: lease %s cannot have it", c.Thing, why, v.id)
		}
	}
	if len(refused) > 0 {
		return v.giveBack(refused)
	}
	for _, c := range v.named() {
		if c.Owner == v.group.Owner && slices.ContainsFunc(c.Groups(), func(g lease.Group) bool { return !slices.Contains(v.want.Groups(), g) }) {
			return v.giveBack(fmt.Errorf("%s %s: another deployment of the owner has taken a part of it: %w", c.Kind, c.Thing, report.ErrChanged))
		}
	}
	return Step{}
}

// disownFormer removes the former holders from the field managers of the claims that the lease has taken over: these would keep the
// fields that all holders share.
func (v view) disownFormer() Step {
	for _, c := range v.named() {
		if groups := v.disowns(c); len(groups) > 0 && v.isMarked(c) {
			return do(Request{Verb: Put, Name: c.Name(), Claim: c, Group: groups[0], Why: "it holds nothing of it any more"})
		}
	}
	return v.tellHeld()
}

// disowns returns the deployment groups that are yet to be removed from the field managers of a claim of which a transfer has moved
// a part. A dry run shows them there for ever.
func (v view) disowns(c *state.Claim) []lease.Group {
	if c == nil || v.want.Transfer == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Former), func(g lease.Group) bool { return slices.Contains(v.f.taken[c.Name()].Disowned, g) })
}

// readMoved reads everything again once the claims have moved: what the former holders have written until then is known.
func (v view) readMoved() Step {
	for _, taken := range v.f.taken {
		if len(taken.Theirs) > 0 && v.w.read <= taken.Written {
			return do(Request{Verb: ReadAll, Why: "what the former holders have"})
		}
	}
	return Step{}
}

// tellHeld tells which of the things the lease holds already.
func (v view) tellHeld() (out Step) {
	for _, c := range v.named() {
		once := "held already " + c.Name()
		_, took := v.f.taken[c.Name()]
		if took || v.f.told[once] || slices.ContainsFunc(c.Parts, func(p state.Part) bool { return p.Lease.Group() != v.group || p.Run != "" }) {
			continue
		}
		out.Tells = append(out.Tells, Event{Action: report.Skipped, Kind: string(c.Kind), Thing: c.Thing, Message: "the lease holds it already", Once: once})
	}
	return out
}

// moveBack gives the parts that were taken over back to their former holders, as far as they are as the lease has left them.
func (v view) moveBack() Step {
	if v.want.Transfer == nil {
		return Step{}
	}
	for _, name := range slices.Backward(v.takenNames()) {
		s := v.w.see(name)
		theirs := slices.DeleteFunc(slices.Clone(v.f.taken[name].Theirs), func(p state.Part) bool {
			own := s.Claim.Part(p.Key)
			return own == nil || own.Lease.Group() != v.group || own.Run != v.mark
		})
		switch {
		case v.keeps(name) != nil || s.Claim == nil || s.Claim.Deleting || s.Claim.Unreadable != "":
			continue
		case s.Stale:
			return do(Request{Verb: Get, Name: name, Back: true, Why: "it has changed"})
		case len(theirs) > 0:
			g := theirs[0].Lease.Group()
			parts := slices.DeleteFunc(slices.Clone(theirs), func(p state.Part) bool { return p.Lease.Group() != g })
			for _, p := range s.Claim.Entries(g) {
				if !slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key || q.Key == p.For }) {
					parts = append(parts, p)
				}
			}
			r := Request{Verb: Put, Name: name, Claim: s.Claim, Group: g, Parts: parts, Force: true, Back: true, Why: "it is given back"}
			if last := theirs[len(theirs)-1].Lease.Group(); last == g {
				r.Event = &Event{Action: report.Transferred, Kind: string(s.Claim.Kind), Thing: s.Claim.Thing, Message: "back", To: g}
			}
			return do(r)
		case slices.Contains(v.disowns(s.Claim), v.group):
			return do(Request{Verb: Put, Name: name, Claim: s.Claim, Group: v.group, Back: true, Why: "it holds nothing of it any more"})
		}
	}
	return Step{}
}

// touchFormer writes the objects of former holders again that stay as they are, with the mark of this work, if a command for these
// has crashed: what that one has under way fails.
func (v view) touchFormer() Step {
	if v.want.Transfer == nil {
		return Step{}
	}
	for _, g := range v.want.Transfer.From {
		if !slices.ContainsFunc(v.w.Turn.Fenced, func(a *state.Announcement) bool { return a.Names(g) }) {
			continue
		}
		for _, o := range v.reading().objects.Written(g, Choice{}) {
			s, known := v.f.objects[o.uid()]
			if v.f.touched[o.uid()] || known && (s.deleted > 0 || !s.there) || v.defines(o) {
				continue
			}
			return do(Request{Verb: Touch, Object: o, Why: "a crashed command may be about to delete it"})
		}
	}
	return Step{}
}

// tellOpen tells which of the things nothing serves for the lease yet.
func (v view) tellOpen() (out Step) {
	for _, name := range v.takenNames() {
		c, once := v.w.Claim(name), "open "+name
		open := slices.DeleteFunc(c.PartsOf(v.group), func(p state.Part) bool { return !v.open[Ground{name, p.Key}] })
		if len(open) == 0 || v.f.told[once] {
			continue
		}
		why := "nothing serves it; its routes come with the next apply of the lease"
		if slices.ContainsFunc(open, func(p state.Part) bool { return p.From != "" }) {
			why = "its routes follow with the next apply of the lease; until then the old ones serve"
		}
		out.Tells = append(out.Tells, Event{Action: report.Unconfirmed, Kind: string(c.Kind), Thing: c.Thing, Message: why, Once: once})
	}
	return out
}

// groupsText joins groups by commas.
func groupsText(groups []lease.Group) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}
