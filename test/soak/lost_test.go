package soak_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A route is live while it is there and its lease holds what it serves. Whatever ends that, be it a write to
// the route or to its claim, has to be asked for by a command of its own lease, or of its owner's transfer, that is at work.

// asks are what a command asks for, by the documents of its verb.
type asks struct {
	// lease is the deployment group that is named; things are those that are named, or none.
	lease  string
	things []string
	// releases: what the lease has is given up. transfers: the things are handed to the lease, whichever
	// lease of its owner has them. moves: its routes move to another kind. all: everything is given up.
	releases, transfers, moves, all bool
	// named are the things whose problems are to be fixed, whatever that takes.
	named []string
	// applies are the definitions that leases are to have, by group; keeps: what they leave out stays.
	applies map[string]*definition
	keeps   bool
}

// names is true where a route's thing is among those of the command, or none are named.
func (a asks) names(r route) bool {
	return len(a.things) == 0 || slices.ContainsFunc(a.things, func(thing string) bool {
		return thing == r.thing || r.sharingKey != "" && strings.HasSuffix(r.sharingKey, "-ip-"+thing)
	})
}

// for_ is true where the command asks for the end of a live route that rests on a part. after is what
// serves then.
func (a asks) for_(r route, p part, after []route) bool {
	succeeded := slices.ContainsFunc(after, func(s route) bool { return s.stands() == r.stands() && s.same(r) })
	if a.all || slices.Contains(a.named, r.thing) || r.sharingKey != "" && slices.Contains(a.named, r.sharingKey) || a.transfers && r.owner == owner(a.lease) && a.names(r) {
		return true
	}
	if a.releases && (a.lease == r.group || a.lease == p.group) && a.names(r) {
		return true
	}
	if d := a.applies[r.group]; d != nil && (succeeded || !a.keeps && !d.defines(r)) {
		return true
	}
	if p.group != r.group && a.applies[p.group] != nil { // it has served for the holder since a transfer
		return true
	}
	return a.moves && a.lease == r.group && succeeded
}

func owner(group string) string {
	name, _, _ := strings.Cut(group, "/")
	return name
}

// stands is true for Akash's objects, which serve nothing themselves.
func (r route) stands() bool { return r.kind == "ProviderHost" || r.kind == "ProviderLeasedIP" }

// same is true for routes of one lease that are for the same host, or the same port of an endpoint.
func (r route) same(s route) bool {
	return s.group == r.group && s.key == r.key && (s.thing == r.thing || r.sharingKey != "" && s.sharingKey == r.sharingKey)
}

// lossOf is a live route that has ended, and what ended it.
type lossOf struct {
	route
	change
	// by is the verb of a command that asked for it; empty where none did that was at work.
	by string
}

func (l lossOf) String() string {
	return fmt.Sprintf("%s of %s (%s %s) at %s, revision %d of %s", l.route, l.group, l.thing, l.key, l.at.UTC().Format("15:04:05.000"), l.revision, l.path)
}

// history is the cluster as it is after some of a journal's changes.
type history struct {
	claims  map[string]claim   // by path
	serving map[string][]route // by path
	// made and written are the revisions in which an object was made, and was written last, by path.
	made, written map[string]uint64
	// undeclared is when what Akash's operators go by was last taken from a lease as was asked for.
	undeclared map[string]uint64
	// operated is true where Akash's operators make the routes.
	operated bool
}

// live is true where the lease of a route holds what it serves, or serves it since a transfer. What stands
// for a host or a port rests on nothing where nothing serves it.
func (h *history) live(r route, now time.Time) (part, bool) {
	if r.stands() && !slices.ContainsFunc(h.all(), func(s route) bool { return !s.stands() && s.same(r) }) {
		return part{}, false
	}
	return h.held(r, now)
}

func (h *history) held(r route, now time.Time) (part, bool) {
	a := audit{now: now}
	for _, c := range h.claims {
		if c.thing != r.thing && (r.sharingKey == "" || c.sharingKey != r.sharingKey || strings.Contains(r.thing, ".")) {
			continue
		}
		if p, held := c.parts[r.key]; held && (p.group == r.group || p.From == r.group) && !a.ended(p) {
			return p, true
		}
	}
	return part{}, false
}

// touched are the routes that a change may be about, as they are now.
func (h *history) touched(c change) (out []route) {
	before := h.claims[c.path]
	about := func(r route) bool {
		return slices.ContainsFunc([]*claim{&before, c.claim}, func(x *claim) bool {
			return x != nil && x.thing != "" && (r.thing == x.thing || r.sharingKey != "" && r.sharingKey == x.sharingKey)
		})
	}
	for path, rs := range h.serving {
		for _, r := range rs {
			if path == c.path || about(r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// step makes a change, and is what it ended.
func (h *history) step(c change, atWork func(uint64) []operation) (ended []lossOf) {
	was := map[route]part{}
	for _, r := range h.touched(c) {
		if p, ok := h.live(r, c.at); ok {
			was[r] = p
		}
	}
	made, written := h.made[c.path], h.written[c.path]
	h.make(c)
	for r, p := range was {
		if _, held := h.held(r, c.at); held && h.serves(r) {
			continue
		}
		l := lossOf{route: r, change: c}
		for _, op := range atWork(c.revision) {
			// A command may take back what was made since it began.
			if op.asks.for_(r, p, h.all()) || op.asks.applies[r.group] != nil && made > op.began {
				l.by = op.verb
			}
		}
		if l.by == "" && h.operated && !r.stands() && !strings.Contains(c.path, "/leases/") && h.follows(r, written) {
			l.by = "Akash's operators"
		}
		if l.by != "" && r.stands() {
			h.undeclared[declared(r)] = c.revision
		}
		ended = append(ended, l)
	}
	return ended
}

func (h *history) make(c change) {
	if _, there := h.written[c.path]; !there {
		h.made[c.path] = c.revision
	}
	h.written[c.path] = c.revision
	switch {
	case c.gone:
		delete(h.claims, c.path)
		delete(h.serving, c.path)
		delete(h.written, c.path)
	case strings.Contains(c.path, "/leases/"):
		if delete(h.claims, c.path); c.claim != nil {
			h.claims[c.path] = *c.claim
		}
	default:
		h.serving[c.path] = c.routes
	}
}

func (h *history) all() []route { return slices.Concat(slices.Collect(maps.Values(h.serving))...) }

// serves is true where the object is there and serves the same for the same lease, wherever that runs.
func (h *history) serves(r route) bool {
	return slices.ContainsFunc(h.all(), func(s route) bool {
		r.service, r.port, r.definition = s.service, s.port, s.definition
		return s == r
	})
}

func declared(r route) string { return r.group + " " + r.key + " " + r.thing + r.sharingKey }

// follows is true where Akash's operators have only done what they do after a command: what they go by is
// gone, or was, since they last wrote the route.
func (h *history) follows(r route, written uint64) bool {
	stands := slices.ContainsFunc(h.all(), func(s route) bool { return s.stands() && s.same(r) })
	return !stands || h.undeclared[declared(r)] > written
}

// lost reads a journal: how many live routes ended as commands asked for, by verb, and those that were lost.
func lost(changes []change, operated bool, atWork func(uint64) []operation) (asked map[string]int, found []lossOf) {
	h := &history{
		claims: map[string]claim{}, serving: map[string][]route{}, made: map[string]uint64{}, written: map[string]uint64{},
		undeclared: map[string]uint64{}, operated: operated,
	}
	asked = map[string]int{}
	for _, c := range changes {
		for _, l := range h.step(c, atWork) {
			if asked[l.by]++; l.by == "" {
				found = append(found, l)
			}
		}
	}
	delete(asked, "")
	return asked, found
}

// story is what became of a route's thing up to a revision, a change a line.
func story(changes []change, r route, until uint64) string {
	var lines []string
	about := map[string]bool{}
	for _, c := range changes {
		if c.claim != nil && (c.claim.thing == r.thing || r.sharingKey != "" && c.claim.sharingKey == r.sharingKey) || slices.ContainsFunc(c.routes, r.same) {
			about[c.path] = true
		}
		if about[c.path] && c.revision <= until {
			line := fmt.Sprintf("%s revision %d of %s:", c.at.UTC().Format("15:04:05.000"), c.revision, c.path)
			switch {
			case c.gone:
				line += " gone"
			case c.claim != nil:
				line += fmt.Sprintf(" %+v", c.claim.parts)
			default:
				line += fmt.Sprintf(" %+v", c.routes)
			}
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
