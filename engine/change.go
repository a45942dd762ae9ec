package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// change returns what a request changes, for a command that makes a plan or carries one out; nil for any other.
func (v view) change(describe func() plan.Change) *plan.Change {
	if !v.t.Settings.Plans && (v.want.Apply == nil || !v.want.Apply.Limited) {
		return nil
	}
	c := describe()
	return &c
}

// changeClaim is change for the parts that the lease has of a claim. A write of marks or notes alone is no change.
func (v view) changeClaim(action plan.Action, c *state.Claim, after []state.Part) *plan.Change {
	was, is := planParts(c.PartsOf(v.group)), planParts(after)
	if maps.Equal(was, is) {
		return nil
	}
	return v.change(func() plan.Change {
		return plan.Change{Action: action, Kind: string(c.Kind), Name: c.Thing, UID: c.UID, ResourceVersion: c.ResourceVersion, Before: was, After: is}
	})
}

// planParts returns the parts of a claim as a plan shows them: the backend by path or port; nil if there are none.
func planParts(parts []state.Part) map[string]any {
	out := map[string]any{}
	for _, p := range parts {
		if p.For != "" { // a note of a withheld part
			continue
		}
		name, backend := p.Path, ""
		if _, port := p.ProtocolPort(); port != 0 {
			name = p.PortText()
		} else if name == "" {
			name = "/"
		}
		if p.Service != "" {
			backend = fmt.Sprintf("%s:%d", p.Service, p.Port)
		}
		out[name] = backend
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// limited returns the step of a lease that carries out a plan: one that would make another change ends the lease.
func (v view) limited(s Step) Step {
	if v.want.Apply == nil || !v.want.Apply.Limited {
		return s
	}
	var changes []plan.Change
	for _, r := range s.Requests {
		if r.Changes != nil && !r.Back {
			changes = append(changes, *r.Changes)
		}
	}
	for _, e := range s.Tells {
		if e.Changes != nil {
			changes = append(changes, *e.Changes)
		}
	}
	if err := v.unplanned(changes...); err != nil {
		return v.giveBack(err)
	}
	return s
}

// unplanned returns an error if the plan that the lease carries out has not one of these changes.
func (v view) unplanned(changes ...plan.Change) error {
	for _, c := range changes {
		if !slices.ContainsFunc(v.want.Apply.Only, c.Same) {
			return &report.MovedError{Lease: v.id, Moved: []string{c.ID()}, Kept: v.want.Apply.Heal}
		}
	}
	return nil
}
