package soak_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The audit reads the cluster's objects by what docs/ledger.md and docs/annotations.md say, with no
// code of the program's own.

// finding is something that is not as the documents promise.
type finding struct {
	rule, thing string
	// group is the deployment group that it is about, where there is one.
	group, text string
}

func (f finding) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", f.rule, f.thing, f.group, f.text))
}

// claim is an object of the ledger.
type claim struct {
	name, kind, thing, owner, sharingKey string
	parts                                map[string]part // by annotation
}

// part is what a deployment group holds.
type part struct {
	Lease, Path, Service, Run, Expires string
	// From is the deployment group that serves the part since a transfer, until its lease is applied.
	From  string
	Port  int64
	Bound bool
	group string
}

// route is an object of a lease that the program wrote: it serves a host or a port of an address,
// or stands for it.
type route struct {
	kind, namespace, name string
	group, owner          string
	definition            string
	// thing is the host or the address; key is the annotation of the part that it rests on, without
	// the prefix and the hash: a path, or tcp-443.
	thing, key, sharingKey string
	service                string
	port                   int64
}

func (r route) String() string { return r.kind + " " + r.namespace + "/" + r.name }

// audit is one reading.
type audit struct {
	now    time.Time
	claims map[string]claim // by thing
	// runs are the commands that are announced: only their marks say something.
	runs   map[string]bool
	routes []route
	found  []finding
}

func (a *audit) find(rule, thing, group, format string, args ...any) {
	a.found = append(a.found, finding{rule, thing, group, fmt.Sprintf(format, args...)})
}

const domainName = "net.akash.network/"

// readClaim reads a Lease of the ledger, and finds what is wrong with it by itself.
func (a *audit) readClaim(o *unstructured.Unstructured) {
	c := claim{name: o.GetName(), kind: o.GetLabels()[domainName+"kind"], owner: o.GetLabels()[domainName+"owner"], parts: map[string]part{}}
	c.sharingKey = o.GetAnnotations()[domainName+"sharing-key"]
	c.thing = c.name
	switch rest, address := strings.CutPrefix(c.name, "ip--"); {
	case address:
		c.thing = strings.ReplaceAll(rest, "-", ".") // the soak leases IPv4 only
	case c.kind == "endpoint":
		c.thing = c.sharingKey
	default:
		if below, wild := strings.CutPrefix(c.name, "wc--any."); wild {
			c.thing = "*." + below
		}
	}
	if o.GetDeletionTimestamp() != nil {
		return
	}
	holder, _, _ := unstructured.NestedString(o.Object, "spec", "holderIdentity")
	if holder == "" || holder != c.owner {
		a.find("holder", c.thing, "", "holderIdentity %q, owner label %q", holder, c.owner)
	}
	for key, value := range o.GetAnnotations() {
		prefix, name, _ := strings.Cut(key, "/")
		if prefix != "route.net.akash.network" && prefix != "port.net.akash.network" {
			continue
		}
		var p part
		err := json.Unmarshal([]byte(value), &p)
		words := strings.Split(p.Lease, "/")
		if err != nil || len(words) != 5 {
			a.find("part", c.thing, "", "%s names no lease: %s", key, value)
			continue
		}
		p.group = strings.Join(words[:3], "/")
		if words[0] != holder {
			a.find("two owners", c.thing, p.group, "holds a part of what %s holds", holder)
		}
		if prefix == "route.net.akash.network" {
			name = p.Path
		}
		c.parts[name] = p
	}
	if len(c.parts) == 0 {
		a.find("nobody's claim", c.thing, "", "no lease holds a part")
	}
	a.claims[c.thing] = c
}

// announced is true for the announcement of a run, and notes it.
func (a *audit) announced(o *unstructured.Unstructured) bool {
	nonce, is := strings.CutPrefix(o.GetName(), "run--")
	if is && a.runs != nil {
		a.runs[nonce] = true
	}
	return is
}

// marked is true for what a run has taken that has not ended.
func (a *audit) marked(p part) bool {
	nonce, _, _ := strings.Cut(p.Run, "-")
	return a.runs[nonce]
}

// judgeClaims finds what is left of runs that did not end, and owners that share a domain.
func (a *audit) judgeClaims() {
	for _, c := range a.claims {
		for _, p := range c.parts {
			switch {
			case a.ended(p):
				a.find("ended hold", c.thing, p.group, "ended at %s", p.Expires)
			case a.marked(p):
				a.find("mark", c.thing, p.group, "a run's mark stays")
			case c.kind == "wildcard" && !p.Bound:
				a.find("pending", c.thing, p.group, "the wildcard is not bound")
			}
		}
	}
	for nonce := range a.runs {
		a.find("announced", "run--"+nonce, "", "a run did not end")
	}
	a.judgeWildcards()
}

// judgeWildcards finds hosts of one owner below the bound wildcard of another. A run that took the
// host and has not ended may be there: it withdraws.
func (a *audit) judgeWildcards() {
	for _, c := range a.claims {
		_, parent, _ := strings.Cut(c.thing, ".")
		w, covered := a.claims["*."+parent]
		if c.kind != "host" || !covered || w.owner == c.owner || !w.any(func(p part) bool { return p.Bound && !a.ended(p) }) {
			continue
		}
		if c.any(func(p part) bool { return !a.marked(p) && !a.ended(p) }) {
			a.find("wildcard", c.thing, "", "%s holds it below %s of %s", c.owner, w.thing, w.owner)
		}
	}
}

func (c claim) any(is func(part) bool) bool {
	for _, p := range c.parts {
		if is(p) {
			return true
		}
	}
	return false
}

// ended is true for a hold that is over, with the five seconds of grace.
func (a *audit) ended(p part) bool {
	at, err := time.Parse(time.RFC3339, p.Expires)
	return err == nil && a.now.After(at.Add(5*time.Second))
}

// place gives a ProviderLeasedIP, which names no address, the one of its endpoint's that has its port.
// Where no claim has it, that is the address at which its lease serves the port.
func (a *audit) place(r *route) {
	if r.kind != "ProviderLeasedIP" {
		return
	}
	for _, c := range a.claims {
		if c.sharingKey == r.sharingKey && c.parts[r.key].group == r.group {
			r.thing = c.thing
			return
		}
	}
	for _, s := range a.routes {
		if s.kind == "Service" && s.group == r.group && s.key == r.key {
			r.thing = s.thing
		}
	}
}

// judgeRoutes compares what serves with what is claimed.
func (a *audit) judgeRoutes() {
	for i := range a.routes {
		a.place(&a.routes[i])
	}
	serving := map[string][]route{}
	definitions := map[string][]string{}
	for _, r := range a.routes {
		if r.definition != "" && !a.servesForAnother(r) && !slices.Contains(definitions[r.group], r.definition) {
			definitions[r.group] = append(definitions[r.group], r.definition)
		}
		a.judgeRoute(r)
		if !r.stands() {
			serving[r.thing+" "+r.key] = append(serving[r.thing+" "+r.key], r)
		}
	}
	for _, rs := range serving {
		for _, r := range rs[1:] {
			rule := "two routes"
			if r.owner != rs[0].owner {
				rule = "routes of two owners"
			}
			a.find(rule, r.thing, r.group, "%s and %s", rs[0], r)
		}
	}
	for group, hashes := range definitions {
		if len(hashes) > 1 {
			a.find("definitions", group, group, "its objects are of %d", len(hashes))
		}
	}
	a.judgePairs()
}

// servesForAnother is true for what serves for another lease since a transfer: its own lease leaves it as it is.
func (a *audit) servesForAnother(r route) bool {
	p := a.claims[r.thing].parts[r.key]
	return p.From == r.group && p.group != r.group
}

// judgeRoute wants the part that an object rests on to be its deployment group's.
func (a *audit) judgeRoute(r route) {
	c, claimed := a.claims[r.thing]
	p, held := c.parts[r.key]
	switch {
	case !claimed:
		a.find("no claim", r.thing, r.group, "%s serves it, or stands for it", r)
	case c.owner != r.owner:
		a.find("another's claim", r.thing, r.group, "%s serves what %s holds", r, c.owner)
	case held && p.From == r.group:
	case !held || p.group != r.group:
		a.find("another lease's claim", r.thing, r.group, "%s serves what the lease does not hold (%q)", r, p.group)
	case p.Service != "" && (p.Service != r.service || p.Port != r.port) && !r.stands():
		a.find("backend", r.thing, r.group, "%s leads to %s:%d, the claim says %s:%d", r, r.service, r.port, p.Service, p.Port)
	case r.sharingKey != c.sharingKey:
		a.find("sharing key", r.thing, r.group, "%s has %q, the claim %q", r, r.sharingKey, c.sharingKey)
	}
}

// judgePairs wants a lease to have, of each thing it serves, Akash's object and what serves.
func (a *audit) judgePairs() {
	have := map[string]bool{}
	key := func(r route, stands bool) string { return fmt.Sprint(r.group, " ", r.thing, " ", r.key, " ", stands) }
	for _, r := range a.routes {
		have[key(r, r.stands())] = true
	}
	for _, r := range a.routes {
		if !have[key(r, !r.stands())] {
			a.find("half", r.thing, r.group, "%s stands alone", r)
		}
	}
}
