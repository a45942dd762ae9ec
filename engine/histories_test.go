package engine_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
)

var (
	histories = flag.Int64("histories", 3000, "how many histories to live through")
	seedFlag  = flag.Int64("seed", -1, "replay the history of this seed, and print it")
)

// Histories leave much garbage, and little that stays.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// Commands of several owners work at once; answers are lost, requests are refused, or held while others work, and commands
// are taken for crashed. Who is done has everything, who is refused keeps nothing unless it has written an object, no host is below the
// wildcard of another owner, nobody's live route goes, what is given up is not served, what serves rests on a claim once the leases of
// crashed commands were applied or released again, and everything ends.
func TestHistories(t *testing.T) {
	if *seedFlag >= 0 {
		h := live(*seedFlag, "")
		t.Logf("%s", short(strings.Join(h.trace, "\n")))
		for _, v := range h.verdicts {
			t.Error(short(v))
		}
		return
	}
	const parts = 4
	for part := range int64(parts) {
		t.Run(fmt.Sprint("part ", part+1), func(t *testing.T) {
			t.Parallel()
			steps := 0
			for seed := part; seed < *histories; seed += parts {
				h := live(seed, "")
				steps += len(h.trace)
				if len(h.verdicts) > 0 {
					t.Fatalf("history %d (go test ./engine -run TestHistories -seed %[1]d -v): %s", seed, short(strings.Join(h.verdicts, "\n")))
				}
			}
			t.Logf("%d histories, %d steps", *histories/parts, steps)
		})
	}
}

// history is a random history of commands.
type history struct {
	*rand.Rand
	// applies is true if its commands also write objects.
	applies  bool
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
	// objects are the leases that have written an object of their own.
	objects map[*command]map[lease.Group]bool
	// early are how leases have ended before the turn of their command.
	early map[*engine.Outcome]bool
	// looked is the version at which each command has last read what serves.
	looked map[*command]int
}

func newHistory(r *rand.Rand) *history {
	return &history{
		Rand: r, ledger: newLedger(), had: map[*command][]string{}, final: map[*command][]string{}, last: map[string]*command{}, wrote: map[*command]bool{},
		objects: map[*command]map[lease.Group]bool{}, early: map[*engine.Outcome]bool{}, looked: map[*command]int{}, crashed: map[*command]int{}, relied: map[string]int{},
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
	h.applies = h.Intn(4) == 0
	total := 3 + h.Intn(4)
	for begun := 0; ; {
		open := h.open()
		switch {
		case begun < total && (len(open) == 0 || len(open) < 3 && h.Intn(4) == 0):
			begun++
			h.begin(fmt.Sprintf("c%02d", begun))
		case len(open) == 0:
			h.judgeEnd()
			h.applyAgain()
			return h
		case len(h.trace) > 5000:
			h.wrong("it does not end")
			return h
		case h.Intn(12) == 0:
			h.serve()
			h.accept()
		default:
			h.step(open[h.Intn(len(open))], faults)
		}
	}
}

func (h *history) note(format string, args ...any) {
	h.trace = append(h.trace, fmt.Sprintf(format, args...))
}

func (h *history) wrong(format string, args ...any) {
	h.verdicts = append(h.verdicts, fmt.Sprintf(format, args...))
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
	c.yield()
}

var errRefused = errors.New("refused")

// arrive lets a request arrive and answers it.
func (h *history) arrive(c *command, place int, r engine.Request, sent engine.Stamp, answer func(engine.Request) engine.Answer, faults int) {
	isWrite, before := isWrite(r), h.ledger.version
	var a engine.Answer
	switch r.Verb {
	case engine.Put, engine.Delete:
		h.judgeGivenUp(c, r)
	case engine.DeleteObject, engine.PutObject:
		defer h.judgeObject(c, r, before, h.ledger.live(keyOf(r)))
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
		h.looked[c] = h.ledger.version
	}
	h.note("%s: %s (%s): %v", c.name, r, r.Why, a.Err)
	took := h.ledger.version > before
	if took {
		h.judgeLate(c, r)
	}
	if (r.Verb == engine.Keep || r.Verb == engine.Forget) && took {
		h.judgeDefinition(c, r.Group)
	}
	if g := c.wants[place].Request.Lease.Group(); r.Verb == engine.PutObject && took {
		if h.objects[c] == nil {
			h.objects[c] = map[lease.Group]bool{}
		}
		h.objects[c][g] = true
	}
	c.fold(place, r, a, sent)
	for i := range c.wants {
		if o := c.world.Outcome(i); o != nil && r.Verb == engine.Announce {
			h.early[o] = true
		}
	}
}

// holds are the things that the leases of a command hold, also those with marks of commands that have not ended or have
// crashed if marked is true.
func (h *history) holds(c *command, marked bool) (out []string) {
	for _, claim := range h.ledger.list("", "") {
		for _, p := range claim.Parts {
			g := p.Lease.Group()
			if !marked && p.Expires != "" && h.ledger.hasFallen(g) {
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
