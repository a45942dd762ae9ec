package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Answer is the answer to a request.
type Answer struct {
	// Stale is true if the claim was not as it was seen, Unclear if the request may have taken effect all the same. Over is
	// true if the command may write nothing more: another one has taken it for crashed, or the API server is away. Err is what
	// the API server said, also with one of these; alone it says that the request was refused.
	Stale, Unclear, Over bool
	Err                  error
	// Claim is the claim as it was read or written, nil if there is none.
	Claim *state.Claim
	// Claims are those that were listed, Snapshot is what was read after them.
	Claims   []*state.Claim
	Snapshot *observed.Snapshot
	// Turn is the command's turn, for Announce. Owners are those whose claims were listed with it.
	Turn   Turn
	Owners []string
	// Live is the object as it was read, Definition the kept definition; nil if there is none.
	Live       *unstructured.Unstructured
	Definition *kept.Definition
	// Made is true if an apply has created the object, of which Live is what the answer shows. Owned is true if other field managers
	// refuse it: Managers.
	Made, Owned bool
	Managers    []string
	// Targets are where hosts are reached, Running is what a lease runs and wants to run.
	Targets render.Published
	Running Running
	// Runs is what the deployment group runs. Announced is true if another command has announced itself for it.
	Runs      Runs
	Announced bool
}

// errUnanswered is part of the error of a request that may have taken effect all the same.
var errUnanswered = errors.New("the API server did not answer whether it was done")

// Fold adds the answer to a request of a lease, which was sent at a stamp.
func (w *World) Fold(t *Transaction, place int, r Request, a Answer, sent Stamp) {
	answered, f := w.Send(), w.leases[place]
	if a.Over {
		w.Turn.Err = a.Err
	}
	if a.Unclear {
		a.Err = fmt.Errorf("%w: %w", errUnanswered, a.Err)
	}
	switch {
	case a.Err != nil && r.Verb == PutObject && !a.Over, r.Verb == CheckObject && !a.Over:
	case a.Err != nil && !a.Stale:
		w.fail(f, r, a.Err, sent)
		return
	}
	if !a.Stale && a.Err == nil {
		f.did[r.deed()] = sent
	}
	switch r.Verb {
	case GetLive:
		w.seeLive(r.On.(Key), a.Live, sent, answered)
	case PutObject:
		w.foldPut(f, r, a, answered)
	case CheckObject:
		w.foldCheck(t, f, r, a, answered)
	case CreateObject:
		k := KeyOf(On[OfRendered](r).Apply)
		if w.made[k] = true; a.Made {
			f.done[k] = done{action: report.Created}
		}
	case Keep:
		f.kept.foldKeep(r, a, answered)
	case ReadTargets:
		f.targets = reading[render.Published]{a.Targets, sent, w.Clock}
	case ReadRunning:
		w.foldRunning(f, a, sent, answered)
	case TakeReserved:
		if a.Running.Version != "" {
			w.foldRunning(f, a, sent, answered)
		}
	case ReadAll:
		w.ReadAll(a.Snapshot, sent)
	case Announce:
		w.foldTurn(t, a, sent)
	case Undo:
		w.Turn.Undoing = answered
	case Get:
		if !a.Stale {
			w.fold(On[OfClaim](r).Name, a.Claim, sent, answered)
		}
	case List:
		w.foldList(state.Kind(On[OfKind](r)), a.Claims, sent)
	case Look:
		owner := string(On[OfOwner](r))
		w.looks[owner] = reading[*observed.Snapshot]{a.Snapshot, sent, w.Clock}
		w.foldOwner(a.Claims, []string{owner}, sent)
	case RemovePool:
		if a.Stale { // somebody has taken the address
			w.fold(state.AddressName(On[OfPool](r).Address), a.Claim, sent, answered)
			return
		}
		for _, kind := range kinds.Pools {
			k := Key{kind, t.Settings.Config.IP.MetalLBNamespace, config.AddressPoolName(On[OfPool](r).Address)}
			w.seeLive(k, nil, sent, answered)
		}
	case GetObject:
		f.foldObject(r, a.Live, sent, answered, w.Clock)
		w.seeLive(keyOf(On[OfObject](r).Object), a.Live, sent, answered)
	case DeleteObject, Withdraw:
		f.foldDelete(r, a, sent, answered, w.Clock)
		on := On[OfObject](r)
		if r.Optional && a.Stale && f.objects[on.Object.UID()].misses >= t.Settings.Tries {
			f.refused[r.known()] = inVain(keyOf(on.Object), "deleted", on.Object.Live, a.Err)
		}
		if s := f.objects[on.Object.UID()]; !a.Stale && !s.there && r.Verb == DeleteObject {
			w.seeLive(keyOf(on.Object), nil, sent, answered)
		}
		if on.For != (Key{}) {
			f.ways[on.For] = on.Object
		}
	case GetDefinition:
		f.kept.foldRead(r, a, sent, f.mark)
		on := On[OfDefinition](r)
		w.Turn.Met = w.Turn.Met || on.Compares && !a.Definition.IsVersion(on.Was)
	case Forget:
		f.kept.fold(r, a, w.Clock)
	case ReadRuns:
		f.runs = reading[Runs]{a.Runs, sent, w.Clock}
	case ReadAnnouncements:
		f.announced = reading[bool]{a.Announced, sent, w.Clock}
	case Put, Delete:
		w.foldWrite(f, r, a, answered)
		if r.Optional && a.Stale && w.see(r.known()).Misses >= t.Settings.Tries {
			f.refused[r.known()] = a.Err
		}
	}
}

// fail records a request that was refused.
func (w *World) fail(f *facts, r Request, err error, sent Stamp) {
	if r.Fails != "" {
		err = fmt.Errorf("%s: %w", r.Fails, err)
	}
	if e := r.Event; e != nil && !r.Back && r.WritesClaim() && (e.Action == report.Released || e.Action == report.Pruned) {
		err = fmt.Errorf("%s %s could not be released: %w", e.Kind, e.Thing, err)
	}
	switch {
	case r.Back, r.Optional:
		f.refused[r.known()] = err
	case r.Verb == Look:
		w.unread[r.On.String()] = reading[error]{err, sent, w.Clock}
		f.failed = cmp.Or(f.failed, err)
	case r.Verb == Announce, r.Verb == Undo:
		w.Turn.Err = cmp.Or(w.Turn.Err, err)
	case f.failed == nil:
		f.failed = err
	}
}

// ReadAll folds a reading of all claims, and of the objects after them, whose request was sent at a stamp.
func (w *World) ReadAll(snapshot *observed.Snapshot, sent Stamp) {
	w.read, w.Snapshot, w.Turn.Met = sent, snapshot, false
	for name, s := range maps.Clone(w.seen) {
		if s.Answered < sent {
			w.fold(name, snapshot.Claim(name), sent, sent)
		}
	}
	maps.DeleteFunc(w.seen, func(_ string, s Seen) bool { return s.Answered == sent && s.Misses == 0 })
	w.addresses, w.listed = snapshot.Addresses, sent
	w.forgetLive(sent)
	if !w.pooled {
		w.shared = snapshot
	}
}

// fold records a reading of a claim, unless a later answer is known.
func (w *World) fold(name string, c *state.Claim, sent, answered Stamp) {
	if was := w.see(name); was.Answered < sent {
		w.note(name, was.read(c, sent, answered, w.Clock))
	}
}

// foldOwner records the claims of owners: what was not listed is not there.
func (w *World) foldOwner(claims []*state.Claim, owners []string, sent Stamp) {
	listed := map[string]bool{}
	for _, c := range claims {
		listed[c.Name()] = true
		w.fold(c.Name(), c, sent, sent)
	}
	gone := func(name string, c *state.Claim) {
		if c != nil && c.Unreadable == "" && slices.Contains(owners, c.Owner) && !listed[name] {
			w.fold(name, nil, sent, sent)
		}
	}
	for name, c := range w.Snapshot.Claims.All() {
		gone(name, c)
	}
	for name, s := range maps.Clone(w.seen) {
		gone(name, s.Claim)
	}
}

func (w *World) foldList(kind state.Kind, claims []*state.Claim, sent Stamp) {
	byName := make(map[string]*state.Claim, len(claims))
	for _, c := range claims {
		byName[c.Name()] = c
		w.noteKey(c)
	}
	w.lists[kind] = listing{byName, sent, w.Clock}
	if kind == state.Address {
		w.addresses, w.listed = w.Snapshot.Addresses.With(claims), sent
		for _, f := range w.leases {
			clear(f.passed)
		}
	}
}

// foldTurn records that the command is alone with its groups. What was read before stands if nobody was met and the claims of
// the groups are as they were; else everything is read again, and what was decided before is decided again.
func (w *World) foldTurn(t *Transaction, a Answer, sent Stamp) {
	was := map[lease.Group][]*state.Claim{}
	for _, g := range t.Groups() {
		was[g] = w.claimsOf(g)
	}
	w.Turn = a.Turn
	w.Turn.Alone, w.Turn.Since = sent, w.Clock
	if len(a.Owners) > 0 {
		w.foldOwner(a.Claims, a.Owners, sent)
	}
	for _, g := range t.Groups() {
		same := func(c, d *state.Claim) bool {
			return c.UID == d.UID && c.ResourceVersion == d.ResourceVersion && slices.EqualFunc(c.Entries(g), d.Entries(g), state.Part.Same)
		}
		w.Turn.Met = w.Turn.Met || !slices.EqualFunc(was[g], w.claimsOf(g), same)
	}
	if !w.Turn.Met {
		return
	}
	for _, f := range w.leases {
		f.outcome, f.failed = nil, nil
		f.kept, f.runs, f.running, f.targets = seenDefinition{}, reading[Runs]{}, reading[Running]{}, reading[render.Published]{}
	}
}

// foldWrite records the answer to a write.
func (w *World) foldWrite(f *facts, r Request, a Answer, answered Stamp) {
	on := On[OfClaim](r)
	isMarked := func(p state.Part) bool { return p.Run == f.mark }
	if r.Verb == Put && !a.Stale && !protocol.Holds(a.Claim, on.Group, on.Parts) {
		a.Stale = true
	}
	if r.Verb == Put && slices.ContainsFunc(on.Parts, isMarked) && (!a.Stale || a.Unclear) {
		known := f.taken[on.Name]
		if before := on.Claim.Entries(on.Group); !slices.ContainsFunc(before, isMarked) {
			known.Before = before
		}
		for _, p := range on.Claim.Parts {
			same := func(q state.Part) bool { return q.Key == p.Key }
			if on.Force && p.Lease.Group() != on.Group && slices.ContainsFunc(on.Parts, same) {
				known.Theirs = append(slices.DeleteFunc(slices.Clone(known.Theirs), same), p) // an earlier write may have had no answer
			}
		}
		if known.Written == 0 || on.Anew {
			known.Anew, known.Written, known.At = known.Anew || on.Anew, answered, w.Clock
		}
		f.taken[on.Name] = known
	}
	if known, took := f.taken[on.Name]; took && r.Verb == Put && len(on.Parts) == 0 && !a.Stale {
		known.Disowned = append(known.Disowned, on.Group)
		f.taken[on.Name] = known
	}
	was, s := w.see(on.Name), Seen{Claim: a.Claim, Sent: answered, Answered: answered, At: w.Clock}
	s.Read = was.Read
	if a.Stale {
		s.Claim, s.Stale, s.Unclear, s.Misses, s.Why = was.Claim, true, a.Unclear, was.Misses+1, a.Err
	}
	w.note(on.Name, s)
}
