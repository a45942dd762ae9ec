package admission

import "strings"

// Claims are the ledger's claims on hosts and wildcards, by what they shut out. A claim's holder wins
// over every other owner, however old their routes are and whether or not the holder has any.
type Claims struct {
	// hosts and wildcards are the owners; a wildcard stands under its domain. An owner that is not
	// known shuts out everybody.
	hosts, wildcards map[string]string
	// children are the owners of the hosts one label below a domain, under those of all hosts and
	// wildcards anywhere below it.
	children, under map[string]crowd
}

// nobody stands for an owner who is not known. It is the address of none.
const nobody = "?"

// NewClaims is an empty ledger.
func NewClaims() *Claims {
	return &Claims{hosts: map[string]string{}, wildcards: map[string]string{}, children: map[string]crowd{}, under: map[string]crowd{}}
}

// Add adds the claim of an owner on a host, or on a wildcard such as *.example.com, which covers one
// label. An owner who is not known is empty.
func (c *Claims) Add(host, owner string) {
	if owner == "" {
		owner = nobody
	}
	who := identity{owner: owner}
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		c.wildcards[domain] = owner
	} else {
		c.hosts[host] = owner
		join(c.children, domainOf(host), who)
	}
	for domain := range above(host) {
		join(c.under, domain, who)
	}
}

// shutOut is true for a route that somebody else's claim forbids.
func (c *Claims) shutOut(r *Route, who identity) bool {
	if c == nil {
		return false
	}
	domain := r.Domain()
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

// crowd is who has something below a domain: one identity, or more.
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

// above yields the domains above a host, from the nearest to the root, which is empty.
func above(host string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for host != "" {
			host = domainOf(host)
			if !yield(host) {
				return
			}
		}
	}
}
