package admission

import (
	"cmp"
	"iter"
	"strings"
)

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
