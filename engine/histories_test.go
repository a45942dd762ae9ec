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

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
)

var (
	histories = flag.Int64("histories", map[bool]int64{false: 1000, true: 3000}[long()], "how many histories to live through")
	seedFlag  = flag.Int64("seed", -1, "replay the history of this seed, and print it")
)

// long reports whether the tests have all the time that they need.
func long() bool { return os.Getenv("LONG") != "" }

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

// history is a history of commands, by chance if it has a source of that.
type history struct {
	*rand.Rand
	// applies is true if its commands also write objects.
	applies  bool
	ledger   *ledger
	commands []*command
	trace    []string
	verdicts []string
	// last is who has written the entries of each deployment group in each claim last.
	last map[holding]string
	// relied are the things on which a command relied that has ended well, with the commands that had been taken for crashed before.
	relied map[string][]string
	// reported are the parts that a lease has by what its command has reported, until it gives them up.
	reported map[holding]bool
	// troubles is how many things may still go wrong, jumps are how far the clock may still jump; troubled is true once something has gone
	// wrong, stood if a command has stood still, or was interrupted, or the clock has jumped.
	troubles        int
	jumps           []time.Duration
	troubled, stood bool
	// torn is true if objects may change while everything is read.
	torn bool
	// silent is true if nobody reads the trace.
	silent bool
}

// holding is a part of a claim that a deployment group has.
type holding struct {
	name, key string
	group     lease.Group
}

func newHistory(r *rand.Rand) *history {
	return &history{Rand: r, ledger: newLedger(), last: map[holding]string{}, relied: map[string][]string{}, reported: map[holding]bool{}}
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
	l := newLedger()
	l.breach = breach
	return liveIn(l, seed)
}

// liveIn is live in a ledger.
func liveIn(l *ledger, seed int64) *history {
	h := newHistory(rand.New(rand.NewSource(seed)))
	h.ledger = l
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
	if !h.silent {
		h.trace = append(h.trace, fmt.Sprintf(format, args...))
	}
}

func (h *history) wrong(format string, args ...any) {
	h.verdicts = append(h.verdicts, fmt.Sprintf(format, args...))
}

// step lets a command send a request, or an earlier one arrive.
func (h *history) step(c *command, faults int) {
	if len(c.flying) > 0 {
		if h.Intn(3) == 0 {
			h.land(c, h.drawn(c.arrived, c.flying[0].request, faults))
		} else if h.ledger.isAlive(c) && h.Intn(4) == 0 {
			h.note("%s is taken for crashed", c.name)
			h.ledger.crash(c)
		}
		return
	}
	if place, r, _, ok := c.next(); ok && h.Intn(100) < 10 && c.mayWrite(r) {
		h.send(c, place, r)
		return
	}
	h.turn(c, h.drawn(c.answer, c.decided.r, faults))
}

// drawn is how the API server answers a request: by chance it refuses a write, or the answer is lost.
func (h *history) drawn(answer func(engine.Request) engine.Answer, r engine.Request, faults int) func(engine.Request) engine.Answer {
	switch isWrite := isWrite(r); {
	case faults > 0 && isWrite && !r.Back && h.Intn(100) < faults:
		return refuses
	case faults > 0 && isWrite && h.Intn(100) < faults:
		return loses(answer)
	}
	return answer
}

var errRefused = errors.New("refused")

func refuses(engine.Request) engine.Answer { return engine.Answer{Err: errRefused} }

// mute is the answer to a request that gets lost.
func mute(engine.Request) engine.Answer {
	return engine.Answer{Stale: true, Unclear: true, Err: errStale}
}

// loses lets a request take effect, and the answer get lost.
func loses(answer func(engine.Request) engine.Answer) func(engine.Request) engine.Answer {
	return func(r engine.Request) engine.Answer {
		if a := answer(r); a.Over {
			return a
		}
		return mute(r)
	}
}

// send lets a command send a request that arrives later.
func (h *history) send(c *command, place int, r engine.Request) {
	h.note("%s sends: %s", c.name, r)
	c.flying = append(c.flying, flying{place, r, c.know().Send()})
}

// land lets the request arrive that is under way.
func (h *history) land(c *command, answer func(engine.Request) engine.Answer) {
	f := c.flying[0]
	c.flying = nil
	h.arrive(c, f, answer)
}

// turn lets a command send its next request, wait, or end.
func (h *history) turn(c *command, answer func(engine.Request) engine.Answer) {
	place, r, waits, ok := c.next()
	switch {
	case ok:
		h.arrive(c, flying{place: place, request: r}, answer)
	case len(waits) > 0:
		h.wait(c, waits)
	default:
		if h.ledger.isAlive(c) {
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
	until := earliest(waits)
	if !until.IsZero() {
		if until.After(h.ledger.now) {
			h.ledger.now = until
		}
		return
	}
	c.yield()
}

// earliest is when the first of some steps goes on, the zero time if none does by itself.
func earliest(waits []engine.Step) (until time.Time) {
	for _, w := range waits {
		if !w.Until.IsZero() && (until.IsZero() || w.Until.Before(until)) {
			until = w.Until
		}
	}
	return until
}

// arrive lets a request arrive and answers it.
func (h *history) arrive(c *command, f flying, answer func(engine.Request) engine.Answer) {
	r, before := f.request, h.ledger.writes
	on := engine.On[engine.OfClaim](r)
	groups := []lease.Group{on.Group} // whose entries are written
	if was := h.ledger.claims[on.Name]; was != nil && (r.Verb == engine.Delete || on.Force) {
		groups = append(groups, was.Writers()...)
	}
	isWrite := isWrite(r)
	switch r.Verb {
	case engine.Put, engine.Delete:
		h.judgeGivenUp(c, r)
		defer h.judgeGone(c, r, h.ledger.claims[r.On.String()])
	case engine.DeleteObject, engine.PutObject:
		defer h.judgeObject(c, r, before, h.ledger.live(keyOf(r)))
	}
	a := answer(r)
	if r.Verb == engine.Announce && a.Err != nil && !a.Over { // another one is at work: ask again later
		return
	}
	if r.Verb == engine.Announce || r.Verb == engine.ReadAll && !c.wrote { // a late write may have come between
		c.had, c.final = h.holds(c, true), h.holds(c, false)
	}
	if isWrite && (a.Err == nil || a.Unclear) && r.WritesClaim() {
		for _, g := range groups {
			h.last[holding{name: r.On.String(), group: g}] = c.name
		}
		c.wrote = true
	}
	if r.Verb == engine.Look || r.Verb == engine.ReadAll {
		c.looked = map[types.UID]bool{}
		for _, o := range h.ledger.objects {
			c.looked[o.live.GetUID()] = true
		}
	}
	h.note("%s: %s (%s): %v", c.name, r, r.Why, a.Err)
	took := h.ledger.writes > before
	if took {
		h.judgeLate(c, r)
	}
	if (r.Verb == engine.Keep || r.Verb == engine.Forget) && took {
		h.judgeDefinition(c, engine.On[engine.OfDefinition](r).Group)
	}
	if g := c.wants[f.place].Request.Lease.Group(); r.Verb == engine.PutObject && took && !slices.Contains(c.objects, g) {
		c.objects = append(slices.Clip(c.objects), g)
	}
	c.fold(f.place, r, a, f.sent)
}

// holds are the parts that the leases of a command hold, also those with marks of commands that have not ended or have crashed if marked
// is true, with when the holds end.
func (h *history) holds(c *command, marked bool) map[holding]string {
	out := map[holding]string{}
	for _, claim := range h.ledger.list("", "") {
		for _, p := range claim.Parts {
			g := p.Lease.Group()
			if (marked || p.Run == "") && slices.Contains(c.groups(), g) && !p.Ended(h.ledger.now) {
				out[holding{claim.Name(), p.Key, g}] = p.Expires
			}
		}
	}
	return out
}
