package admission

import "slices"

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
		active: newOccupied(kinds, len(routes)), served: make(map[string]*served, len(routes)),
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
	if r.Unserved { // it takes nothing from others
		return Verdict{Reason: ReasonNoListener, Message: "no listener of its Gateways serves this host"}
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
		f.served[r.Host] = &served{owner: who, newest: r, tls: r.TLS, passthrough: r.Passthrough}
		f.active.add(r, at)
		return admitted
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
