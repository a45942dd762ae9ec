package engine

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Stamp orders requests and answers: a request with a later stamp than an answer was sent after it. 0 is never.
type Stamp int

// Seen is a claim as it was read, or written: nil if there is none.
type Seen struct {
	Claim *state.Claim
	// Sent is when the request was sent that read it, Answered when its answer came; At is the same by the steady clock.
	Sent, Answered Stamp
	At             time.Time
	// Read is when the request was sent that first read this version, or the one over which the command wrote it.
	Read Stamp
	// Stale is true if a write has met another version since, or has no answer (Unclear): the claim has to be read again.
	// Misses counts such writes, Why is the error of the last one.
	Stale, Unclear bool
	Misses         int
	Why            error
}

// Taken is what a lease has taken of a claim in this transaction.
type Taken struct {
	// Before are the entries of its deployment group before that, Theirs the parts of other groups that it has taken over.
	Before, Theirs []state.Part
	// Disowned are the deployment groups that were removed from its field managers.
	Disowned []lease.Group
	// Anew is true if it has taken a part that it did not hold, or that a command held that may not have looked at the
	// wildcard above.
	Anew bool
	// Written is when the write was answered, At the same by the steady clock.
	Written Stamp
	At      time.Time
}

// Turn is what is known of the command's announcement.
type Turn struct {
	Nonce string
	// Alone is when the command was first seen to be the only one that writes for its deployment groups; 0 before. Since is
	// the same by the steady clock.
	Alone Stamp
	Since time.Time
	// Met is true if other commands have written for the groups since the objects were read, or may have.
	Met bool
	// Closing is true if an uninstall was removing the ledger when the turn came.
	Closing bool
	// Fenced are the announcements of crashed commands that this one succeeds.
	Fenced []*state.Announcement
	// Undoing is when others were told that the command gives back what it took; 0 if they were not.
	Undoing Stamp
	// Err is the error that kept the command from its turn, or ended it: another command has taken it for crashed.
	Err error
}

// World is what a command has seen, and what it has written. Only Fold and its like change it, one at a time.
type World struct {
	// Time is by the API server's clock, Clock by a steady one. Both are passed in.
	Time, Clock time.Time
	Turn        Turn
	// Snapshot is what was read of everything last. That comes first (ReadAll).
	Snapshot *observed.Snapshot
	// Interrupted is set once the user has interrupted the command.
	Interrupted error

	now Stamp
	// read is when the request for Snapshot was sent; asked is when that of the whole list of a kind was.
	read  Stamp
	lists map[state.Kind]listing
	// seen are the claims that were read or written since, by name; owned are the names of those on which each deployment group
	// has had an entry.
	seen  map[string]Seen
	owned map[lease.Group]map[string]bool
	// keyed are the names of the claims that IP endpoints have had since, by their sharing keys.
	keyed map[string]map[string]bool
	// addresses indexes the addresses as they were listed last, at the stamp listed.
	addresses *state.Addresses
	listed    Stamp
	// looks are the latest readings of everything that an owner has: the claims first, then the objects; unread those that have failed.
	looks  map[string]reading[*observed.Snapshot]
	unread map[string]reading[error]
	// lives are the objects that were read one by one, or written, since.
	lives map[Key]seenLive
	// shared are the objects as they were read last before the command has written a pool; pooled is true once it has. Leases share
	// pools: what each needs of them is decided by the same reading.
	shared *observed.Snapshot
	pooled bool
	// made are the namespaces that the command has created. told are the objects that leases share of which a person was told.
	made, told map[Key]bool
	// leases are the facts about each lease of the transaction.
	leases []*facts
}

// listing is a LIST of the claims of one kind.
type listing struct {
	byName map[string]*state.Claim
	sent   Stamp
	at     time.Time
}

// reading is what was read, when the request for it was sent, and when it was answered by the steady clock.
type reading[T any] struct {
	is   T
	sent Stamp
	at   time.Time
}

// NewWorld returns the world of a command that has seen nothing.
func NewWorld() *World {
	w := &World{seen: map[string]Seen{}, owned: map[lease.Group]map[string]bool{}, keyed: map[string]map[string]bool{}, lists: map[state.Kind]listing{}, looks: map[string]reading[*observed.Snapshot]{}, unread: map[string]reading[error]{},
		lives: map[Key]seenLive{}, made: map[Key]bool{}, told: map[Key]bool{},
	}
	return w
}

// Begin begins a transaction: what was seen stays. marks are those of the work on each lease.
func (w *World) Begin(nonce string, marks []string) {
	w.Turn = Turn{Nonce: nonce}
	w.leases = make([]*facts, len(marks))
	for i, mark := range marks {
		w.leases[i] = &facts{mark: mark, taken: map[string]Taken{}, picks: map[slot]netip.Addr{}, passed: map[netip.Addr]bool{}, did: map[string]Stamp{}, refused: map[string]error{},
			objects: map[types.UID]seenObject{}, done: map[Key]done{}, made: map[Key]*unstructured.Unstructured{},
			unclear: map[Key]Desired{}, refusals: map[Key]refusal{}, checked: map[Key]map[string]any{}, unheard: map[Key]int{}, ways: map[Key]observed.Object{}, stays: map[Key]stay{},
			served: map[Key]bool{}, led: map[Key]led{}, told: map[string]bool{},
		}
	}
}

// Send returns the stamp of a request that is sent now.
func (w *World) Send() Stamp {
	w.now++
	return w.now
}

// Claim returns a claim as it was seen last, nil if there was none.
func (w *World) Claim(name string) *state.Claim { return w.see(name).Claim }

// see returns what is known of a claim.
func (w *World) see(name string) Seen {
	s, known := w.seen[name]
	if !known {
		s = Seen{Claim: w.Snapshot.Claim(name), Sent: w.read, Answered: w.read, Read: w.read}
	}
	for kind, all := range w.lists {
		if all.byName[name] != nil || s.Claim != nil && s.Claim.Kind == kind {
			s = all.see(name, s)
		}
	}
	return s
}

// seeOf is see for a claim of a kind, which may not be in a LIST of that.
func (w *World) seeOf(kind state.Kind, name string) Seen { return w.lists[kind].see(name, w.see(name)) }

// see returns what a LIST says of a claim, unless that is known otherwise since.
func (l listing) see(name string, was Seen) Seen {
	if l.sent <= was.Answered {
		return was
	}
	return was.read(l.byName[name], l.sent, l.sent, l.at)
}

// read returns what is known of a claim after another reading.
func (s Seen) read(c *state.Claim, sent, answered Stamp, at time.Time) Seen {
	now := Seen{Claim: c, Sent: sent, Answered: answered, Read: sent, At: at, Misses: s.Misses, Why: s.Why}
	if c != nil && s.Claim != nil && c.UID == s.Claim.UID && c.ResourceVersion == s.Claim.ResourceVersion {
		now.Read = s.Read
	}
	return now
}

// note records what is known of a claim.
func (w *World) note(name string, s Seen) {
	w.seen[name] = s
	if s.Claim == nil {
		return
	}
	w.noteKey(s.Claim)
	for _, g := range s.Claim.Writers() {
		if w.owned[g] == nil {
			w.owned[g] = map[string]bool{}
		}
		w.owned[g][name] = true
	}
}

// noteKey records which IP endpoint a claim is of.
func (w *World) noteKey(c *state.Claim) {
	if !c.Kind.HasPorts() {
		return
	}
	if w.keyed[c.SharingKey] == nil {
		w.keyed[c.SharingKey] = map[string]bool{}
	}
	w.keyed[c.SharingKey][c.Name()] = true
}

// isClaimed reports whether a claim with a name exists.
func (w *World) isClaimed(name string) bool { return w.Claim(name) != nil }

// at returns an object as it was read with all others, nil if there is none.
func (w *World) at(k Key) *unstructured.Unstructured {
	return w.Snapshot.At(k.Kind, k.Namespace, k.Name)
}

// claimsOf returns the claims on which a deployment group has an entry, in the order in which claims are taken.
func (w *World) claimsOf(g lease.Group) (out []*state.Claim) {
	add := func(name string) {
		c := w.Claim(name)
		if c != nil && len(c.Entries(g)) > 0 {
			out = append(out, c)
		}
	}
	for _, c := range w.Snapshot.Claims.Held(g) {
		add(c.Name())
	}
	for name := range w.owned[g] {
		add(name)
	}
	slices.SortFunc(out, (*state.Claim).Compare)
	return slices.Compact(out)
}

// list returns the claims of a kind as they were listed last, alone or with all others, with what was read and written since.
func (w *World) list(kind state.Kind) (out []*state.Claim) {
	all, sent := maps.All(w.lists[kind].byName), w.lists[kind].sent
	if sent < w.read {
		all, sent = w.Snapshot.Claims.All(), w.read
	}
	known := map[string]bool{}
	for name, s := range w.seen {
		if s.Claim != nil && s.Claim.Kind != kind || s.Answered < sent {
			continue
		}
		if known[name] = true; s.Claim != nil {
			out = append(out, s.Claim)
		}
	}
	for name, c := range all {
		if c.Kind == kind && !known[name] {
			out = append(out, c)
		}
	}
	return out
}

// facts are what was seen of the work on one lease.
type facts struct {
	// mark is what the entries have that it writes.
	mark  string
	taken map[string]Taken
	// picks are the addresses that the lease is to take, passed those that turned out not to be for it.
	picks  map[slot]netip.Addr
	passed map[netip.Addr]bool
	// did says when the requests were sent that were done, by what is done to what (Request.deed).
	did map[string]Stamp
	// failed is the error of a request that ends the work on the lease. refused are those of writes without which it goes
	// on, by claim: notes, and what was to be given back.
	failed  error
	refused map[string]error
	// objects are those that were read again or deleted since everything was read.
	objects map[types.UID]seenObject
	// done says what the lease has done with objects, made are those that it has created, as the answer shows them; wrote is when it
	// has last written one. unclear are those whose apply had no answer.
	done    map[Key]done
	made    map[Key]*unstructured.Unstructured
	wrote   Stamp
	unclear map[Key]Desired
	// refusals are the answers that refuse an object, checked are those whose dry run was not refused, as they were sent, unheard how many
	// dry runs had no answer.
	refusals map[Key]refusal
	checked  map[Key]map[string]any
	unheard  map[Key]int
	// ways are the old routes that were deleted for new ones, by these. stays are those whose successors were not in time, served
	// the successors that were seen to serve, led the old routes to whose successors DNS leads. told names what a person was told once.
	ways   map[Key]observed.Object
	stays  map[Key]stay
	served map[Key]bool
	led    map[Key]led
	told   map[string]bool
	// began is when the lease has begun to wait for what it has written, by the steady clock: all waits share its wait time.
	began time.Time
	// targets are where its hosts are reached, running is what it runs.
	targets reading[render.Published]
	running reading[Running]
	// kept is the definition that the ledger keeps for the deployment group, runs what that runs, each with when it was read.
	kept seenDefinition
	runs reading[Runs]
	// announced is true if another command has announced itself for the deployment group.
	announced reading[bool]
	// yields is true if the lease waits for no other lease any more, because these wait for it.
	yields bool
	// outcome is how the work on the lease has ended, nil before; ended is when that was.
	outcome *Outcome
	ended   Stamp
}

// slot is a family of an IP endpoint for which a lease needs an address.
type slot struct {
	Endpoint string
	Family   config.Family
}
