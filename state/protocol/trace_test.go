package protocol_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Traces of the protocol of claims, line by line: testdata/claims has one for every row of the table in docs/ledger.md that is about
// claims, for races and for crashes. `go test ./state/protocol -rewrite` writes what the protocol says now.
//
// A block is a story that begins with an empty ledger:
//
//	run NAME GROUP KIND THING PART... [impatient] [relied] [one-port] [expires=5m]
//	step NAME...      the next request of a run, and what it does then
//	finish NAME...    all its requests to the end
//	fail NAME         the run's work fails: next it gives back what it took
//	lose NAME         its next write takes effect, and the answer is lost
//	release GROUP THING | terminate THING | gone THING | clock +5m | ledger
//
// A run that crashes is one that is not named any more.
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata/claims", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			w := &world{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), claims: map[string]*state.Claim{}, runs: map[string]*run{}, out: &out}
			for line := range strings.Lines(d.Input) {
				w.obey(t, strings.Fields(line))
			}
			return out.String()
		})
	})
}

// world is a ledger with the API server's pins, and runs that make one request at a time.
type world struct {
	now     time.Time
	claims  map[string]*state.Claim
	runs    map[string]*run
	version int
	out     *strings.Builder
}

// run is the work of one run on one claim.
type run struct {
	name             string
	group            lease.Group
	want             state.Hold
	patient, relied  bool
	onePort          bool
	next             func(*world, *run)
	loses            bool
	saw              *state.Claim
	taken            protocol.Taken
	before           []state.Part
	took, anew, over bool
}

func (w *world) obey(t *testing.T, words []string) {
	t.Helper()
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "run":
		w.runs[words[1]] = newRun(t, w, words[1:])
	case "step", "finish":
		for _, name := range words[1:] {
			r := w.runs[name]
			if r == nil {
				t.Fatalf("there is no run %s", name)
			}
			for first := true; first || words[0] == "finish" && !r.over; first = false {
				r.next(w, r)
			}
		}
	case "fail":
		w.runs[words[1]].next = (*world).undo
	case "lose":
		w.runs[words[1]].loses = true
	case "release":
		w.write(w.claims[words[2]], groupOf(t, words[1]), nil)
		w.show(words[2])
	case "terminate":
		w.claims[words[1]].Deleting = true
		w.show(words[1])
	case "gone":
		delete(w.claims, words[1])
	case "clock":
		d, err := time.ParseDuration(strings.TrimPrefix(words[1], "+"))
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(d)
	case "ledger":
		for _, name := range slices.Sorted(maps.Keys(w.claims)) {
			w.show(name)
		}
		if len(w.claims) == 0 {
			w.say("the ledger is empty")
		}
	default:
		t.Fatalf("%q is no command", words[0])
	}
}

func groupOf(t *testing.T, text string) lease.Group {
	t.Helper()
	owner, dseq, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(dseq, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return lease.Group{Owner: owner, DSeq: n, GSeq: 1}
}

func newRun(t *testing.T, w *world, words []string) *run {
	t.Helper()
	r := &run{name: words[0], group: groupOf(t, words[1]), patient: true, next: (*world).read}
	r.want = state.Hold{Kind: state.Kind(words[2]), Thing: words[3]}
	if r.want.Kind == state.Endpoint {
		r.want.SharingKey = r.want.Thing
	}
	expires := ""
	for _, word := range words[4:] {
		switch value, isExpires := strings.CutPrefix(word, "expires="); {
		case isExpires:
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			expires = w.now.Add(d).Format(time.RFC3339)
		case word == "impatient":
			r.patient = false
		case word == "relied":
			r.relied = true
		case word == "one-port":
			r.onePort = true
		default:
			r.want.Parts = append(r.want.Parts, r.part(t, word))
		}
	}
	for i := range r.want.Parts {
		r.want.Parts[i].Expires = expires
	}
	return r
}

func (r *run) part(t *testing.T, text string) state.Part {
	t.Helper()
	p := state.Part{Lease: lease.ID{Owner: r.group.Owner, DSeq: r.group.DSeq, GSeq: 1, OSeq: 1, Provider: "P"}}
	if strings.HasPrefix(text, "/") {
		p.Path, p.Key = text, state.RouteKey(text)
		return p
	}
	port, protocol, _ := strings.Cut(text, "/")
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	p.Key = state.PortKey(lease.Protocol(strings.ToUpper(protocol)), uint16(n))
	return p
}

func (w *world) say(format string, args ...any) { fmt.Fprintf(w.out, format+"\n", args...) }

// show prints a claim: its object, its owner, and the holder of each part.
func (w *world) show(thing string) {
	c := w.claims[thing]
	if c == nil {
		w.say("  %s: no claim", thing)
		return
	}
	var parts []string
	for _, p := range c.Parts {
		text := fmt.Sprintf("%s %s/%d", name(p), p.Lease.Owner, p.Lease.DSeq)
		for _, note := range []struct {
			is   bool
			text string
		}{
			{p.Run != "", " (mark of " + p.Run + ")"}, {c.Kind == state.Wildcard && !p.Bound, " (pending)"},
			{p.Expires != "" && (c.Kind != state.Wildcard || p.Bound), " (hold)"}, {p.Applied, " (applied)"},
		} {
			if note.is {
				text += note.text
			}
		}
		parts = append(parts, text)
	}
	deleting := ""
	if c.Deleting {
		deleting = ", being deleted"
	}
	w.say("  %s: object %s of %s%s: %s", thing, c.UID, c.Owner, deleting, strings.Join(parts, ", "))
}

func name(p state.Part) string {
	if _, port := p.ProtocolPort(); port != 0 {
		return p.PortText()
	}
	return p.Path
}

func (w *world) get(thing string) *state.Claim {
	if w.claims[thing] == nil {
		return nil
	}
	c := *w.claims[thing]
	c.Parts = slices.Clone(c.Parts)
	return &c
}

// pinned reports whether a claim is as it was read.
func (w *world) pinned(thing string, saw *state.Claim) bool {
	now := w.claims[thing]
	if now == nil || saw == nil {
		return now == nil && saw == nil
	}
	return now.UID == saw.UID && now.ResourceVersion == saw.ResourceVersion
}

// write replaces a group's parts, as the API server does. It deletes a claim without parts.
func (w *world) write(c *state.Claim, group lease.Group, parts []state.Part) *state.Claim {
	w.version++
	kept := slices.DeleteFunc(slices.Clone(c.Parts), func(p state.Part) bool { return p.Lease.Group() == group })
	now := *c
	now.Parts = append(kept, parts...)
	slices.SortFunc(now.Parts, func(a, b state.Part) int { return cmp.Compare(name(a), name(b)) })
	if now.ResourceVersion = strconv.Itoa(w.version); now.UID == "" {
		now.UID = types.UID(now.ResourceVersion)
	}
	if w.claims[c.Thing] = &now; len(now.Parts) == 0 {
		delete(w.claims, c.Thing)
	}
	return w.get(c.Thing)
}

func (w *world) read(r *run) {
	r.saw = w.get(r.want.Thing)
	r.taken = protocol.Take(protocol.Taking{
		Want: r.want, Claim: r.saw, Nonce: r.name, Patient: r.patient, Relied: r.relied, Took: r.took, Anew: r.anew,
		Pending: w.now.Add(time.Minute).Format(time.RFC3339),
		Decide: func(c *state.Claim, p state.Part) state.Finding {
			return state.Judge{Group: r.group, Now: w.now, OnePort: r.onePort}.Decide(r.want, p.Key, c, nil)
		},
	})
	what := "nobody holds it"
	if r.saw != nil {
		what = "there is a claim of " + r.saw.Owner
	}
	w.say("%s reads %s: %s", r.name, r.want.Thing, what)
	for _, held := range r.taken.Withheld {
		w.say("%s: %s is withheld, %s/%d has it", r.name, name(held.Part), held.By.Lease.Owner, held.By.Lease.DSeq)
	}
	switch r.taken.Next {
	case protocol.Rest:
		r.next = (*world).settle
		if r.over = len(r.taken.Parts) == 0; !r.over {
			w.say("%s holds what it wants", r.name)
			r.took, r.anew = r.taken.Took, r.taken.Anew
			if r.anew {
				r.next = (*world).look
			}
		}
	case protocol.Write:
		r.next = (*world).take
	case protocol.Evict:
		w.say("%s: a hold has ended", r.name)
		r.next = (*world).evict
	case protocol.Read:
		w.say("%s: it is being deleted; waits", r.name)
	case protocol.Yield:
		running := ""
		if r.taken.By.Running {
			running = ", by a run that is under way"
		}
		w.say("%s: held by %s/%d%s", r.name, r.taken.By.Lease.Owner, r.taken.By.Lease.DSeq, running)
		r.next = (*world).undo
	}
}

func (w *world) take(r *run) {
	if !w.pinned(r.want.Thing, r.saw) {
		w.say("%s writes %s: it has changed since", r.name, r.want.Thing)
		r.next = (*world).read
		return
	}
	r.before = r.saw.Entries(r.group)
	claim := r.taken.Claim
	if claim == nil {
		claim = r.want.Claim()
	}
	parts := r.taken.Parts
	for _, p := range claim.Entries(r.group) {
		if !slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key }) {
			parts = append(parts, p)
		}
	}
	now := w.write(claim, r.group, parts)
	if r.loses {
		r.loses, r.next = false, (*world).read
		w.say("%s writes %s: no answer", r.name, r.want.Thing)
		w.show(r.want.Thing)
		return
	}
	w.say("%s writes %s", r.name, r.want.Thing)
	w.show(r.want.Thing)
	r.saw, r.took, r.anew, r.next = now, true, r.taken.Anew, (*world).settle
	if r.anew {
		r.next = (*world).look
	}
}

func (w *world) evict(r *run) {
	if w.pinned(r.want.Thing, r.saw) {
		c := w.claims[r.want.Thing]
		for _, g := range c.Groups() {
			keep := slices.DeleteFunc(c.PartsOf(g), func(p state.Part) bool { return p.Ended(w.now) })
			if c = w.write(c, g, keep); c == nil {
				break
			}
		}
	}
	w.say("%s removes what has ended", r.name)
	w.show(r.want.Thing)
	r.next = (*world).read
}

// look checks the other side: for a host the wildcard above, for a wildcard the hosts below.
func (w *world) look(r *run) {
	switch r.want.Kind {
	case state.Host:
		over := state.WildcardOver(r.want.Thing)
		switch protocol.Above(r.group, w.now, w.get(over)) {
		case protocol.Rest:
			w.say("%s reads %s: nothing is in the way", r.name, over)
			r.next = (*world).settle
		case protocol.Yield:
			w.say("%s reads %s: it is bound for %s", r.name, over, w.claims[over].Owner)
			r.next = (*world).undo
		case protocol.Evict:
			w.say("%s reads %s: it has ended, and is removed", r.name, over)
			delete(w.claims, over)
		default:
			w.say("%s reads %s: it is pending; waits", r.name, over)
		}
	case state.Wildcard:
		if protocol.IsBound(r.saw, r.group) {
			w.settle(r)
			return
		}
		w.below(r)
	default:
		w.settle(r)
	}
}

func (w *world) below(r *run) {
	var claims []*state.Claim
	for _, thing := range slices.Sorted(maps.Keys(w.claims)) {
		claims = append(claims, w.get(thing))
	}
	stand, ended := protocol.Below(r.group, w.now, r.want.Thing, claims)
	next, parts := protocol.Bind(r.want, r.saw, r.group, stand, ended)
	switch next {
	case protocol.Yield:
		w.say("%s lists hosts: %s of %s is below", r.name, stand[0].Thing, stand[0].Owner)
		r.next = (*world).undo
	case protocol.Evict:
		w.say("%s lists hosts: the hold of %s has ended, and is removed", r.name, ended[0].Thing)
		delete(w.claims, ended[0].Thing)
	default:
		w.say("%s lists hosts: nothing is in the way", r.name)
		r.next = func(w *world, r *run) { w.bind(r, parts) }
	}
}

func (w *world) bind(r *run, parts []state.Part) {
	if w.pinned(r.want.Thing, r.saw) {
		r.saw = w.write(r.saw, r.group, parts)
		w.say("%s binds %s", r.name, r.want.Thing)
		w.show(r.want.Thing)
		r.next = (*world).settle
		return
	}
	now := w.get(r.want.Thing)
	switch protocol.Rebind(r.want, r.saw, now, r.group) {
	case protocol.Yield:
		w.say("%s binds %s: it has gone", r.name, r.want.Thing)
		r.next = (*world).undo
	case protocol.Rest:
		w.say("%s binds %s: another run of the lease has", r.name, r.want.Thing)
		r.saw, r.next = now, (*world).settle
	default:
		w.say("%s binds %s: it has changed; looks again", r.name, r.want.Thing)
		r.saw, r.next = now, (*world).look
	}
}

func (w *world) settle(r *run) {
	now := w.get(r.want.Thing)
	next, parts := protocol.Settle(now, r.saw.UID, r.group, func(c *state.Claim) ([]state.Part, bool) {
		parts := c.Entries(r.group)
		for i, p := range parts {
			if k := slices.IndexFunc(r.taken.Want.Parts, func(q state.Part) bool { return q.Key == p.Key }); k >= 0 {
				parts[i].Expires = r.taken.Want.Parts[k].Expires
				parts[i].Applied = parts[i].Expires == ""
			}
			parts[i].Run = ""
		}
		return parts, protocol.Holds(c, r.group, r.taken.Want.Parts)
	})
	r.over = true
	switch next {
	case protocol.Yield:
		w.say("%s settles %s: it was overtaken", r.name, r.want.Thing)
		r.over, r.next = false, (*world).undo
	case protocol.Rest:
		w.say("%s settles %s: it is as it should be", r.name, r.want.Thing)
	default:
		w.write(now, r.group, parts)
		w.say("%s settles %s", r.name, r.want.Thing)
		w.show(r.want.Thing)
	}
}

func (w *world) undo(r *run) {
	r.over = true
	now := w.get(r.want.Thing)
	served := slices.ContainsFunc(r.before, func(p state.Part) bool { return p.Applied }) // applied parts serve here
	keep, changed := protocol.GiveBack(now.Entries(r.group), r.name, protocol.Before(r.before, served))
	if !changed {
		w.say("%s has nothing to give back", r.name)
		return
	}
	w.write(now, r.group, keep)
	w.say("%s gives back %s", r.name, r.want.Thing)
	w.show(r.want.Thing)
}
