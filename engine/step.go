package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Event is what a person is told of a request: what was done to a thing, or to an Object.
type Event struct {
	Action report.Action
	// Then is what is told of an object that is only deleting, once it is gone.
	Then  report.Action
	Kind  string
	Thing string
	// Object is an object that was deleted, Of the key of any other one.
	Object  observed.Object
	Of      Key
	Message string
	// From and To, Since and Until are those of a report.Event.
	From         []lease.Group
	To           lease.Group
	Since, Until time.Time
	// Once names what is told once. Changes is what goes into a plan with it; without an Action nobody is told.
	Once    string
	Changes *plan.Change
}

// Step is what happens next for a lease: Requests may be sent in any order. Picks and Refused are decisions that are folded
// at once: the addresses that the lease is to take, and why it cannot have what it wants. Without any of these, Wait says for
// what the lease waits, and Until when it looks again; the zero time until something else of the transaction has happened.
// Outcome is set once nothing is left to do.
type Step struct {
	Requests []Request
	Picks    map[slot]netip.Addr
	Refused  error
	Wait     string
	Until    time.Time
	Outcome  *Outcome
	// Tells are events that are told at once, Passed is an object that a dry run takes for written, Served a route that was seen to
	// serve, Stays one whose successor was not in time. Led is an old route to whose successor DNS leads,
	// Until resolvers may have another answer. Budgeted is true for a wait, or a reading, of the lease's wait time.
	Tells    []Event
	Passed   *Desired
	Served   *Key
	Stays    *stay
	Led      *Key
	Budgeted bool
}

func do(r ...Request) Step { return Step{Requests: r} }

// joins adds a step if all requests of both are alike, so that they may be sent at once. If it returns false, no other step is to be added.
func (s *Step) joins(next Step, alike func(Request) bool) bool {
	differs := func(r Request) bool { return !alike(r) }
	mayFollow := len(next.Requests) > 0 && !next.decides() && !slices.ContainsFunc(next.Requests, differs)
	if s.idle() {
		*s = next
		return mayFollow
	}
	if !mayFollow || len(s.Requests) >= most || slices.ContainsFunc(s.Requests, differs) {
		return false
	}
	s.Requests = append(s.Requests, next.Requests...)
	return true
}

// mayBeEarly reports whether a step only reads what was not read yet.
func (s Step) mayBeEarly() bool {
	return s.Until.IsZero() && !slices.ContainsFunc(s.Requests, func(r Request) bool { return !r.Early })
}

// removes reports whether a step deletes an object, or gives it up.
func (s Step) removes() bool {
	return slices.ContainsFunc(s.Requests, func(r Request) bool { return r.Verb == DeleteObject || r.Verb == Withdraw })
}

// idle reports whether a step has nothing to do.
func (s Step) idle() bool {
	return len(s.Requests) == 0 && !s.decides() && s.Wait == "" && s.Outcome == nil
}

// decides reports whether a step has decisions that are folded at once.
func (s Step) decides() bool {
	return len(s.Picks) > 0 || s.Refused != nil || len(s.Tells) > 0 || s.Passed != nil || s.Served != nil || s.Stays != nil || s.Led != nil
}

// change returns what a request changes, for a command that makes a plan or carries one out; nil for any other.
func (v view) change(describe func() plan.Change) *plan.Change {
	if !v.t.Settings.Plans && (v.want.Apply == nil || v.want.Apply.Only == nil) {
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
	if v.want.Apply == nil || v.want.Apply.Only == nil {
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
