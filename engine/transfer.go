package engine

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// unmovable refuses a transfer before anything is taken over: to a lease that has nothing while another lease of its deployment is
// live, of a host that the provider gives to another lease, and of what a deployment holds that is not announced.
func (v view) unmovable() Step {
	t := v.want.Transfer
	if t == nil || v.hasTaken() || v.f.wrote > 0 {
		return Step{}
	}
	d, _ := v.kept()
	if live, elsewhere := state.Elsewhere(v.id, v.reading().is.LiveOf(v.group, d)); elsewhere && !t.Whole {
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
			return do(Request{Verb: Put, On: OfClaim{Name: c.Name(), Claim: c, Group: groups[0]}, Why: "it holds nothing of it any more"})
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
func (v view) tellHeld() Step {
	var events []Event
	for _, c := range v.named() {
		if _, took := v.f.taken[c.Name()]; took || slices.ContainsFunc(c.Parts, func(p state.Part) bool { return p.Lease.Group() != v.group || p.Run != "" }) {
			continue
		}
		events = append(events, Event{Action: report.Skipped, Kind: string(c.Kind), Thing: c.Thing, Message: "the lease holds it already", Once: "held already " + c.Name()})
	}
	return v.tells(events...)
}

// moveBack gives the parts that were taken over back to their former holders, as far as they are as the lease has left them.
func (v view) moveBack() Step {
	if v.want.Transfer == nil {
		return Step{}
	}
	names := v.takenNames()
	slices.Reverse(names)
	return v.goBack(names, func(name string, c *state.Claim) Step {
		theirs := slices.DeleteFunc(slices.Clone(v.f.taken[name].Theirs), func(p state.Part) bool {
			own := v.own(c, p.Key)
			return own == nil || own.Run != v.mark
		})
		switch {
		case len(theirs) > 0:
			g := theirs[0].Lease.Group()
			parts := slices.DeleteFunc(slices.Clone(theirs), func(p state.Part) bool { return p.Lease.Group() != g })
			r := Request{Back: true, Why: "it is given back"}
			if last := theirs[len(theirs)-1].Lease.Group(); last == g {
				r.Event = &Event{Action: report.Transferred, Kind: string(c.Kind), Thing: c.Thing, Message: "back", To: g}
			}
			return allocate(c, OfClaim{Group: g, Parts: beside(c, g, parts), Force: true}, r)
		case slices.Contains(v.disowns(c), v.group):
			return do(Request{Verb: Put, On: OfClaim{Name: name, Claim: c, Group: v.group}, Back: true, Why: "it holds nothing of it any more"})
		}
		return Step{}
	})
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
		for _, o := range v.reading().is.Written.Of(g) {
			s, known := v.f.objects[o.UID()]
			if v.did(Touch, OfObject{Object: o}) > 0 || known && s.isGone() || v.defines(o) {
				continue
			}
			return do(Request{Verb: Touch, On: OfObject{Object: o}, Why: "a crashed command may be about to delete it"})
		}
	}
	return Step{}
}

// tellOpen tells which of the things nothing serves for the lease yet.
func (v view) tellOpen() Step {
	var events []Event
	for _, name := range v.takenNames() {
		c := v.w.Claim(name)
		open := slices.DeleteFunc(c.PartsOf(v.group), func(p state.Part) bool { return !v.open[allocation{name, p.Key}] })
		if len(open) == 0 {
			continue
		}
		why := "nothing serves it; its routes come with the next apply of the lease"
		if slices.ContainsFunc(open, func(p state.Part) bool { return p.From != "" }) {
			why = "its routes follow with the next apply of the lease; until then the old ones serve"
		}
		events = append(events, Event{Action: report.Unconfirmed, Kind: string(c.Kind), Thing: c.Thing, Message: why, Once: "open " + name})
	}
	return v.tells(events...)
}

// A transfer is an apply that takes parts of claims over from other deployments of the owner: all of them, or none. The things are
// never free meanwhile: each claim changes hands by one forced write, pinned to what was read. A part names its former holder as
// long as that serves it.

// Transfer says what a lease takes over.
type Transfer struct {
	// Things are the names of hosts and IP endpoints, and addresses.
	Things []string
	// From are the other deployment groups that are announced: those that held the things when the want was made.
	From []lease.Group
	// Whole is true if the definition is applied as a whole. Else it is the one that the ledger keeps for the lease (Kept), which
	// routes what is taken over and nothing else.
	Whole bool
	Kept  *kept.Definition
}

// claims returns the claims on the things, each once.
func (t *Transfer) claims(owner string, w *World) (out []*state.Claim) {
	known := map[*state.Claim]bool{}
	for _, thing := range t.Things {
		for _, c := range state.ClaimsOn(owner, thing, w.Claim, w.claimsOfEndpoint) {
			if !known[c] {
				known[c], out = true, append(out, c)
			}
		}
	}
	return out
}

// follows reports whether the lease routes what it takes over by the definition that the ledger keeps.
func (v view) follows() bool { return v.want.Transfer != nil && !v.want.Transfer.Whole }

// named returns the claims on what the lease takes over.
func (v view) named() []*state.Claim { return v.memo.named }

func (v view) isNamed(name string) bool {
	if v.memo.isNamed == nil {
		v.memo.isNamed = map[string]bool{}
		for _, c := range v.memo.named {
			v.memo.isNamed[c.Name()] = true
		}
	}
	return v.memo.isNamed[name]
}

// withNamed adds the parts of the claims that the lease takes over to those that it asks for. open are the parts that its definition
// does not route: they keep their service, or get the one with which the lease once asked for them.
func (v view) withNamed(things []state.Hold) (_ []state.Hold, open map[allocation]bool) {
	if v.want.Transfer == nil {
		return things, nil
	}
	open = map[allocation]bool{}
	at := make(map[string]int, len(things))
	for i, h := range things {
		at[h.Name()] = i
	}
	for _, c := range v.named() {
		i, asked := at[c.Name()]
		if !asked {
			i, things = len(things), append(things, state.Hold{Kind: c.Kind, Thing: c.Thing, SharingKey: c.SharingKey})
		}
		for _, p := range c.Parts {
			own := p.Lease.Group() == v.group && p.Run == ""
			if own || slices.ContainsFunc(things[i].Parts, func(q state.Part) bool { return q.Key == p.Key }) {
				continue
			}
			things[i].Parts = append(slices.Clone(things[i].Parts), v.asAsked(c, p))
			open[allocation{c.Name(), p.Key}] = true
		}
	}
	slices.SortFunc(things, state.Hold.Compare)
	return things, open
}

// asAsked returns a part as the lease holds it, with the backend with which it asked for that while others held it.
func (v view) asAsked(c *state.Claim, p state.Part) state.Part {
	out := p
	out.Lease, out.Run, out.From, out.Expires, out.HTTP, out.Definition = v.id, "", "", "", nil, ""
	out.Applied, out.Held = false, false
	for _, w := range c.Waits {
		if w.For == p.Key && w.Lease == v.id { // another order runs in another namespace
			out.Service, out.Port = w.Service, w.Port
		}
	}
	return out
}

// routed returns the parts of a thing that the lease has and of which its definition says what serves them.
func (v view) routed(h state.Hold) []state.Part {
	parts := v.taking(h).Want.Parts
	if len(v.open) == 0 {
		return parts
	}
	return slices.DeleteFunc(slices.Clone(parts), func(p state.Part) bool { return v.open[allocation{h.Name(), p.Key}] })
}

// takesOver returns how a part of a thing is taken over, nil if it is not.
func (v view) takesOver(h state.Hold) func(*state.Claim, state.Part) string {
	c := v.w.Claim(h.Name())
	if c == nil || !v.isNamed(c.Name()) {
		return nil
	}
	return v.formerOf
}

// takenFrom returns the other deployment groups that hold parts of a claim which the lease is about to write, also as text.
func (v view) takenFrom(c *state.Claim, parts []state.Part) (groups []lease.Group, texts []string) {
	for _, p := range c.Parts {
		g := p.Lease.Group()
		if g != v.group && !slices.Contains(groups, g) && slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key }) {
			groups, texts = append(groups, g), append(texts, g.String())
		}
	}
	return groups, texts
}

// formerOf returns the deployment group that still serves a part which was transferred, or is being, as text; empty if none does, or
// the lease's own.
func (v view) formerOf(c *state.Claim, p state.Part) string {
	from := p.Lease.Group()
	if former, ok := p.Former(); ok {
		from = former
	}
	now := v.reading()
	stands := func(o observed.Object) bool {
		live := v.w.live(keyOf(o))
		gone := live.answered > now.sent && (live.live == nil || !state.SameTenant(o.Live, live.live))
		return !gone && slices.Contains(o.Near, c.Name()) && o.StandsFor(c, p)
	}
	if from == v.group || !slices.ContainsFunc(now.is.Written.Of(from), stands) {
		return ""
	}
	return from.String()
}

// isLeftAlone reports whether a transfer leaves a rendered object as the lease's last apply has left it: it serves nothing that is
// taken over, but a host's target may depend on its address.
func (v view) isLeftAlone(o render.Object) bool {
	if !v.follows() {
		return false
	}
	serves := v.grounds(o)
	return len(serves) > 0 && !slices.ContainsFunc(serves, func(g observed.Ground) bool { return v.isNamed(g.Name) })
}
