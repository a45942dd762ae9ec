package admission

import (
	"slices"
	"strconv"
	"strings"
)

// HTTPMatch returns what a match of an HTTPRoute takes of the requests for its path: "" takes all that begin with it. A
// Gateway serves routes of one host and path whose matches differ, the most specific one first.
func HTTPMatch(match any) string {
	var asks []string
	if kind := text(value(match, "path"), "type"); kind != "" && kind != "PathPrefix" {
		asks = append(asks, kind)
	}
	if method := text(match, "method"); method != "" {
		asks = append(asks, method)
	}
	for _, of := range []string{"headers", "queryParams"} {
		var fields []string
		for _, f := range list(match, of) {
			name, kind := text(f, "name"), text(f, "type")
			if of == "headers" {
				name = strings.ToLower(name)
			}
			if kind == "Exact" {
				kind = ""
			}
			fields = append(fields, of+" "+kind+" "+strconv.Quote(name)+"="+strconv.Quote(text(f, "value")))
		}
		slices.Sort(fields) // all of them have to match
		asks = append(asks, fields...)
	}
	return strings.Join(asks, " ")
}

// ingressCanary is ingress-nginx's annotation of an Ingress that takes a part of the requests of another one.
const ingressCanary = "nginx.ingress.kubernetes.io/canary"

// IngressMatch returns what a path of an Ingress takes of the requests for it: "" takes all that begin with it.
// ingress-nginx serves an exact path beside the same prefix, and a canary beside the Ingress whose requests it takes.
func IngressMatch(annotations map[string]string, path any) string {
	var asks []string
	if text(path, "pathType") == "Exact" {
		asks = append(asks, "Exact")
	}
	if canary, err := strconv.ParseBool(annotations[ingressCanary]); err == nil && canary {
		asks = append(asks, "canary")
	}
	return strings.Join(asks, " ")
}

// Compete reports whether two routes of one path take the same requests. Routes of different kinds do: DNS leads to one
// of them.
func Compete(kind string, matches []string, otherKind string, otherMatches []string) bool {
	return kind != otherKind || slices.ContainsFunc(orAll(matches), func(m string) bool { return slices.Contains(orAll(otherMatches), m) })
}

// orAll returns the matches of a route. A route without any takes all requests for its path.
func orAll(matches []string) []string {
	if len(matches) == 0 {
		return []string{""}
	}
	return matches
}

// occupied are the routes at each path of a host.
type occupied struct {
	routes map[occupant]*Route
	// kinds are the kinds of all routes that may come.
	kinds []string
}

// occupant is a kind of route at a place, and what it takes of the requests there.
type occupant struct {
	place
	kind, match string
}

// whatever stands for all matches of a kind: no match is so.
const whatever = "\x00"

func newOccupied(kinds []string, size int) occupied {
	return occupied{routes: make(map[occupant]*Route, size), kinds: kinds}
}

// rival returns the route that was added first of those that compete with r at a place, or nil.
func (o occupied) rival(r *Route, at place) *Route {
	for _, match := range orAll(r.Matches) {
		if other := o.routes[occupant{at, r.Kind, match}]; other != nil {
			return other
		}
	}
	for _, kind := range o.kinds {
		if other := o.routes[occupant{at, kind, whatever}]; other != nil && kind != r.Kind {
			return other
		}
	}
	return nil
}

func (o occupied) add(r *Route, at place) {
	for _, match := range orAll(r.Matches) {
		o.routes[occupant{at, r.Kind, match}] = r
	}
	if key := (occupant{at, r.Kind, whatever}); len(o.kinds) > 1 && o.routes[key] == nil {
		o.routes[key] = r
	}
}
