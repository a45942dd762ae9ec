package engine_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine"
)

var (
	histories = flag.Int64("histories", 3000, "how many histories to live through")
	seedFlag  = flag.Int64("seed", -1, "replay the history of this seed, and print it")
)

// Commands of several owners work at once; answers are lost, requests are refused, or held while others work, and commands
// are taken for crashed. Who is done has everything, who is refused keeps nothing, no host is below the wildcard of another
// owner, and everything ends.
func TestHistories(t *testing.T) {
	if *seedFlag >= 0 {
		h := live(*seedFlag, "")
		t.Logf("%s", strings.Join(h.trace, "\n"))
		for _, v := range h.verdicts {
			t.Error(v)
		}
		return
	}
	steps := 0
	for seed := range *histories {
		h := live(seed, "")
		steps += len(h.trace)
		if len(h.verdicts) > 0 {
			t.Fatalf("history %d (go test ./engine -run TestHistories -seed %[1]d -v): %s", seed, strings.Join(h.verdicts, "\n"))
		}
	}
	t.Logf("%d histories, %d steps", *histories, steps)
}

// history is a random history of commands.
type history struct {
	*rand.Rand
	ledger   *ledger
	commands []*command
	trace    []string
	verdicts []string
	// had are the things of each lease when its command announced itself, final those that no mark says may be given back.
	had, final map[*command][]string
	// last is who has written each claim last.
	last  map[string]*command
	wrote map[*command]bool
	// crashed is when each command was taken for crashed, relied when a command that ended well relied on a claim for a group.
	crashed map[*command]int
	relied  map[string]int
	// born is when each route began to serve, looked when each command has last read what serves, by the length of the trace.
	born   map[string]int
	looked map[*command]int
}

func newHistory(r *rand.Rand) *history {
	return &history{
		Rand: r, ledger: newLedger(), had: map[*command][]string{}, final: map[*command][]string{}, last: map[string]*command{}, wrote: map[*command]bool{},
		born: map[string]int{}, looked: map[*command]int{}, crashed: map[*command]int{}, relied: map[string]int{},
	}
}

// open are the commands that have not ended.
func (h *history) open() (out []*command) {
	for _, c := range h.commands {
		if !c.ended {
			out = append(out, c)
		}
	}
	return out
}

func live(seed int64, breach string) *history {
	h := newHistory(rand.New(rand.NewSource(seed)))
	h.ledger.breach = breach
	faults := []int{0, 0, 3, 10}[h.Intn(4)]
	total := 3 + h.Intn(4)
	for begun := 0; ; {
		open := h.open()
		switch {
		case begun < total && (len(open) == 0 || len(open) < 3 && h.Intn(4) == 0):
			begun++
			h.begin(fmt.Sprintf("c%02d", begun))
		case len(open) == 0:
			h.judgeEnd()
			return h
		case len(h.trace) > 5000:
			h.wrong("it does not end")
			return h
		case h.Intn(12) == 0:
			h.serve()
		default:
			h.step(open[h.Intn(len(open))], faults)
		}
	}
}

// serve lets a route of a holder begin to serve, as an operator does that takes no lock.
func (h *history) serve() {
	claims := h.ledger.list("", "")
	if len(claims) == 0 {
		return
	}
	c := claims[h.Intn(len(claims))]
	if len(c.Parts) == 0 || c.Kind.HasPorts() || c.Parts[0].Run != "" || slices.Contains(h.ledger.serves[c.Thing], c.Parts[0].Lease.Group()) {
		return
	}
	g := c.Parts[0].Lease.Group()
	h.note("a route serves %s for %s", c.Thing, g)
	h.ledger.serve(c.Thing, g)
	h.born[c.Thing+g.String()] = len(h.trace)
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *history) wrong(format string, args ...any) {
	h.verdicts = append(h.verdicts, fmt.Sprintf(format, args...))
}

// begin begins a command for one lease or two.
func (h *history) begin(name string) {
	things := []string{"a.example.com", "b.example.com", "b.example.com/path", "*.example.com", "c.example.net", "address", "address"}
	leases := []string{"A/1", "A/2", "B/1", "C/1"}
	h.Shuffle(len(leases), func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
	var wants []engine.Want
	for i := range 1 + h.Intn(2) {
		words := []string{leases[i]}
		for _, thing := range things {
			if h.Intn(3) == 0 && !slices.Contains(words, thing) {
				words = append(words, thing)
			}
		}
		for _, option := range []string{"prune", "expires"} {
			if h.Intn(3) == 0 {
				words = append(words, option)
			}
		}
		if h.Intn(4) == 0 {
			words = append([]string{leases[i], "release"}, [][]string{nil, {"a.example.com"}}[h.Intn(2)]...)
		}
		h.note("%s begins: %s", name, strings.Join(words, " "))
		wants = append(wants, h.ledger.want(words))
	}
	c := h.ledger.command(name, wants...)
	h.commands = append(h.commands, c)
}

// step lets a command send a request, or an earlier one arrive.
func (h *history) step(c *command, faults int) {
	if len(c.flying) > 0 {
		if h.Intn(3) == 0 {
			f := c.flying[0]
			c.flying = nil
			h.arrive(c, f.place, f.request, f.sent, c.arrived, faults)
		} else if _, alive := h.ledger.announced[c.nonce]; alive && h.Intn(4) == 0 {
			h.crash(c)
		}
		return
	}
	if place, r, _, ok := c.next(); ok && h.Intn(100) < 10 && c.mayWrite(r) {
		h.send(c, place, r)
		return
	}
	h.turn(c, faults)
}

// crash lets a command be taken for crashed.
func (h *history) crash(c *command) {
	h.note("%s is taken for crashed", c.name)
	h.crashed[c] = len(h.trace)
	h.ledger.crash(c)
}

// send lets a command send a request that arrives later.
func (h *history) send(c *command, place int, r engine.Request) {
	h.note("%s sends: %s", c.name, r)
	c.flying = append(c.flying, flying{place, r, c.world.Send()})
}

// turn lets a command send its next request, wait, or end.
func (h *history) turn(c *command, faults int) {
	place, r, waits, ok := c.next()
	switch {
	case ok:
		h.arrive(c, place, r, c.world.Send(), c.answer, faults)
	case len(waits) > 0:
		h.wait(c, waits)
	default:
		if _, alive := h.ledger.announced[c.nonce]; alive {
			defer func() {
				for i := range c.wants {
					h.judge(c, i)
				}
			}()
		}
		c.commit()
	}
}

// wait lets time pass, or lets the first lease of those go on that wait for each other.
func (h *history) wait(c *command, waits []engine.Step) {
	var until time.Time
	for _, w := range waits {
		if !w.Until.IsZero() && (until.IsZero() || w.Until.Before(until)) {
			until = w.Until
		}
	}
	if !until.IsZero() {
		if until.After(h.ledger.now) {
			h.ledger.now = until
		}
		return
	}
	for _, i := range c.plan.Order() {
		if c.world.Outcome(i) == nil {
			c.world.Yield(i)
			return
		}
	}
}

var errRefused = errors.New("refused")

// arrive lets a request arrive and answers it.
func (h *history) arrive(c *command, place int, r engine.Request, sent engine.Stamp, answer func(engine.Request) engine.Answer, faults int) {
	isWrite := isWrite(r)
	var a engine.Answer
	if r.Verb == engine.Put || r.Verb == engine.Delete {
		h.judgeGivenUp(c, r)
	}
	switch {
	case faults > 0 && isWrite && !r.Back && h.Intn(100) < faults:
		a = engine.Answer{Err: errRefused}
	case faults > 0 && isWrite && h.Intn(100) < faults:
		if a = answer(r); !a.Over {
			a = engine.Answer{Stale: true, Unclear: true, Err: errStale}
		}
	default:
		a = answer(r)
	}
	if r.Verb == engine.Announce && a.Err != nil { // another one is at work: ask again later
		return
	}
	if _, wrote := h.wrote[c]; r.Verb == engine.Announce || r.Verb == engine.ReadAll && !wrote { // a late write may have come between
		h.had[c], h.final[c] = h.holds(c, true), h.holds(c, false)
	}
	if isWrite && (a.Err == nil || a.Unclear) && r.Name != "" {
		h.last[r.Name], h.wrote[c] = c, true
	}
	if r.Verb == engine.Look || r.Verb == engine.ReadAll {
		h.looked[c] = len(h.trace)
	}
	h.note("%s: %s (%s): %v", c.name, r, r.Why, a.Err)
	h.judgeLate(c, r)
	c.tick()
	c.world.Fold(c.plan, place, r, a, sent)
}

// holds are the things that the leases of a command hold, also those with marks of commands that have not ended or have
// crashed if marked is true.
func (h *history) holds(c *command, marked bool) (out []string) {
	for _, claim := range h.ledger.list("", "") {
		for _, p := range claim.Parts {
			g := p.Lease.Group()
			if !marked && p.Expires != "" && h.ledger.hasCrashed(g) {
				continue // a crashed command may have made it permanent since, and then it is no hold any more
			}
			if (marked || p.Run == "") && slices.Contains(c.plan.Groups(), p.Lease.Group()) && (p.Expires == "" || !p.Ended(h.ledger.now)) {
				out = append(out, p.Lease.String()+" "+claim.Name()+" "+p.Key)
			}
		}
	}
	slices.Sort(out)
	return out
}
