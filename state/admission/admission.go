// Package admission decides which live routes are admitted. It is one pure function of the Ingresses, HTTPRoutes and
// OpenShift Routes, the provider's rules, and the ledger's claims.
//
// Without claims the result is that of a freshly started OpenShift router: its chain of checks (openshift/router:
// HostAdmitter, then UniqueHost), applied to all routes from the oldest to the newest. A running router remembers its
// earlier decisions, so its results may differ. This package remembers nothing.
package admission

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Admission is the verdict of one shard on one route.
type Admission struct {
	*Route
	// Shard is the name of the shard. It is empty if no shards are configured or none selects the route.
	Shard string
	Verdict
}

// Decide returns the verdicts on the routes. Each shard decides independently, so a host is unique within a shard only.
// namespaces are the labels of namespaces by name. The result does not depend on the order of the routes. It is sorted
// by shard in the order of the configuration, then by host, path and age.
func Decide(rules Rules, claims *Claims, routes []Route, namespaces map[string]map[string]string) []Admission {
	byAge := make([]*Route, len(routes))
	age := func(i int) int64 { return routes[i].age() }
	for at, i := range ordered(len(routes), age, func(i, j int) int { return compareAge(&routes[i], &routes[j]) }) {
		byAge[at] = &routes[i]
	}
	if len(rules.shards) == 0 {
		return decide(make([]Admission, 0, len(routes)), "", &rules, claims, byAge)
	}
	var out []Admission
	selected := make(map[*Route]bool, len(routes))
	for _, shard := range rules.shards {
		var seen []*Route
		for _, r := range byAge {
			if shard.Selects(labels.Set(r.Labels), labels.Set(namespaces[r.Namespace])) {
				seen = append(seen, r)
				selected[r] = true
			}
		}
		out = decide(out, shard.Name, &rules, claims, seen)
	}
	unseen := slices.DeleteFunc(byAge, func(r *Route) bool { return selected[r] })
	none := Verdict{Reason: ReasonNoShard, Message: "no shard selects the route"}
	return appendSorted(out, "", unseen, slices.Repeat([]Verdict{none}, len(unseen)))
}

// decide appends the verdicts of one shard on its routes, which are sorted by age.
func decide(out []Admission, shard string, rules *Rules, claims *Claims, byAge []*Route) []Admission {
	f := newFold(rules, claims, byAge)
	verdicts := make([]Verdict, len(byAge))
	for i, r := range byAge {
		verdicts[i] = f.next(r)
	}
	return appendSorted(out, shard, byAge, verdicts)
}

// appendSorted appends verdicts sorted by host, path and age.
func appendSorted(out []Admission, shard string, byAge []*Route, verdicts []Verdict) []Admission {
	order := ordered(len(byAge), func(i int) uint64 { return prefix(byAge[i].Host) }, func(i, j int) int {
		a, b := byAge[i], byAge[j]
		if c := cmp.Compare(a.Host, b.Host); c != 0 {
			return c
		}
		if c := cmp.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return cmp.Compare(i, j)
	})
	for _, i := range order {
		out = append(out, Admission{Route: byAge[i], Shard: shard, Verdict: verdicts[i]})
	}
	return out
}

// ordered returns the numbers from 0 to n, sorted by a key, and where it is the same by compare. The keys of all lie side by side, so most
// comparisons read nothing else.
func ordered[K int64 | uint64](n int, key func(i int) K, compare func(i, j int) int) []int {
	type keyed struct {
		key K
		i   int
	}
	all := make([]keyed, n)
	for i := range all {
		all[i] = keyed{key(i), i}
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return compare(a.i, b.i)
	})
	out := make([]int, n)
	for at, one := range all {
		out[at] = one.i
	}
	return out
}

// prefix returns the beginning of a text as a number, which sorts as the text does.
func prefix(text string) uint64 {
	var begin [8]byte
	copy(begin[:], text)
	return binary.BigEndian.Uint64(begin[:])
}

// Claims are the ledger's claims on hosts and wildcards. A claim excludes the routes of every other owner, however old
// they are and whether or not the holder has routes.
type Claims struct {
	// hosts and wildcards are the owners, by host and by the domain of the wildcard. An unknown owner excludes
	// everybody.
	hosts, wildcards map[string]string
	// children are the owners of hosts exactly one label below a domain. under are the owners of hosts and wildcards
	// anywhere below it.
	children, under map[string]crowd
}

// nobody replaces an unknown owner. It is no valid address.
const nobody = "?"

// NewClaims returns an empty set of claims.
func NewClaims() *Claims {
	return &Claims{
		hosts: map[string]string{}, wildcards: map[string]string{},
		children: map[string]crowd{}, under: map[string]crowd{},
	}
}

// Add adds an owner's claim on a host, or on a wildcard such as *.example.com, which covers exactly one label. The
// owner is "" if it is unknown.
func (c *Claims) Add(host, owner string) {
	owner = cmp.Or(owner, nobody)
	who := identity{owner: owner}
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		c.wildcards[domain] = owner
	} else {
		c.hosts[host] = owner
		join(c.children, domainOf(host), who)
	}
	for domain := range parents(host) {
		join(c.under, domain, who)
	}
}

// excludes reports whether a claim of another owner excludes the route.
func (c *Claims) excludes(r *Route, who identity) bool {
	if c == nil {
		return false
	}
	domain := domainOf(r.Host)
	if r.Wildcard == WildcardNone {
		if owner, ok := c.hosts[r.Host]; ok {
			return who.owner != owner
		}
		owner, ok := c.wildcards[domain]
		return ok && who.owner != owner
	}
	if owner, ok := c.wildcards[domain]; ok {
		return who.owner != owner
	}
	return c.children[domain].hasOthers(who) || r.Wildcard == WildcardBelow && c.under[domain].hasOthers(who)
}

// crowd records whether one identity or several have something below a domain.
type crowd struct {
	first identity
	any   bool
	more  bool
}

func (c crowd) hasOthers(who identity) bool {
	return c.any && (c.more || c.first != who)
}

func join(crowds map[string]crowd, domain string, who identity) {
	c, ok := crowds[domain]
	switch {
	case !ok:
		crowds[domain] = crowd{first: who, any: true}
	case !c.more && c.first != who:
		c.more = true
		crowds[domain] = c
	}
}

// parents yields the parent domains of a host, from the nearest to the root, which is "".
func parents(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for host != "" {
			host = domainOf(host)
			if !yield(host) {
				return
			}
		}
	}
}
