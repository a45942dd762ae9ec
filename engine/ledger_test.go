package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ledger is an API server with claims: each write is pinned. Announcements are exclusive for a deployment group.
type ledger struct {
	now     time.Time
	version int
	claims  map[string]*state.Claim
	// serves has the deployment groups whose routes serve a host, routes how many routes were made.
	serves map[string][]lease.Group
	routes map[string]int
	// announced are the groups of the commands that work, by nonce; crashed those of commands that do not any more.
	announced, crashed map[string][]lease.Group
	closing            bool
	cfg                *config.ProviderConfig
	// breach is a rule that the ledger, or who sends the requests, does not keep; empty for none.
	breach string
	// past are the objects of the reading before.
	past engine.Objects
}

func newLedger() *ledger {
	cfg := config.Default()
	r, err := config.ParseRange("10.0.0.1-10.0.0.2")
	if err != nil {
		panic(err)
	}
	cfg.IP.Mode, cfg.IP.Ranges.Include = config.ModeDedicated, []config.Range{r}
	return &ledger{
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), claims: map[string]*state.Claim{}, serves: map[string][]lease.Group{}, routes: map[string]int{},
		announced: map[string][]lease.Group{}, crashed: map[string][]lease.Group{}, cfg: cfg,
	}
}

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
	ended  bool
}

type flying struct {
	place   int
	request engine.Request
	sent    engine.Stamp
}

func (l *ledger) command(name string, wants ...engine.Want) *command {
	c := &command{name: name, nonce: name, ledger: l, world: engine.NewWorld(), wants: wants}
	c.tick()
	c.world.ReadAll(l.list("", c.nonce), l.objects(), c.world.Send())
	marks := make([]string, len(wants))
	for i := range marks {
		marks[i] = state.Mark(name, i)
	}
	c.world.Begin(name, marks)
	c.plan = engine.Assign(c.world, engine.Settings{Config: l.cfg, Patience: 2 * time.Second, Tries: 10, Wait: 10 * time.Second, Waits: true}, wants)
	return c
}

func (c *command) tick() { c.world.At(c.ledger.now, c.ledger.now) }

// next returns the next request of a command, with the place of its lease; or the steps of the leases that wait, if all do.
func (c *command) next() (place int, r engine.Request, waits []engine.Step, ok bool) {
	c.tick()
	var shared []flying
	for _, i := range c.plan.Order() {
		for c.world.Outcome(i) == nil {
			s := engine.Next(c.world, c.plan, i)
			if c.world.Decide(i, s) {
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
	for i, w := range c.wants {
		if o := c.world.Outcome(i); o.Unfinished {
			c.ledger.crashed[c.nonce] = append(c.ledger.crashed[c.nonce], w.Request.Lease.Group())
		}
	}
	delete(c.ledger.announced, c.nonce)
}

// mayWrite reports whether a command may send a write: it asks before each whether it was taken for crashed.
func (c *command) mayWrite(r engine.Request) bool {
	_, alive := c.ledger.announced[c.nonce]
	return alive || !isWrite(r)
}

func isWrite(r engine.Request) bool {
	return slices.Contains([]engine.Verb{engine.Put, engine.Delete, engine.DeleteObject, engine.Forget}, r.Verb)
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
		now := l.objects()
		if l.breach == "claims are read before objects" && l.past != nil {
			l.past, now = now, l.past
		} else {
			l.past = now
		}
		return engine.Answer{Claims: l.list(r.Owner, c.nonce), Objects: now}
	case engine.Announce:
		return l.announce(c)
	case engine.Get:
		return engine.Answer{Claim: l.read(r.Name, c.nonce)}
	case engine.List:
		return engine.Answer{Claims: slices.DeleteFunc(l.list("", c.nonce), func(c *state.Claim) bool { return c.Kind != r.Kind })}
	case engine.Put, engine.Delete:
		return l.write(r, c.nonce)
	case engine.GetObject:
		if l.isThere(r.Object) {
			a.Live = r.Object.Live
		}
	case engine.DeleteObject:
		if !l.isThere(r.Object) {
			return a
		}
		l.serves[r.Object.Live.GetName()] = slices.DeleteFunc(slices.Clone(l.serves[r.Object.Live.GetName()]), func(g lease.Group) bool { return g == r.Object.Group })
	}
	return a
}

var (
	errLost  = errors.New("another command has taken this one for crashed")
	errStale = errors.New("the object has been modified")
)

// isTaken reports whether another command works for the groups of a command.
func (l *ledger) isTaken(c *command) bool {
	if l.breach == "one command works for a group" {
		return false
	}
	for nonce, of := range l.announced {
		if nonce != c.nonce && slices.ContainsFunc(of, func(g lease.Group) bool { return slices.Contains(c.plan.Groups(), g) }) {
			return true
		}
	}
	return false
}

// announce gives a command its turn, or says that another one works for its groups.
func (l *ledger) announce(c *command) engine.Answer {
	groups := c.plan.Groups()
	names := func(of []lease.Group) bool {
		return slices.ContainsFunc(of, func(g lease.Group) bool { return slices.Contains(groups, g) })
	}
	if l.isTaken(c) {
		return engine.Answer{Err: errors.New("another command is at work")}
	}
	l.announced[c.nonce] = groups
	t := engine.Turn{Nonce: c.nonce, Closing: l.closing}
	for nonce, of := range l.crashed {
		if names(of) && l.breach != "who succeeds a crashed command knows it" {
			t.Met = true
			t.Fenced = append(t.Fenced, &state.Announcement{Nonce: nonce, Groups: of, Phase: state.Fenced})
		}
	}
	var owners []string
	for _, g := range groups {
		owners = append(owners, g.Owner)
	}
	return engine.Answer{Turn: t, Owners: owners, Claims: slices.DeleteFunc(l.list("", c.nonce), func(c *state.Claim) bool { return !slices.Contains(owners, c.Owner) })}
}

// crash declares a command crashed.
func (l *ledger) crash(c *command) {
	if of, alive := l.announced[c.nonce]; alive {
		delete(l.announced, c.nonce)
		l.crashed[c.nonce] = of
	}
}

// hasCrashed reports whether a command has crashed while it worked for a group.
func (l *ledger) hasCrashed(g lease.Group) bool {
	for _, of := range l.crashed {
		if slices.Contains(of, g) {
			return true
		}
	}
	return false
}

// read returns a claim as a command reads it: without the marks of commands that have ended.
func (l *ledger) read(name, own string) *state.Claim {
	c := l.claims[name]
	if c == nil {
		return nil
	}
	out := *c
	out.Parts = slices.Clone(c.Parts)
	out.Settle(func(p state.Part) bool {
		nonce := state.NonceOf(p.Run)
		_, alive := l.announced[nonce]
		return !alive && !slices.Contains(l.crashed[nonce], p.Lease.Group())
	})
	out.SettleHeld(func(nonce string) bool { return nonce == own })
	return &out
}

func (l *ledger) list(owner, own string) (out []*state.Claim) {
	for _, name := range slices.Sorted(maps.Keys(l.claims)) {
		if c := l.read(name, own); owner == "" || c.Owner == owner {
			out = append(out, c)
		}
	}
	return out
}

// isThere reports whether a route exists, and not another one of its name.
func (l *ledger) isThere(o engine.Object) bool {
	host := o.Live.GetName()
	return slices.Contains(l.serves[host], o.Group) && l.objects().(objects).route(host, o.Group).Live.GetUID() == o.Live.GetUID()
}

// write writes or deletes a claim if it is as the request has seen it.
func (l *ledger) write(r engine.Request, own string) engine.Answer {
	was := l.claims[r.Name]
	if l.breach != "writes are pinned" && ((was == nil) != (r.Claim.UID == "") || was != nil && was.ResourceVersion != r.Claim.ResourceVersion) {
		return engine.Answer{Stale: true, Err: errStale}
	}
	l.version++
	if r.Verb == engine.Delete {
		delete(l.claims, r.Name)
		return engine.Answer{}
	}
	now := *r.Claim
	now.Parts, now.Waits = nil, nil
	for _, p := range slices.Concat(r.Claim.Parts, r.Claim.Waits) {
		if p.Lease.Group() != r.Group {
			now.Parts = append(now.Parts, p)
		}
	}
	now.Parts = append(now.Parts, r.Parts...)
	now.Waits = slices.DeleteFunc(slices.Clone(now.Parts), func(p state.Part) bool { return p.For == "" })
	now.Parts = slices.DeleteFunc(now.Parts, func(p state.Part) bool { return p.For != "" })
	if now.UID == "" {
		now.UID, now.Created = types.UID(strconv.Itoa(l.version)), l.now
	}
	now.ResourceVersion = strconv.Itoa(l.version)
	l.claims[r.Name] = &now
	return engine.Answer{Claim: l.read(r.Name, own)}
}
