package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Host explains a host or a wildcard.
func (c *View) Host(host string) Explanation {
	x := Explanation{Subject: host}
	rows := slices.DeleteFunc(slices.Clone(c.Book.Hosts), func(r view.HostRow) bool { return r.Host != host })
	claim := c.claim(state.HostName(host))
	owner := ""
	if claim != nil {
		owner = claim.Owner
	}
	uses := state.UsesOf(host, c.Uses, owner, func(name string) bool { return c.claim(name) != nil })
	c.addRefusal(&x, host, claim)
	c.addWildcard(&x, host)
	switch {
	case claim != nil:
		x.Summary = fmt.Sprintf("%s is held by %s%s", host, state.Holders(claim), ended(hostVerdict(rows)))
		c.addClaimed(&x, claim)
	case len(rows)+len(uses) > 0:
		x.Summary = fmt.Sprintf("%s has no claim, but objects use it%s", host, ended(hostVerdict(rows)))
	case state.Refuse(host, config.Backend{}, c.Config) != "":
		x.Summary = host + " is held by nobody, and no lease can ask for it"
	case c.addHostsBelow(&x, host):
		x.Summary = host + " has no claim, and hosts that it covers are held"
	default:
		x.Summary = host + " is free"
		x.next("kubectl akash-net reserve %s --lease LEASE", state.Typed(host))
	}
	c.addClaimTroubles(&x, claim)
	for _, r := range rows {
		c.addHostRow(&x, r)
	}
	for _, u := range uses {
		if u.Host == host {
			x.fact("%s uses it since %s%s.", u, state.Stamp(u.Since), leaseOf(u))
		} else {
			x.fact("%s serves %s, which covers it, since %s%s.", u, u.Host, state.Stamp(u.Since), leaseOf(u))
		}
	}
	for _, r := range c.Reports[host] {
		c.addReport(&x, r)
	}
	c.addDNS(&x, host, nil)
	if claim == nil && len(rows) > 0 && rows[0].Lease != "" {
		x.next("its lease claims it with: kubectl akash-net apply -f FILE --lease %s", rows[0].Lease)
	} else if claim == nil {
		for _, u := range uses {
			x.nextOfUse(host, u)
		}
	}
	return x
}

// nextOfUse adds what to do about an object that uses a host without a claim: its lease claims the host, or somebody looks what it serves.
func (x *Explanation) nextOfUse(host string, u state.Use) {
	if u.HasLease {
		x.next("its lease claims it with: kubectl akash-net reserve %s --adopt --lease %s", state.Typed(u.Host), u.Lease)
		return
	}
	x.next("no lease gets %s while it is used; to see what it serves: kubectl -n %s get %s %s -o yaml", host, u.Namespace, u.Kind, state.Typed(u.Name))
}

// addRefusal adds why leases cannot take the host, unless the provider has given it to its holder.
func (c *View) addRefusal(x *Explanation, host string, claim *state.Claim) {
	why := state.Refuse(host, config.Backend{}, c.Config)
	if claim != nil && len(claim.Parts) > 0 {
		why = claim.Refused(c.Config)
	}
	switch {
	case why == "":
	case why == c.Config.OwnDomain(host):
		x.fact("It %s: no definition can ask for it.", why)
	default:
		x.fact("It %s: no lease can take it.", why)
	}
}

// addReport adds the report of a router on a route.
func (c *View) addReport(x *Explanation, r state.Report) {
	x.fact("%s.", r)
	switch {
	case r.Stale != "":
		x.next("kubectl akash-net repair")
	case r.Verdict == state.RouteRefused:
		x.next("the router's reason says what to change; kubectl akash-net state routes shows who has the host for a router")
	}
}

// addWildcard adds the wildcard that covers the host.
func (c *View) addWildcard(x *Explanation, host string) {
	over := state.WildcardOver(host)
	if over == "" {
		return
	}
	if w := c.claim(state.HostName(over)); w != nil && w.Bound() {
		x.fact("%s is held by %s and covers it: other owners cannot take it.", over, state.Holders(w))
	}
}

// addHostsBelow adds the hosts that a wildcard covers and somebody holds, and reports whether there are any: only their
// owner can take the wildcard.
func (c *View) addHostsBelow(x *Explanation, wildcard string) bool {
	const shown = 5
	var below []*state.Claim
	for _, claim := range c.Claims {
		if claim.Kind == state.Host && len(claim.Parts) > 0 && !claim.Ended(c.Now) && state.WildcardOver(claim.Thing) == wildcard {
			below = append(below, claim)
		}
	}
	if len(below) == 0 {
		return false
	}
	slices.SortFunc(below, func(a, b *state.Claim) int { return a.Compare(b) })
	owner, single := below[0].Owner, true
	for i, claim := range below {
		single = single && claim.Owner == owner
		if i < shown {
			x.fact("It covers %s, which is held by %s.", claim.Thing, state.Holders(claim))
		}
	}
	if more := len(below) - shown; more > 0 {
		x.fact("It covers %d more hosts that are held.", more)
	}
	if single {
		x.fact("Only their owner can take it.")
		x.next("kubectl akash-net reserve %s --lease LEASE", state.Typed(wildcard))
	} else {
		x.fact("They have several owners, so nobody can take it.")
	}
	return true
}

func (c *View) addHostRow(x *Explanation, r view.HostRow) {
	who := cmp.Or(r.Lease, r.Owner, "somebody who names no lease")
	switch r.State {
	case view.StateWithheld:
		x.fact("Withheld from lease %s, which asks for it for %s:%d: %s.", who, r.Service, r.Port, r.Message)
		x.next("it becomes live there when it is released, or now with: kubectl akash-net transfer %s --to %s",
			state.Typed(r.Host), r.Lease)
	case view.StateActive:
		x.fact("Routed: %s in namespace %s routes it to %s.", r.Target, r.Namespace, backend(r))
		name := lease.RouteName(r.Host, r.Path)
		if why := c.Unserved[r.Namespace+"/"+name]; why != "" && r.Target == kinds.Ingress.Singular {
			x.fact("Its controller has not said that it serves it: %s.", why)
			x.next("kubectl -n %s describe ingress %s", r.Namespace, name)
		}
		if unlike := c.Unlike[r.Host]; unlike != "" && r.Path == "" {
			x.fact("Its HTTP options are not those of the lease's definition: %s. Akash's hostname operator takes them from the lease's Manifest.", unlike)
			x.next("the tenant sends a manifest with these options to Akash's provider")
		}
	case view.StateTransferring:
		x.fact("Transferring: it was handed to lease %s; the %s of deployment %s serves it until that lease is applied.",
			who, r.Target, r.From)
		x.next("the routes of the new lease are made with: kubectl akash-net apply -f FILE")
		return
	case view.StatePending:
		x.fact("Not routed: %s.", r.Message)
		switch {
		case c.isDeclared(r):
			x.fact("Its ProviderHost says the same as the %s: the tenant has moved it through Akash, or somebody has edited it.", r.Target)
			x.next("the claim follows with the next apply of what the lease is now: kubectl akash-net apply -f FILE")
		case r.Unaccepted:
			x.next("kubectl -n %s describe %s %s (a controller's report stands in its status; without one, see that the "+
				"controller runs and serves the Gateway)", r.Namespace, r.Target, lease.RouteName(r.Host, r.Path))
		default:
			x.next("kubectl akash-net repair, or: kubectl akash-net apply -f FILE")
		}
	case view.StateReserved:
		x.fact("Not routed: lease %s holds it, and no route serves it.", who)
		if c.atAnotherPort(r) {
			x.fact("Its definition exposes it at port %d; over HTTP only port 80 is routed.", r.Port)
			x.next("write \"as: 80\" for it in the lease's definition, then: kubectl akash-net apply -f FILE")
			return
		}
		x.next("the lease's routes are made with: kubectl akash-net apply -f FILE")
	}
	if r.Target != "" && r.Service != "" {
		x.addEndpoints(r.Endpoints, r.Namespace, r.Service, r.Port)
	}
	said := []string{view.StateClaiming, view.StateWithheld, view.StatePending, view.StateUnreadable}
	if r.Message != "" && !slices.Contains(said, r.State) {
		x.fact("%s.", r.Message)
	}
}

// isDeclared reports whether a route leads where the claim does not say, and the lease's ProviderHost does: then repair has nothing to do.
func (c *View) isDeclared(r view.HostRow) bool {
	of := func(kind string) (u state.Use, found bool) {
		i := slices.IndexFunc(c.Uses[r.Host], func(u state.Use) bool {
			return u.Kind == kind && u.Of(r.ID().Group()) && !u.Redirect && state.RouteKey(u.Path) == state.RouteKey(r.Path)
		})
		if i >= 0 {
			u = c.Uses[r.Host][i]
		}
		return u, i >= 0
	}
	route, routed := of(r.Target)
	declared, found := of(kinds.ProviderHost.Singular)
	claimed := state.Part{Service: r.Service, Port: r.Port}
	return routed && found && route.Service == declared.Service && route.Port == declared.Port && !claimed.LeadsTo(route.Kind, route.Service, route.Port)
}

// atAnotherPort reports whether the claim names a port that is not routed, and nothing was written for the host. A port
// with TLS has a ProviderHost.
func (c *View) atAnotherPort(r view.HostRow) bool {
	own := func(u state.Use) bool { return u.Of(r.ID().Group()) }
	return r.Port != 0 && r.Port != 80 && !slices.ContainsFunc(c.Uses[r.Host], own)
}

func backend(r view.HostRow) string {
	if r.Service == "" {
		return "a backend that the route names"
	}
	return fmt.Sprintf("%s:%d", r.Service, r.Port)
}
