package engine_test

import (
	"errors"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// command is a command that works step by step, as package execute has it do.
type command struct {
	name   string
	nonce  string
	ledger *ledger
	world  *engine.World
	plan   *engine.Transaction
	wants  []engine.Want
	// flying are the requests under way, with the stamps at which they were sent.
	flying []flying
	// lost is true once a command that has ended finds that it was taken for crashed.
	ended, lost bool
	// decided is what it does next, nil if that has to be decided again.
	decided *decision
	// tell is called with what a person is told beside the requests; nil for nobody.
	tell func(engine.Event)
}

type flying struct {
	place   int
	request engine.Request
	sent    engine.Stamp
}

func (l *ledger) command(name string, wants ...engine.Want) *command {
	c := &command{name: name, nonce: name, ledger: l, world: engine.NewWorld(), wants: wants}
	c.tick()
	claims := l.list("", c.nonce)
	c.world.ReadAll(claims, l.observe(claims, ""), c.world.Send())
	marks := make([]string, len(wants))
	for i := range marks {
		marks[i] = state.Mark(name, i)
	}
	c.world.Begin(name, marks)
	c.plan = engine.Assign(c.world, engine.Settings{Config: l.cfg, Patience: 2 * time.Second, Tries: 10, Wait: 10 * time.Second, Waits: true}, wants)
	return c
}

func (c *command) tick() { c.world.At(c.ledger.now, c.ledger.now) }

// decision is what a command does next, as long as it learns nothing and no time passes.
type decision struct {
	at    time.Time
	place int
	r     engine.Request
	waits []engine.Step
	ok    bool
}

// next returns the next request of a command, with the place of its lease; or the steps of the leases that wait, if all do.
func (c *command) next() (place int, r engine.Request, waits []engine.Step, ok bool) {
	if d := c.decided; d == nil || !d.at.Equal(c.ledger.now) {
		place, r, waits, ok = c.decide()
		c.decided = &decision{c.ledger.now, place, r, waits, ok}
	}
	d := c.decided
	return d.place, d.r, d.waits, d.ok
}

// fold tells a command an answer.
func (c *command) fold(place int, r engine.Request, a engine.Answer, sent engine.Stamp) {
	c.tick()
	c.world.Fold(c.plan, place, r, a, sent)
	c.decided = nil
}

// yield lets the first lease of a command go on whose leases all wait for each other.
func (c *command) yield() {
	for _, i := range c.plan.Order() {
		if c.world.Outcome(i) == nil {
			c.world.Yield(i)
			c.decided = nil
			return
		}
	}
}

// interrupt interrupts a command.
func (c *command) interrupt() { c.world.Interrupted, c.decided = errors.New("interrupted"), nil }

func (c *command) decide() (place int, r engine.Request, waits []engine.Step, ok bool) {
	c.tick()
	var shared []flying
	for _, i := range c.plan.Order() {
		for c.world.Outcome(i) == nil {
			s := engine.Next(c.world, c.plan, i)
			if c.world.Decide(i, s) {
				for _, e := range s.Tells {
					if c.tell != nil {
						c.tell(e)
					}
				}
				continue
			}
			switch {
			case s.Outcome != nil:
				c.world.End(i, s.Outcome)
			case len(s.Requests) > 0 && !s.Requests[0].IsShared():
				return i, s.Requests[0], nil, true
			case len(s.Requests) > 0:
				shared = append(shared, flying{i, s.Requests[0], 0})
			default:
				waits = append(waits, s)
			}
			break
		}
	}
	if len(shared) > 0 {
		return shared[0].place, shared[0].request, nil, true
	}
	return 0, r, waits, false
}

// commit ends a command whose leases have all ended.
func (c *command) commit() {
	c.ended = true
	if c.world.Turn.Err != nil {
		return
	}
	if _, alive := c.ledger.announced[c.nonce]; !alive {
		c.lost = c.world.Turn.Alone > 0 // else it had nothing to write
		return
	}
	var done []lease.Group
	for i, w := range c.wants {
		if c.world.Outcome(i).Unfinished {
			c.ledger.crashed[c.nonce] = append(c.ledger.crashed[c.nonce], w.Groups()...)
			c.ledger.fallen[c.nonce] = c.ledger.crashed[c.nonce]
		} else {
			done = append(done, w.Groups()...)
		}
	}
	c.ledger.succeed(c.world.Turn.Fenced, done)
	delete(c.ledger.announced, c.nonce)
}

// mayWrite reports whether a command may send a write: it asks before each whether it was taken for crashed.
func (c *command) mayWrite(r engine.Request) bool {
	_, alive := c.ledger.announced[c.nonce]
	return alive || !isWrite(r)
}

func isWrite(r engine.Request) bool {
	return slices.Contains([]engine.Verb{
		engine.Put, engine.Delete, engine.PutObject, engine.CreateObject, engine.DeleteObject, engine.Keep, engine.Forget, engine.Touch,
	}, r.Verb)
}

// answer lets the API server answer a request.
func (c *command) answer(r engine.Request) (a engine.Answer) {
	if !c.mayWrite(r) {
		return engine.Answer{Over: true, Err: errLost}
	}
	return c.arrived(r)
}

// arrived lets the API server answer a request that was sent while the command might send it.
func (c *command) arrived(r engine.Request) (a engine.Answer) {
	l := c.ledger
	switch r.Verb {
	case engine.ReadAll, engine.Look:
		claims := l.list(r.Owner, c.nonce)
		now := l.observe(claims, r.Owner)
		if l.breach == "claims are read before objects" && l.past != nil {
			l.past, now = now, l.past
		} else {
			l.past = now
		}
		return engine.Answer{Claims: claims, Objects: now}
	case engine.Announce:
		return l.announce(c)
	case engine.Get:
		return engine.Answer{Claim: l.read(r.Name, c.nonce)}
	case engine.List:
		return engine.Answer{Claims: slices.DeleteFunc(l.list("", c.nonce), func(c *state.Claim) bool { return c.Kind != r.Kind })}
	case engine.Put, engine.Delete:
		return l.write(r, c.nonce)
	case engine.GetObject:
		a.Live = l.live(engine.Key{Kind: r.Object.Kind, Namespace: r.Object.Live.GetNamespace(), Name: r.Object.Live.GetName()})
	case engine.GetLive:
		a.Live = l.live(r.Key)
	case engine.PutObject:
		return l.apply(r, false)
	case engine.CheckObject:
		return l.apply(r, true)
	case engine.CreateObject:
		return l.create(r)
	case engine.DeleteObject:
		return l.remove(r.Object)
	case engine.Touch:
		l.touch(r.Object, c.nonce)
	case engine.GetDefinition:
		a.Definition = l.definitions[r.Group]
	case engine.Keep:
		return l.keep(r)
	case engine.Forget:
		return l.forget(r)
	case engine.ReadAnnouncements:
		for nonce, of := range l.crashed {
			a.Announced = a.Announced || nonce != c.nonce && slices.Contains(of, r.Group)
		}
		for nonce, of := range l.announced {
			a.Announced = a.Announced || nonce != c.nonce && slices.Contains(of, r.Group)
		}
	}
	return a
}

var (
	errLost  = errors.New("another command has taken this one for crashed")
	errStale = errors.New("the object has been modified")
)
