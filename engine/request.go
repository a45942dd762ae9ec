package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Verb is what a request does.
type Verb string

// The verbs, with what they are done to.
const (
	// ReadAll reads the claims first, then the objects on which they depend.
	ReadAll Verb = "read all"
	// Announce announces the command, waits for its turn, and lists the claims of the owners and the announcements.
	Announce Verb = "announce"
	// Undo tells others that the command gives back what it took.
	Undo Verb = "undo"
	// Get reads one claim (OfClaim), List all of a kind (OfKind).
	Get  Verb = "get"
	List Verb = "list"
	// Look reads everything of an owner (OfOwner): the claims first, then the objects.
	Look Verb = "look"
	// Leave compares the addresses that are left with those that orders have reserved.
	Leave Verb = "leave"
	// Put sets the parts that a deployment group holds of a claim, Delete deletes the claim (OfClaim).
	Put    Verb = "put"
	Delete Verb = "delete"
	// RemovePool deletes the pool of an address that nobody holds any more (OfPool). It is stale, with the claim, if somebody does.
	RemovePool Verb = "remove pool"
	// GetLive reads one object (Key). PutObject applies an object as a lease wants it, CheckObject as a dry run; CreateObject
	// creates one (OfRendered).
	GetLive      Verb = "read"
	PutObject    Verb = "apply"
	CheckObject  Verb = "check"
	CreateObject Verb = "create"
	// ReadTargets reads where hosts are reached (OfHosts). ReadRunning reads what a lease runs, and renders what it wants to run
	// (OfVersion). TakeReserved makes an order's reservation the lease's, Disown removes Akash's provider from the managers of what the
	// lease has taken over.
	ReadTargets  Verb = "read targets"
	ReadRunning  Verb = "read workloads"
	TakeReserved Verb = "take over reservation"
	Disown       Verb = "disown"
	// GetObject reads an object that was seen. DeleteObject deletes it as it was seen, Withdraw removes this program's fields from it;
	// Touch writes one of another deployment as it is, with the mark of this work (OfObject).
	GetObject    Verb = "get object"
	DeleteObject Verb = "delete object"
	Withdraw     Verb = "withdraw from"
	Touch        Verb = "touch"
	// GetDefinition reads the definition that the ledger keeps for a deployment group, Keep writes it, Forget deletes it (OfDefinition).
	GetDefinition Verb = "get definition"
	Keep          Verb = "keep definition"
	Forget        Verb = "forget definition"
	// ReadRuns reads what a deployment group runs, and what its leases have reserved (lease.Group). Unreserve gives up the reservation of
	// a lease (lease.ID).
	ReadRuns  Verb = "read what runs"
	Unreserve Verb = "give up reservation"
	// ReadAnnouncements reads the announcements of all commands for a deployment group (lease.Group).
	ReadAnnouncements Verb = "read announcements"
)

// verbs say of a verb to what its write is pinned, which is empty for what is pinned to nothing; whether the answer is for all leases of a
// transaction, or may wait for what others of them do; and what an answer without an error shows to be done, where that is not everything.
var verbs = map[Verb]struct {
	pinned        string
	shared, waits bool
	shows         func(on fmt.Stringer, a Answer) bool
}{
	ReadAll:      {shared: true},
	Announce:     {shared: true},
	List:         {shared: true},
	Look:         {shared: true},
	Leave:        {waits: true},
	Put:          {pinned: "the claim as it was seen, or that there is none"},
	Delete:       {pinned: "the claim as it was seen"},
	PutObject:    {pinned: "the object as it was seen, or that there is none"},
	CreateObject: {pinned: "that there is none"},
	DeleteObject: {pinned: "the object as it was seen"},
	Touch:        {pinned: "the object as it is, if it is the same one"},
	Keep:         {pinned: "the definition as it was seen, or that there is none"},
	Forget:       {pinned: "the definition as it was seen"},
	Get:          {shows: func(on fmt.Stringer, a Answer) bool { return on.(OfClaim).isDone(a.Claim) }},
	GetObject: {shows: func(on fmt.Stringer, a Answer) bool {
		return a.Live == nil || a.Live.GetUID() != on.(OfObject).Object.UID()
	}},
	GetDefinition: {shows: func(on fmt.Stringer, a Answer) bool {
		return a.Definition == nil && on.(OfDefinition).Definition != nil
	}},
}

// IsPinned reports whether a verb writes what has to be as it was seen.
func (v Verb) IsPinned() bool { return verbs[v].pinned != "" }

// Request is one request, or a few that belong together.
type Request struct {
	Verb Verb
	// On is what the verb is done to, or by; nil for what needs no word.
	On fmt.Stringer
	// Optional is true for what may fail while the work goes on, Back for one that gives something back. Early is true for a reading of what
	// was not read yet: it needs no turn.
	Optional, Back, Early bool
	// Changes is what the request changes, if that is asked for.
	Changes *plan.Change
	// Event is what a person is told once the request has succeeded, or once a reading shows that what had no answer has
	// (Shows); nil for nothing.
	Event *Event
	// Why says for what the request is, Fails what is not done if it fails.
	Why, Fails string
}

// On returns what the verb of a request is done to; the zero value if that is something else.
func On[T fmt.Stringer](r Request) T {
	on, _ := r.On.(T)
	return on
}

// OfClaim is a claim by its name, and as it was seen: it has no UID if it is to be made. Group is whose entries are written, Parts are those
// that it has afterwards.
type OfClaim struct {
	Name  string
	Claim *state.Claim
	Group lease.Group
	Parts []state.Part
	// Anew is true for a Put that takes a part that the lease did not hold, Force if it takes parts of others.
	Anew, Force bool
}

func (on OfClaim) String() string { return on.Name }

// isDone reports whether a claim is as it was to be written.
func (on OfClaim) isDone(c *state.Claim) bool {
	return c == nil || slices.EqualFunc(c.Entries(on.Group), on.Parts, state.Part.Same)
}

// OfObject is an object as it was seen. Again is true if it was read again for a delete, Read is when the reading was sent that has shown it.
// For is the object for which it makes way.
type OfObject struct {
	Object observed.Object
	Again  bool
	Read   Stamp
	For    Key
}

func (on OfObject) String() string { return on.Object.String() }

// OfRendered is an object that Manager applies over the one that was seen; nil if it is to be made.
type OfRendered struct {
	Apply   render.Object
	Manager string
	Over    *unstructured.Unstructured
	// Taken is Over with the managed fields that it gets before it is applied; nil for those that it has.
	Taken *unstructured.Unstructured
	// Touch is true if only the mark of this work is new, Force if the fields of others are taken, Again if another version was met before.
	// Makes is true for the dry run of a create.
	Touch, Force, Again, Makes bool
	// Overwrites says which values of others an apply overwrites.
	Overwrites string
}

func (on OfRendered) String() string { return KeyOf(on.Apply).String() }

// OfDefinition is the definition that the ledger keeps for a deployment group: the one to write, or as it was seen, also for a reading that
// shows whether it was deleted. Was is the one that is replaced, or compared with if Compares is true.
type OfDefinition struct {
	Group           lease.Group
	Definition, Was *kept.Definition
	Compares        bool
}

func (on OfDefinition) String() string { return on.Group.String() }

// OfKind are the claims of a kind.
type OfKind state.Kind

func (on OfKind) String() string { return string(on) }

// OfOwner is what an owner has.
type OfOwner string

func (on OfOwner) String() string { return string(on) }

// OfPool is the pool of an address. Action is what a person is told of pools that are removed.
type OfPool struct {
	Address netip.Addr
	Action  report.Action
}

func (on OfPool) String() string { return on.Address.String() }

// OfHosts are the hosts whose targets are read.
type OfHosts []render.UnknownHost

func (OfHosts) String() string { return "" }

// OfVersion is that of an earlier reading of what runs.
type OfVersion string

func (OfVersion) String() string { return "" }

// IsShared reports whether the answer is for all leases of a transaction: it is worth more once they have written.
func (r Request) IsShared() bool { return verbs[r.Verb].shared }

// WritesClaim reports whether the request writes a claim.
func (r Request) WritesClaim() bool { return r.Verb == Put || r.Verb == Delete }

// writesHost reports whether the request writes a claim on a host: one does not depend on that of another.
func (r Request) writesHost() bool {
	c := On[OfClaim](r).Claim
	return r.WritesClaim() && c != nil && c.Kind == state.Host
}

// Target names what the request writes: leases that write the same do so one after the other. It is empty for a reading.
func (r Request) Target() string {
	if r.WritesClaim() || r.Verb == PutObject || r.Verb == CreateObject {
		return r.On.String()
	}
	return ""
}

// MayWait reports whether the answer may wait for what other leases of the transaction do.
func (r Request) MayWait() bool { return verbs[r.Verb].waits }

// Shows reports whether an answer says that what the request is for has been done.
func (r Request) Shows(a Answer) bool {
	shows := verbs[r.Verb].shows
	return a.Err == nil && (shows == nil || shows(r.On, a))
}

// known is by what it is known that the request has failed.
func (r Request) known() string {
	switch on := r.On.(type) {
	case nil:
		return ""
	case OfObject:
		return string(on.Object.UID())
	case OfDefinition:
		return kept.Name(on.Group)
	}
	return r.On.String()
}

// deed is what the request does, by what its effect is remembered.
func (r Request) deed() string { return string(r.Verb) + " " + r.known() }

// did returns when the request was sent that has done something for the lease; 0 if it was not done.
func (v view) did(verb Verb, on fmt.Stringer) Stamp {
	return v.f.did[Request{Verb: verb, On: on}.deed()]
}

func (r Request) String() string {
	switch r.On.(type) {
	case nil, OfHosts, OfVersion:
		return string(r.Verb)
	case lease.Group, lease.ID, OfDefinition:
		if r.Verb != ReadAnnouncements {
			return fmt.Sprintf("%s of %s", r.Verb, r.On)
		}
		return string(r.Verb)
	}
	return fmt.Sprintf("%s %s", strings.TrimSuffix(string(r.Verb), " object"), r.On)
}
