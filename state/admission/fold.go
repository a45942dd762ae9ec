package admission

// place is a path of a host, or of a wildcard's domain.
type place struct {
	host, path string
	redirect   bool
}

func (r *Route) place() place { return place{r.Host, r.Path, r.Redirect} }

// fold is what the routes that were looked at so far hold: one shard, from the oldest route to the
// newest. It follows the router's two layers. The first one (wildcards, the only one that knows that
// they are wildcards) keeps what it has let pass even where the second one then refuses it.
type fold struct {
	rules  *Rules
	claims *Claims

	// The first layer: who has a host or a wildcard's domain, and what stands at each path of it.
	hosts, wildcards         map[string]identity
	hostPaths, wildcardPaths map[place]*Route
	// children are the owners of the hosts one label below a domain.
	children map[string]crowd
	// deep and under are kept where a wildcard reaches below one label: its domains, and whatever
	// is anywhere below a domain.
	isDeep bool
	deep   map[string]identity
	under  map[string]crowd

	// The second layer.
	active map[place]*Route
	served map[string]*served
}

// served is a host that has admitted routes.
type served struct {
	owner  identity
	newest *Route
	// tls and passthrough are true where a route is so.
	tls, passthrough bool
}

func newFold(rules *Rules, claims *Claims, routes []*Route) *fold {
	f := &fold{
		rules: rules, claims: claims,
		active: make(map[place]*Route, len(routes)), served: make(map[string]*served, len(routes)),
	}
	if rules.wildcards {
		f.hosts, f.wildcards = make(map[string]identity, len(routes)), map[string]identity{}
		f.hostPaths, f.wildcardPaths = make(map[place]*Route, len(routes)), map[place]*Route{}
		f.children, f.deep, f.under = map[string]crowd{}, map[string]identity{}, map[string]crowd{}
		for _, r := range routes {
			f.isDeep = f.isDeep || r.Wildcard == WildcardBelow
		}
	}
	return f
}

// next judges a route that is younger than all before.
func (f *fold) next(r *Route) Verdict {
	if v := f.rules.policy(r); !v.Admitted {
		return v
	}
	who := r.identity()
	if f.claims.shutOut(r, who) {
		return alreadyClaimed("a claim of another owner holds host %s", r.Host)
	}
	if f.rules.wildcards && r.Host != "" {
		if v := f.wildcardLayer(r, who); !v.Admitted {
			return v
		}
	}
	if v := hostName(r); !v.Admitted {
		return v
	}
	return f.hostLayer(r, who)
}

// wildcardLayer is the router's HostAdmitter, which it has where wildcards are allowed.
func (f *fold) wildcardLayer(r *Route, who identity) Verdict {
	domain, isWildcard := r.Domain(), r.Wildcard != WildcardNone
	if f.rules.ownership && f.isForeign(r, who, domain, isWildcard) {
		return foreign(r)
	}
	at, there := r.place(), f.hostPaths
	if isWildcard {
		at.host, there = domain, f.wildcardPaths
	}
	if other := there[at]; other != nil {
		switch {
		case other.identity() != who:
			return foreign(r)
		case isWildcard:
			return alreadyClaimed("wildcard %s has host *.%s, blocking %s", other, domain, r.Host)
		}
		return alreadyClaimed("%s has host %s", other, r.Host)
	}
	there[at] = r
	f.note(r, who, domain, isWildcard)
	return admitted
}

// foreign is the answer that names nobody.
func foreign(r *Route) Verdict {
	return alreadyClaimed("a route in another namespace holds host %s", r.Host)
}

// isForeign is true where another owner has the host, a wildcard over it or, for a wildcard, a host
// below it.
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
	for d := range above(r.Host) {
		if owner, taken := f.deep[d]; taken && owner != who {
			return true
		}
	}
	return r.Wildcard == WildcardBelow && f.under[domain].hasOthers(who)
}

// note keeps what a route that has passed the first layer holds there.
func (f *fold) note(r *Route, who identity, domain string, isWildcard bool) {
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
	for d := range above(r.Host) {
		join(f.under, d, who)
	}
	if r.Wildcard == WildcardBelow {
		f.deep[domain] = who
	}
}

// hostLayer is the router's UniqueHost. It compares hosts as they are written, so that a wildcard
// Route and another one with the same spec.host are rivals here.
func (f *fold) hostLayer(r *Route, who identity) Verdict {
	at := r.place()
	host := f.served[r.Host]
	if host == nil {
		f.served[r.Host] = &served{owner: who, newest: r, tls: r.TLS, passthrough: r.Passthrough}
		f.active[at] = r
		return admitted
	}
	isForeign := f.rules.ownership && host.owner != who
	rival := f.active[at]
	// A passthrough route takes all of the host's TLS: beside it there is room for plain HTTP alone.
	tlsTaken := r.TLS && host.passthrough || r.Passthrough && host.tls
	if !isForeign && rival == nil && !tlsTaken {
		f.active[at] = r
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
