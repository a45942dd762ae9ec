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
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// ledger is an API server with claims: each write is pinned. Announcements are exclusive for a deployment group.
type ledger struct {
	now     time.Time
	version int
	claims  map[string]*state.Claim
	objects map[engine.Key]*stored
	// definitions are those that the ledger keeps, said all that were ever applied, by their hashes.
	definitions map[lease.Group]*kept.Definition
	said        map[string]*lease.Definition
	// refuses says why objects of a kind are refused. webhook is true if a host has one Ingress.
	refuses map[string]string
	webhook bool
	// announced are the groups of the commands that work, by nonce; crashed those of commands that do not any more.
	announced, crashed map[string][]lease.Group
	closing            bool
	cfg                *config.ProviderConfig
	// fallen are the groups of all commands that were taken for crashed, or have left something unfinished.
	fallen map[string][]lease.Group
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
		now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), claims: map[string]*state.Claim{}, objects: map[engine.Key]*stored{},
		definitions: map[lease.Group]*kept.Definition{}, said: map[string]*lease.Definition{}, refuses: map[string]string{},
		announced: map[string][]lease.Group{}, crashed: map[string][]lease.Group{}, fallen: map[string][]lease.Group{}, cfg: cfg,
	}
}

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
		l.crashed[c.nonce], l.fallen[c.nonce] = of, of
	}
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
	for _, a := range fenced {
		left := slices.DeleteFunc(slices.Clone(l.crashed[a.Nonce]), func(g lease.Group) bool { return slices.Contains(done, g) && !l.hasMark(a.Nonce, g) })
		if l.crashed[a.Nonce] = left; len(left) == 0 {
			delete(l.crashed, a.Nonce)
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
		taken := r.Force && slices.ContainsFunc(r.Parts, func(q state.Part) bool { return q.Key == p.Key })
		if p.Lease.Group() != r.Group && !taken {
			now.Parts = append(now.Parts, p)
		}
	}
	now.Parts = append(now.Parts, r.Parts...)
	now.Waits = slices.DeleteFunc(slices.Clone(now.Parts), func(p state.Part) bool { return p.For == "" })
	now.Parts = slices.DeleteFunc(now.Parts, func(p state.Part) bool { return p.For != "" })
	now.Former = nil // whose field managers still own fields
	for _, g := range slices.Concat(r.Claim.Former, r.Claim.Groups()) {
		if g != r.Group && len(now.Entries(g)) == 0 {
			now.Former = append(now.Former, g)
		}
	}
	if now.UID == "" {
		now.UID, now.Created = types.UID(strconv.Itoa(l.version)), l.now
	}
	now.ResourceVersion = strconv.Itoa(l.version)
	l.claims[r.Name] = &now
	return engine.Answer{Claim: l.read(r.Name, own)}
}

// keep writes the definition that the ledger keeps, if it is as the request has seen it.
func (l *ledger) keep(r engine.Request) engine.Answer {
	was := l.definitions[r.Group]
	switch {
	case l.breach != "definitions are pinned" && !was.IsVersion(r.Was):
		return engine.Answer{Stale: true, Err: errStale}
	case was.Same(r.Definition):
		return engine.Answer{Definition: was}
	}
	l.version++
	now := *r.Definition
	now.UID, now.ResourceVersion = types.UID(strconv.Itoa(l.version)), strconv.Itoa(l.version)
	if was != nil {
		now.UID = was.UID
	}
	l.definitions[r.Group] = &now
	return engine.Answer{Definition: &now}
}

// forget deletes the definition that the ledger keeps, if it is as the request has seen it.
func (l *ledger) forget(r engine.Request) engine.Answer {
	switch was := l.definitions[r.Group]; {
	case l.breach != "definitions are pinned" && was != nil && !was.IsVersion(r.Definition):
		return engine.Answer{Stale: true, Err: errStale}
	case was != nil:
		l.version++
		delete(l.definitions, r.Group)
	}
	return engine.Answer{}
}
