package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Traces of commands that announce themselves, line by line: testdata/turns has one for every row of the table in
// docs/ledger.md that is about announcements, for races and for crashes. `go test ./state/protocol -rewrite` writes what
// the protocol says now.
//
// A block is a story that begins without announcements:
//
//	run NAME GROUP...  a command, which has not begun; its nonce is its name
//	step NAME...       the next request of a command, and what it does then
//	finish NAME...     all its requests, to the end or to where it waits
//	renew NAME         it says that it is at work
//	fail NAME          it says that it gives back what it took
//	leave NAME         it ends in the middle of its work
//	clock +20s | announcements
//
// A command that crashes is one that is not named any more.
func TestTurns(t *testing.T) {
	datadriven.Walk(t, "testdata/turns", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := &turns{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), all: map[string]*state.Announcement{}, commands: map[string]*turnOf{}}
			for line := range strings.Lines(d.Input) {
				w.obey(t, strings.Fields(line))
			}
			return w.out.String()
		})
	})
}

// turns are commands that make one request at a time, and their announcements.
type turns struct {
	now      time.Time
	version  int
	all      map[string]*state.Announcement
	commands map[string]*turnOf
	out      strings.Builder
}

// turnOf is the state of one command.
type turnOf struct {
	name   string
	groups []lease.Group
	next   func(*turnOf)
	// saw is its own announcement as last written, other the announcement that it waits for or fences.
	saw, other *state.Announcement
	// over is true once it has ended, waits while it waits for another command.
	over, waits bool
	// old is true if what it has read is outdated.
	old bool
	// watch is what it has seen of others.
	watch protocol.Watch
	// fenced are the commands whose work it has taken over.
	fenced []*state.Announcement
}

func (w *turns) say(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *turns) obey(t *testing.T, words []string) {
	t.Helper()
	if len(words) == 0 {
		return
	}
	if words[0] == "clock" {
		d, err := time.ParseDuration(strings.TrimPrefix(words[1], "+"))
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(d)
		return
	}
	if words[0] == "run" {
		c := &turnOf{name: words[1], next: w.announce, watch: protocol.Watch{}}
		for _, group := range words[2:] {
			c.groups = append(c.groups, groupOf(t, group))
		}
		w.commands[c.name] = c
		return
	}
	if words[0] == "announcements" {
		for _, name := range slices.Sorted(maps.Keys(w.all)) {
			w.say("  %s", w.text(w.all[name]))
		}
		if len(w.all) == 0 {
			w.say("nobody is announced")
		}
		return
	}
	do, known := map[string]func(*turnOf){
		"step": func(c *turnOf) { c.next(c) }, "finish": finish, "renew": w.renew, "fail": w.fail, "leave": w.leave,
	}[words[0]]
	for _, name := range words[1:] {
		if !known || w.commands[name] == nil {
			t.Fatalf("%q: no such command", words)
		}
		do(w.commands[name])
	}
}

func finish(c *turnOf) {
	for first := true; first || !c.over && !c.waits; first = false {
		c.next(c)
	}
}

func (w *turns) text(a *state.Announcement) string {
	groups := make([]string, len(a.Groups))
	for i, g := range a.Groups {
		groups[i] = fmt.Sprintf("%s/%d", g.Owner, g.DSeq)
	}
	text := fmt.Sprintf("%s: %s for %s", a.Nonce, a.Phase, strings.Join(groups, " "))
	if a.FencedBy != "" {
		text += ", by " + a.FencedBy
	}
	return text
}

// put writes an announcement, unless it has changed since it was read.
func (w *turns) put(read *state.Announcement, change func(*state.Announcement)) (*state.Announcement, bool) {
	now := w.all[read.Nonce]
	if (now == nil) != (read.ResourceVersion == "") || now != nil && now.ResourceVersion != read.ResourceVersion {
		return nil, false
	}
	next := *read
	change(&next)
	w.version++
	next.ResourceVersion = fmt.Sprint(w.version)
	w.all[next.Nonce] = &next
	w.say("  %s", w.text(&next))
	return &next, true
}

func (w *turns) remove(read *state.Announcement) bool {
	now := w.all[read.Nonce]
	if now == nil || now.ResourceVersion != read.ResourceVersion {
		return false
	}
	delete(w.all, read.Nonce)
	w.say("  %s: no announcement", read.Nonce)
	return true
}

// lost handles a refused pinned write to a command's announcement.
func (w *turns) lost(c *turnOf) {
	w.say("%s was taken for crashed (%t): it writes nothing more and gives nothing back", c.name, protocol.Lost(w.all[c.name]))
	w.end(c)
}

func (w *turns) end(c *turnOf) {
	c.over, c.next = true, func(c *turnOf) { w.say("%s has ended", c.name) }
}

func (w *turns) announce(c *turnOf) {
	w.say("%s announces itself", c.name)
	c.saw, _ = w.put(&state.Announcement{Nonce: c.name, Groups: c.groups, Lasts: 15 * time.Second, Phase: state.Active}, func(a *state.Announcement) { a.Renewed = w.now })
	c.next = w.list
}

func (w *turns) list(c *turnOf) {
	all := slices.Collect(maps.Values(w.all))
	turn, other := protocol.NextTurn(c.saw, all, func(a *state.Announcement) bool { return c.watch.Over(a, w.now) })
	c.other = other
	switch turn {
	case protocol.Work:
		c.fenced = slices.DeleteFunc(all, func(a *state.Announcement) bool { return a.Phase != state.Fenced || !a.Names(c.groups...) })
		slices.SortFunc(c.fenced, func(a, b *state.Announcement) int { return strings.Compare(a.Nonce, b.Nonce) })
		again := ""
		if c.old || len(c.fenced) > 0 {
			again = ", and it reads everything again"
		}
		w.say("%s lists the announcements: it is its turn%s", c.name, again)
		c.next = w.commit
	case protocol.Stop:
		w.lost(c)
	case protocol.Fence:
		w.say("%s lists the announcements: %s has crashed", c.name, other.Nonce)
		c.old, c.next = true, w.fence
	case protocol.Withdraw:
		w.say("%s lists the announcements: %s comes first", c.name, other.Nonce)
		c.old, c.next = true, w.withdraw
	case protocol.Await:
		w.say("%s lists the announcements: it waits for %s", c.name, other.Nonce)
		c.old, c.next = true, w.await
	}
}

func (w *turns) fence(c *turnOf) {
	w.say("%s fences %s", c.name, c.other.Nonce)
	if _, ok := w.put(c.other, func(a *state.Announcement) { a.Phase, a.FencedBy = state.Fenced, c.name }); !ok {
		w.say("  it has moved")
	}
	c.next = w.list
}

func (w *turns) withdraw(c *turnOf) {
	w.say("%s takes its announcement back", c.name)
	if !w.remove(c.saw) {
		w.lost(c)
		return
	}
	c.next = w.await
}

func (w *turns) await(c *turnOf) {
	now := w.all[c.other.Nonce]
	if c.waits = !protocol.Lost(now) && !c.watch.Over(now, w.now); c.waits {
		w.say("%s waits for %s", c.name, c.other.Nonce)
		return
	}
	w.say("%s waits for %s no more", c.name, c.other.Nonce)
	if c.next = w.announce; w.all[c.name] != nil {
		c.next = w.list
	}
}

// bury deletes the announcements of the commands whose work one has taken over.
func (w *turns) bury(c *turnOf) {
	for _, dead := range c.fenced {
		left := protocol.Remaining(dead, c.groups)
		if len(left) == 0 {
			w.remove(dead)
		} else {
			w.put(dead, func(a *state.Announcement) { a.Groups = left })
		}
	}
}

func (w *turns) commit(c *turnOf) {
	w.say("%s commits", c.name)
	if protocol.Lost(w.all[c.name]) {
		w.lost(c)
		return
	}
	w.bury(c)
	if !w.remove(c.saw) {
		w.lost(c)
		return
	}
	w.end(c)
}

func (w *turns) change(c *turnOf, change func(*state.Announcement)) {
	now, ok := w.put(c.saw, change)
	if !ok {
		w.lost(c)
		return
	}
	c.saw = now
}

func (w *turns) renew(c *turnOf) {
	w.say("%s says that it is at work", c.name)
	w.change(c, func(a *state.Announcement) { a.Renewed = w.now })
}

func (w *turns) fail(c *turnOf) {
	w.say("%s fails", c.name)
	w.change(c, func(a *state.Announcement) { a.Phase, a.Renewed = state.Undoing, w.now })
}

func (w *turns) leave(c *turnOf) {
	w.say("%s ends in the middle of its work", c.name)
	w.change(c, func(a *state.Announcement) { a.Phase, a.FencedBy = state.Fenced, a.Nonce })
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

// A wildcard is taken pending, unless another deployment of its owner has bound it already.
func TestPend(t *testing.T) {
	const until = "2026-11-20T12:05:00Z"
	bound := &state.Claim{Parts: []state.Part{{Key: "other", Bound: true}}}
	for name, tt := range map[string]struct {
		claim *state.Claim
		bound bool
	}{
		"a new claim":                           {nil, false},
		"a claim that is pending":               {&state.Claim{Parts: []state.Part{{Key: "other", Expires: until}}}, false},
		"a claim that another deployment binds": {bound, true},
	} {
		p := protocol.Pend(state.Part{Key: "key"}, tt.claim, until)
		if p.Bound != tt.bound || (p.Expires == until) == tt.bound {
			t.Errorf("%s: bound %v, expires %q", name, p.Bound, p.Expires)
		}
	}
}
