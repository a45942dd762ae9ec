package engine_test

import (
	"errors"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// command is a command that works step by step, as package execute has it do.
type command struct {
	name   string
	nonce  string
	ledger *ledger
	plan   *engine.Transaction
	wants  []engine.Want
	// past is all that its world was told, sum names that if all moments are explored; world is nil while nobody asks for it.
	past  []func(*engine.World)
	sum   uint64
	world *engine.World
	// memos are what its decisions on each lease have found.
	memos []*engine.Memo
	// first are the claims as it has read them when it began, for a ledger that answers with them later.
	first map[string]*state.Claim
	// half is what it has read first of everything, nil if it does not read that.
	half *reading
	// flying are the requests under way, with the stamps at which they were sent.
	flying []flying
	// turn is what it has learned of its turn; alone is true once that has come, since then.
	turn  engine.Turn
	alone bool
	since time.Time
	// ended is true once it has ended, lost once it finds then that it was taken for crashed.
	ended, lost bool
	// outcomes are how its leases have ended.
	outcomes []outcome
	// decided is what it does next, nil if that has to be decided again.
	decided *decision
	// tell is called with what a person is told beside the requests; nil for nobody.
	tell func(engine.Event)
	// words are what it wants, after is the place of the command after which it begins; -1 for none.
	words []string
	after int
	turning
	facts
}

// facts are those by which a command is judged.
type facts struct {
	// had are the things of each lease when the command announced itself, final those that no mark says may be given back.
	had, final map[holding]string
	// wrote is true once it has written a claim, objects are the deployment groups for which it has written an object.
	wrote   bool
	objects []lease.Group
	// looked are the objects that were there when it has last read what serves.
	looked map[types.UID]bool
}

// outcome is how a lease has ended; early is true if that was before the turn of its command.
type outcome struct {
	*engine.Outcome
	early bool
}

type flying struct {
	place   int
	request engine.Request
	sent    engine.Stamp
}

func (l *ledger) command(name string, wants ...engine.Want) *command {
	c := l.begins(name, wants...)
	c.begin()
	return c
}

// begins returns a command that has read the claims.
func (l *ledger) begins(name string, wants ...engine.Want) *command {
	c := &command{name: name, nonce: name, ledger: l, wants: wants, outcomes: make([]outcome, len(wants))}
	c.half, c.waited = l.readLedger("", name), l.meets(c)
	if l.breach != "" {
		c.first = map[string]*state.Claim{}
		for _, claim := range c.half.claims {
			c.first[claim.Name()] = claim
		}
	}
	return c
}

// begin reads the objects after the claims.
func (c *command) begin() {
	half, now := c.half, c.ledger.now
	objects := c.ledger.readObjects(half, "")
	marks := make([]string, len(c.wants))
	for i := range marks {
		marks[i] = state.Mark(c.name, i)
	}
	c.remember()
	c.learn(func(w *engine.World) {
		w.At(now, now)
		w.ReadAll(objects, w.Send())
		w.Begin(c.name, marks)
	})
	settings := engine.Settings{Config: c.ledger.cfg, Patience: 2 * time.Second, Tries: 10, Wait: 10 * time.Second, Waits: true}
	c.plan = engine.Assign(c.know(), settings, c.wants)
	c.half, c.sum = nil, sumOf(c.name, strings.Join(c.words, " "), now, half.sum)
}

// remember lets a command remember nothing of its decisions.
func (c *command) remember() {
	c.memos = make([]*engine.Memo, len(c.wants))
	for i := range c.memos {
		c.memos[i] = engine.NewMemo()
	}
}

// groups are those for which a command works.
func (c *command) groups() (out []lease.Group) {
	for _, w := range c.wants {
		out = append(out, w.Groups()...)
	}
	return out
}

// learn tells the world of a command something.
func (c *command) learn(tell func(*engine.World)) {
	c.past = append(slices.Clip(c.past), tell)
	if c.world != nil {
		tell(c.world)
	}
}

// know returns the world of a command.
func (c *command) know() *engine.World {
	if c.world == nil {
		c.world = engine.NewWorld()
		for _, tell := range c.past {
			tell(c.world)
		}
	}
	return c.world
}

// decision is what a command does next, as long as it learns nothing and no time passes.
type decision struct {
	at    time.Time
	place int
	r     engine.Request
	waits []engine.Step
	ok    bool
	// atOnce is how many requests of the step may be sent at once.
	atOnce int
	// failed is true if it may not go on.
	failed bool
	// learned is what its world was told meanwhile, outcomes are how its leases have ended by then.
	learned  []func(*engine.World)
	outcomes []outcome
}

// next returns the next request of a command, with the place of its lease; or the steps of the leases that wait, if all do. It stays while
// the command reads.
func (c *command) next() (place int, r engine.Request, waits []engine.Step, ok bool) {
	if c.decided == nil || c.half == nil && !c.decided.at.Equal(c.ledger.now) {
		c.decided = c.ledger.explored.decide(c)
	}
	d := c.decided
	return d.place, d.r, d.waits, d.ok
}

// fold tells a command an answer. sent is when the request was sent, 0 for just now.
func (c *command) fold(place int, r engine.Request, a engine.Answer, sent engine.Stamp) {
	now := c.ledger.now
	c.learn(func(w *engine.World) {
		w.At(now, now)
		if sent == 0 {
			w.Fold(c.plan, place, r, a, w.Send())
		} else {
			w.Fold(c.plan, place, r, a, sent)
		}
	})
	if r.Verb == engine.Announce && a.Err == nil {
		c.turn, c.alone, c.since = a.Turn, true, now
	}
	c.decided = nil
	if e := c.ledger.explored; e != nil {
		c.sum = sumOf(c.sum, now, e.sumOfAnswer(c.ledger, r, a))
	}
}

// yield lets the first lease of a command go on whose leases all wait for each other.
func (c *command) yield() {
	for _, i := range c.plan.Order() {
		if c.know().Outcome(i) == nil {
			c.learn(func(w *engine.World) { w.Yield(i) })
			c.decided, c.sum = nil, sumOf(c.sum, "yields")
			return
		}
	}
}

// interrupt interrupts a command.
func (c *command) interrupt() {
	c.learn(func(w *engine.World) { w.Interrupted = errors.New("interrupted") })
	c.decided, c.sum = nil, sumOf(c.sum, "interrupted")
}

func (c *command) decide() *decision {
	d := &decision{at: c.ledger.now, outcomes: slices.Clone(c.outcomes)}
	w := c.know()
	learn := func(tell func(*engine.World)) {
		c.learn(tell)
		d.learned = append(d.learned, tell)
	}
	learn(func(w *engine.World) { w.At(d.at, d.at) })
	var shared []flying
	for _, i := range c.plan.Order() {
		for w.Outcome(i) == nil {
			s, again := c.ledger.pure.next(c, i), false
			tells := w.Untold(s.Tells)
			learn(func(w *engine.World) { again = w.Decide(i, s) })
			for _, e := range tells {
				if c.tell != nil {
					c.tell(e)
				}
			}
			if again {
				continue
			}
			switch {
			case s.Outcome != nil:
				learn(func(w *engine.World) { w.End(i, s.Outcome) })
				d.outcomes[i] = outcome{s.Outcome, !c.alone}
			case len(s.Requests) > 0 && !s.Requests[0].IsShared():
				d.place, d.r, d.ok, d.atOnce = i, s.Requests[0], true, len(s.Requests)
				c.outcomes = d.outcomes
				return d
			case len(s.Requests) > 0:
				shared = append(shared, flying{i, s.Requests[0], 0})
			default:
				d.waits = append(d.waits, s)
			}
			break
		}
	}
	if len(shared) > 0 {
		d.place, d.r, d.waits, d.ok = shared[0].place, shared[0].request, nil, true
	}
	d.failed = w.Turn.Err != nil
	c.outcomes = d.outcomes
	return d
}
