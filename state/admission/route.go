package admission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Wildcard is which hosts a route covers besides, or instead of, the host that it names.
type Wildcard string

// The kinds of wildcard. Any other value is refused, as in the router.
const (
	// WildcardNone covers only the host itself.
	WildcardNone Wildcard = ""
	// WildcardSubdomain covers all hosts exactly one label below the domain, like *.example.com in an Ingress and
	// wildcardPolicy Subdomain in a Route.
	WildcardSubdomain Wildcard = "Subdomain"
	// WildcardBelow covers all hosts at any depth below the domain, like *.example.com in an HTTPRoute.
	WildcardBelow Wildcard = "Below"
)

// Route is one host and path of a live object: all of a Route, or a part of an Ingress or HTTPRoute.
type Route struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Created is the object's creation time. A route without one is not in a cluster yet and counts as the youngest.
	Created time.Time
	// Labels are the object's labels, by which shards select it.
	Labels map[string]string
	// Host is spec.host of a Route, or the host of a rule, such as *.example.com.
	Host string
	// Path is compared verbatim: "" and "/" are different paths.
	Path     string
	Wildcard Wildcard
	// Redirect is true for an HTTPRoute that only redirects HTTP to HTTPS. It does not compete with the route that it
	// redirects to at the same path.
	Redirect bool
	// Matches are what the route takes of the requests for its path; empty if it takes all. Routes of one kind compete only
	// for the same match.
	Matches []string
	// Service and Port are the first backend, if the route names one by its number. The port of a Route is a container port.
	Service string
	Port    uint16
	// Alias is true for a host that an Ingress has by an annotation. ingress-nginx prefers the rules of any Ingress.
	Alias bool
	// Parents are what a route of the Gateway API refers to. Unserved says why no listener of theirs serves its host; nil if one does.
	Parents  []Parent
	Unserved *Verdict
	// Invalid is what the router's extended validation says of a Route; empty if it is valid.
	Invalid string
	// TLS is true if the route terminates TLS or, with Passthrough, forwards it.
	TLS, Passthrough bool
	// Lease is the lease that the labels of the object, or else those of its namespace, name. HasLease is false if
	// neither names one.
	Lease    lease.ID
	HasLease bool
}

// identity is the owner of a host: the owner of a lease, or the namespace of a route without a lease.
type identity struct{ owner, namespace string }

func (r *Route) identity() identity {
	if r.HasLease {
		return identity{owner: r.Lease.Owner}
	}
	return identity{namespace: r.Namespace}
}

func (r *Route) kind() string { return strings.ToLower(r.Kind) }

// String returns kind namespace/name, as messages name a route.
func (r *Route) String() string { return r.kind() + " " + r.Namespace + "/" + r.Name }

// domainOf returns the host without its first label. A wildcard covers names below it.
func domainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}

// compareAge orders routes from the oldest to the newest by the router's rule: creation time (in seconds), then UID.
// Aliases come last.
// Names decide between the remaining ones, which are objects outside a cluster and parts of one object.
func compareAge(a, b *Route) int {
	// The first comparison nearly always decides; cmp.Or would evaluate all of them.
	if c := compareTruth(a.Alias, b.Alias); c != 0 {
		return c
	}
	if c := compareTruth(a.Created.IsZero(), b.Created.IsZero()); c != 0 {
		return c
	}
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	if c := cmp.Compare(a.UID, b.UID); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Wildcard, b.Wildcard),
		compareTruth(a.Redirect, b.Redirect), slices.Compare(a.Matches, b.Matches))
}

// age orders routes as compareAge does, but for those of one second: by creation time, and aliases last.
func (r *Route) age() (second int64) {
	const youngest, alias = 1 << 60, 1 << 61
	if second = r.Created.Unix(); r.Created.IsZero() {
		second = youngest
	}
	if r.Alias {
		second += alias
	}
	return second
}

func compareTruth(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// HTTPMatch returns what a match of an HTTPRoute or a GRPCRoute takes of the requests for its path: "" takes all that begin with it. A
// Gateway serves routes of one host and path whose matches differ, the most specific one first.
func HTTPMatch(match any) string {
	var asks []string
	if kind := text(value(match, "path"), "type"); kind != "" && kind != "PathPrefix" {
		asks = append(asks, kind)
	}
	switch method := value(match, "method").(type) {
	case string:
		asks = append(asks, method)
	case map[string]any: // of a GRPCRoute
		asks = append(asks, strings.TrimPrefix(text(method, "type"), "Exact")+"/"+text(method, "service")+"/"+text(method, "method"))
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

// place is a path of a host, or of the domain of a wildcard.
type place struct {
	host, path string
	redirect   bool
}

func (r *Route) place() place { return place{r.Host, r.Path, r.Redirect} }

// fold collects what the routes seen so far hold in one shard, from the oldest route to the newest. It has the two
// layers of the router. Only the first layer handles wildcards. It records a route that passes it even if the second
// layer then refuses the route.
type fold struct {
	rules  *Rules
	claims *Claims

	// First layer: the owner of each host and of each wildcard's domain, and the route at each of their paths.
	hosts, wildcards         map[string]identity
	hostPaths, wildcardPaths occupied
	// children are the owners of hosts one label below a domain.
	children map[string]crowd
	// isDeep is true if a wildcard covers more than one label. Only then are these maps filled: deep has the domains of
	// such wildcards, under the owners of anything below a domain.
	isDeep bool
	deep   map[string]identity
	under  map[string]crowd

	// Second layer.
	active occupied
	served map[string]*served
}

// served is a host with admitted routes.
type served struct {
	owner  identity
	newest *Route
	// only is the route of a host that has one, as most have: it is not among the active ones yet.
	only *Route
	// tls and passthrough are true if any of the routes is so.
	tls, passthrough bool
}

func newFold(rules *Rules, claims *Claims, routes []*Route) *fold {
	var kinds []string
	for _, r := range routes {
		if !slices.Contains(kinds, r.Kind) {
			kinds = append(kinds, r.Kind)
		}
	}
	slices.Sort(kinds)
	f := &fold{
		rules: rules, claims: claims,
		active: newOccupied(kinds, 0), served: make(map[string]*served, len(routes)),
	}
	if rules.wildcards {
		f.hosts, f.wildcards = make(map[string]identity, len(routes)), map[string]identity{}
		f.hostPaths, f.wildcardPaths = newOccupied(kinds, len(routes)), newOccupied(kinds, 0)
		f.children, f.deep, f.under = map[string]crowd{}, map[string]identity{}, map[string]crowd{}
		for _, r := range routes {
			f.isDeep = f.isDeep || r.Wildcard == WildcardBelow
		}
	}
	return f
}

// next returns the verdict on a route. Routes must come from the oldest to the newest.
func (f *fold) next(r *Route) Verdict {
	if v := f.rules.checkPolicy(r); !v.Admitted {
		// The router takes the route out of the layers below, which check the host, and tells last what they say.
		if below := checkHost(r); !below.Admitted {
			return below
		}
		return v
	}
	if r.Unserved != nil { // it takes nothing from others
		return *r.Unserved
	}
	who := r.identity()
	if f.claims.excludes(r, who) {
		return alreadyClaimed("a claim of another owner holds host %s", r.Host)
	}
	if f.rules.wildcards && r.Host != "" {
		if v := f.wildcardLayer(r, who); !v.Admitted {
			return v
		}
	}
	if v := checkHost(r); !v.Admitted {
		return v
	}
	v := f.hostLayer(r, who)
	if v.Admitted && r.Invalid != "" { // the route keeps its host and path all the same
		return Verdict{Reason: ReasonExtendedValidation, Message: r.Invalid}
	}
	return v
}

// wildcardLayer is the router's HostAdmitter. The router runs it only if wildcards are allowed.
func (f *fold) wildcardLayer(r *Route, who identity) Verdict {
	domain, isWildcard := domainOf(r.Host), r.Wildcard != WildcardNone
	if f.rules.ownership && f.isForeign(r, who, domain, isWildcard) {
		return foreign(r)
	}
	at, there := r.place(), f.hostPaths
	if isWildcard {
		at.host, there = domain, f.wildcardPaths
	}
	if other := there.rival(r, at); other != nil {
		switch {
		case other.identity() != who:
			return foreign(r)
		case isWildcard:
			return alreadyClaimed("wildcard %s has host *.%s, blocking %s", other, domain, r.Host)
		}
		return alreadyClaimed("%s has host %s", other, r.Host)
	}
	there.add(r, at)
	f.record(r, who, domain, isWildcard)
	return admitted
}

// foreign is the verdict on a route whose host another owner has. It does not name that owner.
func foreign(r *Route) Verdict {
	return alreadyClaimed("a route in another namespace holds host %s", r.Host)
}

// isForeign reports whether another owner has the host, a wildcard that covers it or, for a wildcard, a host that it
// covers.
func (f *fold) isForeign(r *Route, who identity, domain string, isWildcard bool) bool {
	if owner, taken := f.hosts[r.Host]; taken && owner != who {
		return true
	}
	if owner, taken := f.wildcards[domain]; taken && owner != who {
		return true
	}
	if isWildcard && f.children[domain].hasOthers(who) {
		return true
	}
	if !f.isDeep {
		return false
	}
	for d := range parents(r.Host) {
		if owner, taken := f.deep[d]; taken && owner != who {
			return true
		}
	}
	return r.Wildcard == WildcardBelow && f.under[domain].hasOthers(who)
}

// record adds a route that passed the first layer to that layer.
func (f *fold) record(r *Route, who identity, domain string, isWildcard bool) {
	owners, name := f.hosts, r.Host
	if isWildcard {
		owners, name = f.wildcards, domain
	} else {
		join(f.children, domain, who)
	}
	if _, taken := owners[name]; !taken {
		owners[name] = who
	}
	if !f.isDeep {
		return
	}
	for d := range parents(r.Host) {
		join(f.under, d, who)
	}
	if r.Wildcard == WildcardBelow {
		f.deep[domain] = who
	}
}

// hostLayer is the router's UniqueHost. It compares spec.host verbatim, so a wildcard Route competes with an ordinary
// Route of the same spec.host.
func (f *fold) hostLayer(r *Route, who identity) Verdict {
	at := r.place()
	host := f.served[r.Host]
	if host == nil {
		f.served[r.Host] = &served{owner: who, newest: r, only: r, tls: r.TLS, passthrough: r.Passthrough}
		return admitted
	}
	if host.only != nil {
		f.active.add(host.only, host.only.place())
		host.only = nil
	}
	isForeign := f.rules.ownership && host.owner != who
	rival := f.active.rival(r, at)
	// A passthrough route takes all TLS of its host. Only plain HTTP may share the host with it.
	tlsTaken := r.TLS && host.passthrough || r.Passthrough && host.tls
	if !isForeign && rival == nil && !tlsTaken {
		f.active.add(r, at)
		host.newest = r
		host.tls, host.passthrough = host.tls || r.TLS, host.passthrough || r.Passthrough
		return admitted
	}
	if rival == nil {
		rival = host.newest
	}
	if rival.identity() != who {
		return alreadyClaimed("a route in another namespace holds %s and is older than %s", r.Host, r.Name)
	}
	return alreadyClaimed("%s %s already exposes %s and is older", rival.kind(), rival.Name, r.Host)
}
