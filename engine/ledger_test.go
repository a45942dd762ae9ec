package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// ledger is an API server with claims: each write is pinned.
type ledger struct {
	now     time.Time
	claims  map[string]*state.Claim
	objects map[engine.Key]*stored
	// definitions are those that the ledger keeps, said all that were ever applied, by their hashes.
	definitions map[lease.Group]*kept.Definition
	said        map[string]*lease.Definition
	// refuses says why objects of a kind are refused. webhook is true if a host has one Ingress.
	refuses map[string]string
	webhook bool
	// writes counts what was written, versions the same of each thing, also of one that is gone.
	writes   int
	versions map[string]int
	// announced are the announcements of commands, by nonce.
	announced map[string]*state.Announcement
	closing   bool
	// targets are where hosts are reached.
	targets render.Published
	// reserved are the leases that have taken over the reservations of their orders.
	reserved []lease.ID
	cfg      *config.ProviderConfig
	// fallen are the groups of all commands that were taken for crashed, or have left something unfinished, by nonce.
	fallen map[string][]lease.Group
	// breach is a rule that the ledger, or who sends the requests, does not keep; empty for none.
	breach string
	// past are the objects of the reading before.
	past *observed.Snapshot
	// pure compares decisions with what they are given; nil for no comparison.
	pure *purity
	// explored is nil unless all moments are explored.
	explored *exploration
}

// poolSize is how many addresses there are.
const poolSize = 2

func newLedger() *ledger {
	cfg := config.Default()
	r, err := config.ParseRange("10.0.0.1-10.0.0.2")
	if err != nil {
		panic(err)
	}
	cfg.IP.Mode, cfg.IP.Ranges.Include = config.ModeDedicated, []config.Range{r}
	return &ledger{
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), claims: map[string]*state.Claim{}, objects: map[engine.Key]*stored{},
		definitions: map[lease.Group]*kept.Definition{}, said: map[string]*lease.Definition{}, refuses: map[string]string{}, targets: render.Published{},
		versions: map[string]int{}, announced: map[string]*state.Announcement{}, fallen: map[string][]lease.Group{}, cfg: cfg,
	}
}

// next returns the next version of a thing.
func (l *ledger) next(thing string) string {
	l.writes++
	l.versions[thing]++
	return strconv.Itoa(l.versions[thing])
}

// isAlive reports whether a command has announced itself, and nobody has taken it for crashed.
func (l *ledger) isAlive(c *command) bool {
	return !protocol.Lost(l.announced[c.nonce]) || c.alone && l.breach == "who was taken for crashed writes nothing"
}

// isTaken reports whether another command works for the groups of a command.
func (l *ledger) isTaken(c *command) bool {
	if l.breach == "one command works for a group" {
		return false
	}
	for nonce, a := range l.announced {
		if nonce != c.nonce && !protocol.Lost(a) && a.Names(c.groups()...) {
			return true
		}
	}
	return false
}

// announce gives a command its turn, or says that another one works for its groups.
func (l *ledger) announce(c *command) engine.Answer {
	if l.isTaken(c) {
		return engine.Answer{Err: errors.New("another command is at work")}
	}
	l.put(&state.Announcement{Nonce: c.nonce, Groups: c.groups(), Phase: state.Active})
	return l.turn(c, c.waited)
}

// put writes an announcement.
func (l *ledger) put(a *state.Announcement) {
	now := *a
	now.ResourceVersion = l.next(a.Name())
	l.announced[a.Nonce] = &now
	if a.Phase == state.Fenced {
		l.fallen[a.Nonce] = a.Groups
	}
}

// turn is what a command learns that nobody else works for its groups. waited is true if somebody did.
func (l *ledger) turn(c *command, waited bool) engine.Answer {
	groups := c.groups()
	t := engine.Turn{Nonce: c.nonce, Closing: l.closing, Met: waited}
	for _, a := range l.announcements() {
		if a.Phase == state.Fenced && a.Names(groups...) && l.breach != "who succeeds a crashed command knows it" {
			t.Met = true
			t.Fenced = append(t.Fenced, a)
		}
	}
	var owners []string
	for _, g := range groups {
		owners = append(owners, g.Owner)
	}
	if l.breach == "a turn begins with a look at the claims" {
		return engine.Answer{Turn: engine.Turn{Nonce: c.nonce, Fenced: t.Fenced}}
	}
	return engine.Answer{Turn: t, Owners: owners, Claims: slices.DeleteFunc(l.list("", c.nonce), func(c *state.Claim) bool { return !slices.Contains(owners, c.Owner) })}
}

// announcements are all of them, in one order.
func (l *ledger) announcements() (out []*state.Announcement) {
	for _, nonce := range slices.Sorted(maps.Keys(l.announced)) {
		out = append(out, l.announced[nonce])
	}
	return out
}

// fence declares a command crashed.
func (l *ledger) fence(a *state.Announcement, by string) {
	fenced := *a
	fenced.Phase, fenced.FencedBy = state.Fenced, by
	l.put(&fenced)
}

// crash declares a command crashed, unless it has ended.
func (l *ledger) crash(c *command) {
	if l.isAlive(c) {
		l.fence(l.announced[c.nonce], "somebody")
	}
}

// withdraw deletes an announcement.
func (l *ledger) withdraw(a *state.Announcement) {
	l.next(a.Name())
	delete(l.announced, a.Nonce)
}

// hasFallen reports whether a command was taken for crashed that worked for a group.
func (l *ledger) hasFallen(g lease.Group) bool {
	for _, of := range l.fallen {
		if slices.Contains(of, g) {
			return true
		}
	}
	return false
}

// succeed removes the groups that a command has finished from the announcements of crashed commands that it succeeds, unless claims
// still have their marks.
func (l *ledger) succeed(fenced []*state.Announcement, done []lease.Group) {
	for _, was := range fenced {
		a := l.announced[was.Nonce]
		if a == nil {
			continue
		}
		left := *a
		left.Groups = protocol.Remaining(a, slices.DeleteFunc(slices.Clone(done), func(g lease.Group) bool { return l.hasMark(a.Nonce, g) }))
		switch {
		case len(left.Groups) == 0:
			l.withdraw(a)
		case len(left.Groups) < len(a.Groups):
			fallen := l.fallen[a.Nonce]
			l.put(&left)
			l.fallen[a.Nonce] = fallen
		}
	}
}

func (l *ledger) hasMark(nonce string, g lease.Group) bool {
	for _, c := range l.claims {
		if slices.ContainsFunc(c.PartsOf(g), func(p state.Part) bool { return state.NonceOf(p.Run) == nonce }) {
			return true
		}
	}
	return false
}

// read returns a claim as a command reads it.
func (l *ledger) read(name, own string) *state.Claim { return l.settled(l.claims[name], own) }

// settled returns a claim without the marks of commands that have ended.
func (l *ledger) settled(c *state.Claim, own string) *state.Claim {
	if c == nil || !c.Marked() {
		return c
	}
	out := *c
	out.Parts = slices.Clone(c.Parts)
	out.Settle(func(p state.Part) bool { return l.announced[state.NonceOf(p.Run)].HasEndedFor(p.Lease.Group()) })
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

// write writes or deletes a claim if it is as the request has seen it.
func (l *ledger) write(r engine.Request, own string) engine.Answer {
	on := engine.On[engine.OfClaim](r)
	was := l.claims[on.Name]
	if l.breach != "writes are pinned" && ((was == nil) != (on.Claim.UID == "") || was != nil && was.ResourceVersion != on.Claim.ResourceVersion) {
		return engine.Answer{Stale: true, Err: errStale}
	}
	version := l.next(on.Name)
	if r.Verb == engine.Delete {
		delete(l.claims, on.Name)
		return engine.Answer{}
	}
	now := *on.Claim
	now.Parts, now.Waits = nil, nil
	for _, p := range slices.Concat(on.Claim.Parts, on.Claim.Waits) {
		taken := on.Force && slices.ContainsFunc(on.Parts, func(q state.Part) bool { return q.Key == p.Key })
		if p.Lease.Group() != on.Group && !taken {
			now.Parts = append(now.Parts, p)
		}
	}
	now.Parts = append(now.Parts, on.Parts...)
	now.Waits = slices.DeleteFunc(slices.Clone(now.Parts), func(p state.Part) bool { return p.For == "" })
	now.Parts = slices.DeleteFunc(now.Parts, func(p state.Part) bool { return p.For != "" })
	switch l.breach {
	case "marks are kept":
		for i := range now.Parts {
			now.Parts[i].Run = ""
		}
	case "notes are kept":
		now.Waits = nil
	}
	now.Former = nil // whose field managers still own fields
	for _, g := range slices.Concat(on.Claim.Former, on.Claim.Groups()) {
		if g != on.Group && len(now.Entries(g)) == 0 {
			now.Former = append(now.Former, g)
		}
	}
	if now.UID == "" {
		now.UID, now.Created = types.UID(on.Name+" "+version), l.now
	}
	now.ResourceVersion = version
	l.claims[on.Name] = &now
	return engine.Answer{Claim: l.read(on.Name, own)}
}

// keep writes the definition that the ledger keeps, if it is as the request has seen it.
func (l *ledger) keep(r engine.Request) engine.Answer {
	on := engine.On[engine.OfDefinition](r)
	was := l.definitions[on.Group]
	switch {
	case l.breach != "definitions are pinned" && !was.IsVersion(on.Was):
		return engine.Answer{Stale: true, Err: errStale}
	case was.Same(on.Definition):
		return engine.Answer{Definition: was}
	}
	version := l.next(kept.Name(on.Group))
	now := *on.Definition
	now.UID, now.ResourceVersion = types.UID(kept.Name(on.Group)+" "+version), version
	if was != nil {
		now.UID, now.Suspended = was.UID, was.Suspended // no apply changes that
	}
	l.definitions[on.Group] = &now
	return engine.Answer{Definition: &now}
}

// suspend lets the reconciler leave a lease as it is.
func (l *ledger) suspend(g lease.Group) {
	now := *l.definitions[g]
	now.Suspended, now.ResourceVersion = true, l.next(now.Name)
	l.definitions[g] = &now
}

// forget deletes the definition that the ledger keeps, if it is as the request has seen it.
func (l *ledger) forget(r engine.Request) engine.Answer {
	on := engine.On[engine.OfDefinition](r)
	switch was := l.definitions[on.Group]; {
	case l.breach != "definitions are pinned" && was != nil && !was.IsVersion(on.Definition):
		return engine.Answer{Stale: true, Err: errStale}
	case was != nil:
		l.next(kept.Name(on.Group))
		delete(l.definitions, on.Group)
	}
	return engine.Answer{}
}
