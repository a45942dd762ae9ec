package soak_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A route is live while it is there and its lease holds what it serves. Whatever ends that, be it a write to
// the route or to its claim, has to be asked for by a command of its own lease, or of its owner's transfer.

// asks are what a command asks for, by the documents of its verb.
type asks struct {
	// lease is the deployment group that is named; things are those that are named, or none.
	lease  string
	things []string
	// releases: what the lease has is given up. transfers: the things are handed to the lease, whichever
	// lease of its owner has them. moves: its routes move to another kind. all: everything is given up.
	releases, transfers, moves, all bool
	// named are the things whose problems are to be mended, whatever that takes.
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

const operatorsThemselves = "Akash's operators"

// same is true for routes of one lease that are for the same host, or the same port of an endpoint.
func (r route) same(s route) bool {
	return s.group == r.group && s.key == r.key && (s.thing == r.thing || r.sharingKey != "" && s.sharingKey == r.sharingKey)
}

// lossOf is a live route that has ended, and what ended it.
type lossOf struct {
	route
	part
	change
	// by are the commands that may have done it.
	by    []string
	verb  string
	asked bool
}

func (l lossOf) String() string {
	return fmt.Sprintf("%s of %s (%s %s) by %q at %s, revision %d of %s", l.route, l.route.group, l.thing, l.key, l.by, l.at.UTC().Format("15:04:05.000"), l.revision, l.path)
}

// history is the cluster as it is after some of a journal's changes.
type history struct {
	claims  map[string]claim   // by path
	serving map[string][]route // by path
	written map[string]writing // by path
	// undeclared is when what Akash's operators go by was last taken from a lease as was asked for.
	undeclared map[string]uint64
	// operated is true where Akash's operators make the routes.
	operated bool
}

func newHistory(operated bool) *history {
	return &history{claims: map[string]claim{}, serving: map[string][]route{}, written: map[string]writing{}, undeclared: map[string]uint64{}, operated: operated}
}

// rest is the part that a route rests on, where its lease holds it, or serves it since a transfer. What stands
// for a host or a port rests on nothing where nothing serves it.
func (h *history) rest(r route, now time.Time) (part, bool) {
	if r.stands() && !slices.ContainsFunc(h.all(), func(s route) bool { return !s.stands() && s.same(r) }) {
		return part{}, false
	}
	return h.part(r, now)
}

func (h *history) held(r route, now time.Time) bool {
	_, held := h.part(r, now)
	return held
}

func (h *history) part(r route, now time.Time) (part, bool) {
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
	out = append(out, h.serving[c.path]...)
	before, was := h.claims[c.path]
	if c.claim == nil && !was {
		return out
	}
	for _, x := range []*claim{&before, c.claim} {
		if x == nil || x.thing == "" {
			continue
		}
		for _, rs := range h.serving {
			for _, r := range rs {
				if (r.thing == x.thing || r.sharingKey != "" && r.sharingKey == x.sharingKey) && !slices.Contains(out, r) {
					out = append(out, r)
				}
			}
		}
	}
	return out
}

// step makes a change, and is what it ended.
func (h *history) step(c change, authors func(change) []operation) (ended []lossOf) {
	live := map[route]part{}
	for _, r := range h.touched(c) {
		if p, ok := h.rest(r, c.at); ok {
			live[r] = p
		}
	}
	before := h.written[c.path]
	by := authors(c)
	h.make(c, by)
	for r, p := range live {
		if h.serves(r) && h.held(r, c.at) {
			continue
		}
		l := lossOf{route: r, part: p, change: c}
		for _, op := range by {
			l.verb, l.by = op.verb, append(l.by, fmt.Sprintf("%s #%d", op.verb, op.number))
			takesBack := op.asks.applies[r.group] != nil && before.alone(op)
			l.asked = l.asked || takesBack || op.asks.for_(r, p, h.all())
		}
		if h.operated && len(l.by) == 0 && !r.stands() && !strings.Contains(c.path, "/leases/") {
			l.verb, l.by, l.asked = operatorsThemselves, []string{operatorsThemselves}, h.follows(r, before.revision)
		}
		if l.asked && r.stands() {
			h.undeclared[declared(r)] = c.revision
		}
		ended = append(ended, l)
	}
	return ended
}

// writing is what is known of who has written an object since it is there.
type writing struct {
	uid      string
	revision uint64
	// by are the numbers of the commands.
	by []int
	// others is true where somebody else has, or it was there before the journal.
	others bool
}

// alone is true where a command alone has written an object: it may take back what it has made.
func (w writing) alone(op operation) bool {
	return !w.others && len(w.by) > 0 && !slices.ContainsFunc(w.by, func(n int) bool { return n != op.number })
}

func (h *history) make(c change, by []operation) {
	w := h.written[c.path]
	if w.uid != c.uid {
		w = writing{uid: c.uid}
	}
	w.revision, w.others = c.revision, w.others || len(by) == 0
	for _, op := range by {
		w.by = append(w.by, op.number)
	}
	h.written[c.path] = w
	switch {
	case c.gone:
		delete(h.claims, c.path)
		delete(h.serving, c.path)
	case strings.Contains(c.path, "/leases/"):
		if delete(h.claims, c.path); c.claim != nil {
			h.claims[c.path] = *c.claim
		}
	default:
		h.serving[c.path] = c.routes
	}
}

func (h *history) all() (out []route) {
	for rs := range maps.Values(h.serving) {
		out = append(out, rs...)
	}
	return out
}

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
func lost(changes []change, operated bool, authors func(change) []operation) (asked map[string]int, found []lossOf) {
	h, asked := newHistory(operated), map[string]int{}
	for _, c := range changes {
		for _, l := range h.step(c, authors) {
			if l.asked {
				asked[l.verb]++
				continue
			}
			found = append(found, l)
		}
	}
	return asked, found
}

// before is what became of a lost route's thing until it was lost, a change a line.
func before(changes []change, l lossOf, authors func(change) []operation) string {
	i := slices.IndexFunc(changes, func(c change) bool { return c.revision > l.revision })
	if i < 0 {
		i = len(changes)
	}
	return story(changes[:i], l.route, authors)
}

// story is what became of a route's thing, a change a line.
func story(changes []change, r route, authors func(change) []operation) string {
	var lines []string
	about := map[string]bool{}
	for _, c := range changes {
		if c.claim != nil && (c.claim.thing == r.thing || r.sharingKey != "" && c.claim.sharingKey == r.sharingKey) || slices.ContainsFunc(c.routes, r.same) {
			about[c.path] = true
		}
		if !about[c.path] {
			continue
		}
		line := fmt.Sprintf("%s revision %d of %s:", c.at.UTC().Format("15:04:05.000"), c.revision, c.path)
		for _, op := range authors(c) {
			line += fmt.Sprintf(" by %q #%d", op.args, op.number)
		}
		switch {
		case c.gone:
			line += " gone"
		case c.claim != nil:
			for key, p := range c.claim.parts {
				line += fmt.Sprintf(" %s: %+v", key, p)
			}
		default:
			line += fmt.Sprintf(" %+v", c.routes)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
