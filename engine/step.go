package engine

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Verb is what a request does.
type Verb string

// The verbs. Every Put and Delete is pinned to the claim as it was seen, or creates one where there was none.
const (
	// ReadAll reads the claims first, then the objects on which they depend.
	ReadAll Verb = "read all"
	// Announce announces the command, waits for its turn, and lists the claims of the owners and the announcements.
	Announce Verb = "announce"
	// Undo tells others that the command gives back what it took.
	Undo Verb = "undo"
	// Get reads one claim, List all of a kind.
	Get  Verb = "get"
	List Verb = "list"
	// Look reads everything of an owner: the claims first, then the objects.
	Look Verb = "look"
	// Leave compares the addresses that are left with those that orders have reserved.
	Leave Verb = "leave"
	// Put sets the parts that a deployment group holds of a claim, Delete deletes the claim.
	Put    Verb = "put"
	Delete Verb = "delete"
	// RemovePool deletes the pool of an address that nobody holds any more.
	RemovePool Verb = "remove pool"
	// GetLive reads one object by its key. PutObject applies an object as a lease wants it, CheckObject as a dry run; CreateObject
	// creates one.
	GetLive      Verb = "read"
	PutObject    Verb = "apply"
	CheckObject  Verb = "check"
	CreateObject Verb = "create"
	// Keep writes the definition that the ledger keeps.
	Keep Verb = "keep definition"
	// ReadTargets reads where hosts are reached. ReadRunning reads what a lease runs, and renders what it wants to run. TakeReserved
	// makes an order's reservation the lease's, Disown removes Akash's provider from the managers of what the lease has taken over.
	ReadTargets  Verb = "read targets"
	ReadRunning  Verb = "read workloads"
	TakeReserved Verb = "take over reservation"
	Disown       Verb = "disown"
	// GetObject reads one object. DeleteObject deletes it as it was seen, Withdraw removes this program's fields from it.
	GetObject    Verb = "get object"
	DeleteObject Verb = "delete object"
	Withdraw     Verb = "withdraw from"
	// Touch writes an object of another deployment as it is, with the mark of this work.
	Touch Verb = "touch"
	// GetDefinition reads the definition that the ledger keeps for a deployment group, Forget deletes it as it was seen.
	GetDefinition Verb = "get definition"
	Forget        Verb = "forget definition"
	// ReadRuns reads what a deployment group runs, and what its leases have reserved. Unreserve gives up the reservation of
	// a lease.
	ReadRuns  Verb = "read what runs"
	Unreserve Verb = "give up reservation"
	// ReadAnnouncements reads the announcements of all commands.
	ReadAnnouncements Verb = "read announcements"
)

// Request is one request, or a few that belong together.
type Request struct {
	Verb Verb
	// Kind is what List lists, Owner whose things Look reads.
	Kind  state.Kind
	Owner string
	// Name is the claim's, Claim the claim as it was seen: the pin. It has no UID if it is to be made.
	Name  string
	Claim *state.Claim
	// Group is whose entries Put writes, Parts are those that it has afterwards.
	Group lease.Group
	Parts []state.Part
	// Anew is true for a Put that takes a part that the lease did not hold.
	Anew bool
	// Optional is true for a write without which the work goes on, Back for one that gives something back.
	Optional, Back bool
	// Address is the address whose pool is removed.
	Address netip.Addr
	// Object is an object as it was seen. Again is true if it was read again for a delete, Read is when the reading was sent
	// that has shown it.
	Object Object
	Again  bool
	Read   Stamp
	// Definition is the kept definition as it was seen, also for a reading that shows whether it was deleted. Lease is whose
	// reservation is given up.
	Definition *kept.Definition
	Lease      lease.ID
	// Key is what GetLive reads. Apply is what is applied, by Manager, over the object Over as it was seen; nil if it is to be
	// made. Touch is true if only the mark of this work is new, Force if the fields of others are taken. Makes is true for the dry
	// run of a create.
	Key                 Key
	Apply               render.Object
	Manager             string
	Over                *unstructured.Unstructured
	Touch, Force, Makes bool
	// Taken is Over with the managed fields that it gets before it is applied; nil for those that it has.
	Taken *unstructured.Unstructured
	// Overwrites says which values of others an apply overwrites.
	Overwrites string
	// For is the object for which another one makes way.
	For Key
	// Was is the kept definition that Keep replaces, or that GetDefinition compares with if Compares is true.
	Was      *kept.Definition
	Compares bool
	// Hosts are those whose targets are read. Version is that of an earlier reading of what runs.
	Hosts   []render.UnknownHost
	Version string
	// Action is what a person is told of pools that are removed.
	Action report.Action
	// Changes is what the request changes, if that is asked for.
	Changes *plan.Change
	// Early is true for a reading of what was not read yet: it needs no turn.
	Early bool
	// Event is what a person is told once the request has succeeded, or once a reading shows that what had no answer has
	// (Shows); nil for nothing.
	Event *Event
	// Why says for what the request is, Fails what is not done if it fails.
	Why, Fails string
}

// IsShared reports whether the answer is for all leases of a transaction: it is worth more once they have written.
func (r Request) IsShared() bool {
	return r.Verb == ReadAll || r.Verb == Announce || r.Verb == List || r.Verb == Look
}

// WritesClaim reports whether the request writes a claim.
func (r Request) WritesClaim() bool { return r.Verb == Put || r.Verb == Delete }

// writesHost reports whether the request writes a claim on a host: one does not depend on that of another.
func (r Request) writesHost() bool {
	return r.WritesClaim() && r.Claim != nil && r.Claim.Kind == state.Host
}

// Target names what the request writes: leases that write the same do so one after the other. It is empty for a reading.
func (r Request) Target() string {
	switch r.Verb {
	case Put, Delete:
		return r.Name
	case PutObject, CreateObject:
		return KeyOf(r.Apply).String()
	}
	return ""
}

// MayWait reports whether the answer may wait for what other leases of the transaction do.
func (r Request) MayWait() bool { return r.Verb == Leave }

// Shows reports whether an answer says that what the request is for has been done.
func (r Request) Shows(a Answer) bool {
	switch r.Verb {
	case GetObject:
		return a.Err == nil && (a.Live == nil || a.Live.GetUID() != r.Object.uid())
	case GetDefinition:
		return a.Err == nil && a.Definition == nil && r.Definition != nil
	case Get:
		return a.Err == nil && (a.Claim == nil || slices.EqualFunc(a.Claim.Entries(r.Group), r.Parts, state.Part.Same))
	}
	return a.Err == nil
}

func (r Request) String() string {
	switch r.Verb {
	case List:
		return fmt.Sprintf("%s %s", r.Verb, r.Kind)
	case Look:
		return fmt.Sprintf("%s %s", r.Verb, r.Owner)
	case Get, Put, Delete:
		return fmt.Sprintf("%s %s", r.Verb, r.Name)
	case GetObject, DeleteObject, Withdraw, Touch:
		return fmt.Sprintf("%s %s", strings.TrimSuffix(string(r.Verb), " object"), r.Object)
	case GetDefinition, Forget, ReadRuns:
		return fmt.Sprintf("%s of %s", r.Verb, r.Group)
	case GetLive:
		return fmt.Sprintf("%s %s", r.Verb, r.Key)
	case PutObject, CheckObject, CreateObject:
		return fmt.Sprintf("%s %s", r.Verb, KeyOf(r.Apply))
	case Keep:
		return fmt.Sprintf("%s of %s", r.Verb, r.Group)
	case Unreserve:
		return fmt.Sprintf("%s of %s", r.Verb, r.Lease)
	case RemovePool:
		return fmt.Sprintf("%s %s", r.Verb, r.Address)
	}
	return string(r.Verb)
}

// Event is what a person is told of a request: what was done to a thing, or to an Object.
type Event struct {
	Action report.Action
	// Then is what is told of an object that is only deleting, once it is gone.
	Then  report.Action
	Kind  string
	Thing string
	// Object is an object that was deleted, Of the key of any other one.
	Object  Object
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
	// serve, Stays one whose successor was not in time. Budgeted is true for a wait, or a reading, of the lease's wait time.
	Tells    []Event
	Passed   *Desired
	Served   *Key
	Stays    *stay
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
	return len(s.Picks) > 0 || s.Refused != nil || len(s.Tells) > 0 || s.Passed != nil || s.Served != nil || s.Stays != nil
}

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
