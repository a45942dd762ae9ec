package ledger_test

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// holds is true where a deployment group holds what an object serves, or serves it for another since a
// transfer.
func (v view) holds(g lease.Group, is func(*state.Claim, state.Part) bool) bool {
	return slices.ContainsFunc(v.claims, func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Parts, func(p state.Part) bool {
			former, _ := p.Former()
			return is(c, p) && (p.Lease.Group() == g || former == g)
		})
	})
}

// entitled is true for an object that rests on a claim of its deployment group.
func (v view) entitled(o thing) bool {
	switch o.resource {
	case "services", "providerleasedips":
		port := state.PortObjectOf(&o.live)
		key := state.PortKey(port.Protocol, port.Port)
		if o.resource == "services" {
			service := state.ServiceObjectOf(&o.live)
			key, port.SharingKey = state.PortKey(service.Protocol, service.Port), service.SharingKey
		}
		return v.holds(o.group, func(c *state.Claim, p state.Part) bool { return c.SharingKey == port.SharingKey && p.Key == key })
	}
	for _, u := range state.HostUses(&o.live) {
		if !v.holds(o.group, func(c *state.Claim, p state.Part) bool { return c.Thing == u.Host && p.Key == state.RouteKey(u.Path) }) {
			return false
		}
	}
	return true
}

// has is true where an object is there, or its successor of the same UID.
func (v view) has(o thing) bool {
	return slices.ContainsFunc(v.things, func(is thing) bool { return is.live.GetUID() == o.live.GetUID() })
}

// serves are the kinds of object that a part needs, and whether each is there.
func (v view) serves(c *state.Claim, p state.Part) (missing []string) {
	has := func(is func(thing) bool, kinds ...string) {
		if !slices.ContainsFunc(v.things, func(o thing) bool {
			return slices.Contains(kinds, o.resource) && o.group == p.Lease.Group() && is(o)
		}) {
			missing = append(missing, kinds[0])
		}
	}
	if c.Kind.HasPorts() {
		has(func(o thing) bool { return state.ServiceObjectOf(&o.live).SharingKey == c.SharingKey }, "services")
		has(func(o thing) bool { return state.PortObjectOf(&o.live).SharingKey == c.SharingKey }, "providerleasedips")
		return missing
	}
	of := func(o thing) bool {
		return slices.ContainsFunc(state.HostUses(&o.live), func(u state.Use) bool { return u.Host == c.Thing })
	}
	has(of, "ingresses", "httproutes")
	has(of, "providerhosts")
	return missing
}

// inDoubt is true for what a run has taken that another one has taken for crashed: it may not give it back.
func (v view) inDoubt(p state.Part) bool {
	a := v.announced[state.NonceOf(p.Run)]
	return a != nil && a.Phase == state.Fenced && a.FencedBy != a.Nonce
}

// judge looks at what a torn command has left, beside what was there before it.
func (p pair) judge(t *testing.T, w *world, before, after view, where string) {
	t.Helper()
	for _, o := range after.things {
		// What served without a claim before may do so still.
		was := p.before == "orphaned" && !before.entitled(o) && before.has(o)
		if !was && !after.entitled(o) {
			t.Errorf("%s serves without a claim%s", o, where)
		}
	}
	for _, c := range after.claims {
		for _, part := range c.Parts {
			if part.Run != "" && !after.inDoubt(part) {
				t.Errorf("%s has the mark of a run%s", c.Thing, where)
			}
			_, transferring := part.Former()
			// What is only reserved names no backend, and what a transfer has found unserved is not applied.
			routed := part.Applied || part.Service != "" && p.torn.name != "transfer" && p.other.name != "transfer"
			if missing := after.serves(c, part); routed && !transferring && len(missing) > 0 {
				t.Errorf("%s of %s is claimed, and its %v are not there%s", c.Thing, part.Lease, missing, where)
			}
		}
	}
	if after.closed && len(after.claims) > 0 {
		t.Errorf("the ledger is gone with %d claims%s", len(after.claims), where)
	}
	for _, o := range before.things {
		mine := o.group.Owner == owner(w.name+"a")
		if p.torn.name == "release --all" || mine && !slices.Contains([]string{"repair", "uninstall", "reserve"}, p.torn.name) || p.before == "orphaned" {
			continue // it may go
		}
		if !after.has(o) {
			t.Errorf("%s was deleted%s", o, where)
		}
	}
	if !slices.Contains([]string{"apply", "reserve", "transfer -f"}, p.torn.name) {
		a := func(c *state.Claim) bool { return c.Owner == owner(w.name+"a") }
		if !slices.ContainsFunc(before.claims, a) && slices.ContainsFunc(after.claims, a) {
			t.Errorf("it is claimed for a lease that was released%s", where)
		}
	}
}
