package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Host explains a host or a wildcard.
func (w *World) Host(host string) Explanation {
	x := Explanation{Subject: host}
	rows := w.hosts[host]
	claim := w.claim(state.HostName(host))
	owner := ""
	if claim != nil {
		owner = claim.Owner
	}
	uses := state.UsesOf(host, func(host string) []state.Use { return w.Uses[host] }, owner, func(name string) bool { return w.claim(name) != nil })
	x.addRefusal(w, host, claim)
	x.addWildcard(w, host)
	switch {
	case claim != nil:
		x.Summary = fmt.Sprintf("%s is held by %s%s", host, state.Holders(claim), verdictOf(rows, hostStanding))
		x.addClaimed(w, claim)
	case len(rows)+len(uses) > 0:
		x.Summary = fmt.Sprintf("%s has no claim, but objects use it%s", host, verdictOf(rows, hostStanding))
	case state.Refuse(host, config.Backend{}, w.Config) != "":
		x.Summary = host + " is held by nobody, and no lease can ask for it"
	case x.addHostsBelow(w, host):
		x.Summary = host + " has no claim, and hosts that it covers are held"
	default:
		x.Summary = host + " is free"
		x.next("kubectl akash-net reserve %s --lease LEASE", state.Typed(host))
	}
	x.addClaimTroubles(w, claim)
	for _, r := range rows {
		x.addHostRow(w, r)
	}
	for _, u := range objectsOf(uses) {
		if u.Host == host {
			x.fact("%s uses it since %s%s.", u, state.Stamp(u.Since), leaseOf(u))
		} else {
			x.fact("%s serves %s, which covers it, since %s%s.", u, u.Host, state.Stamp(u.Since), leaseOf(u))
		}
	}
	for _, r := range w.Reports[host] {
		x.addReport(r)
	}
	x.addDNS(w, host, nil)
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
func (x *Explanation) addRefusal(w *World, host string, claim *state.Claim) {
	why := state.Refuse(host, config.Backend{}, w.Config)
	if claim != nil && len(claim.Parts) > 0 {
		why = claim.Refused(w.Config)
	}
	switch {
	case why == "":
	case why == w.Config.OwnDomain(host):
		x.fact("It %s: no definition can ask for it.", why)
	default:
		x.fact("It %s: no lease can take it.", why)
	}
}

// addReport adds the report of a router on a route.
func (x *Explanation) addReport(r state.Report) {
	x.fact("%s.", r)
	switch {
	case r.Stale != "":
		x.next("kubectl akash-net repair")
	case r.Verdict == state.RouteRefused:
		x.next("the router's reason says what to change; kubectl akash-net state routes shows who has the host for a router")
	}
}

// addWildcard adds the wildcard that covers the host.
func (x *Explanation) addWildcard(w *World, host string) {
	over := state.WildcardOver(host)
	if over == "" {
		return
	}
	if c := w.claim(state.HostName(over)); c != nil && c.Bound() {
		x.fact("%s is held by %s and covers it: other owners cannot take it.", over, state.Holders(c))
	}
}

// addHostsBelow adds the hosts that a wildcard covers and somebody holds, and reports whether there are any: only their
// owner can take the wildcard.
func (x *Explanation) addHostsBelow(w *World, wildcard string) bool {
	const shown = 5
	var below []*state.Claim
	for _, claim := range w.Contents.Claims {
		if claim.Kind == state.Host && len(claim.Parts) > 0 && !claim.Ended(w.Now) && state.WildcardOver(claim.Thing) == wildcard {
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

func (x *Explanation) addHostRow(w *World, r view.HostRow) {
	who := cmp.Or(r.Lease, r.Owner, "somebody who names no lease")
	switch r.State {
	case view.StateWithheld:
		x.fact("Withheld from lease %s, which asks for it for %s:%d: %s.", who, r.Service, r.Port, r.Message)
		x.next("it becomes live there when it is released, or now with: kubectl akash-net transfer %s --to %s",
			state.Typed(r.Host), r.Lease)
	case view.StateActive:
		x.fact("Routed: %s in namespace %s routes it to %s.", r.Target, r.Namespace, backend(r))
		name := lease.RouteName(r.Host, r.Path)
		if why := w.Unserved[r.Namespace+"/"+name]; why != "" && r.Target == kinds.Ingress.Singular {
			x.fact("Its controller has not said that it serves it: %s.", why)
			x.next("kubectl -n %s describe ingress %s", r.Namespace, name)
		}
		if unlike := w.Unlike[r.Host]; unlike != "" && r.Path == "" {
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
		case w.isDeclared(r):
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
		if w.atAnotherPort(r) {
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
func (w *World) isDeclared(r view.HostRow) bool {
	of := func(kind string) (u state.Use, found bool) {
		i := slices.IndexFunc(w.Uses[r.Host], func(u state.Use) bool {
			return u.Kind == kind && u.Of(r.ID().Group()) && !u.Redirect && state.RouteKey(u.Path) == state.RouteKey(r.Path)
		})
		if i >= 0 {
			u = w.Uses[r.Host][i]
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
func (w *World) atAnotherPort(r view.HostRow) bool {
	own := func(u state.Use) bool { return u.Of(r.ID().Group()) }
	return r.Port != 0 && r.Port != 80 && !slices.ContainsFunc(w.Uses[r.Host], own)
}

func backend(r view.HostRow) string {
	if r.Service == "" {
		return "a backend that the route names"
	}
	return fmt.Sprintf("%s:%d", r.Service, r.Port)
}

// addEndpoints adds whether something answers at the port of a Service, and where to look if not.
func (x *Explanation) addEndpoints(e *view.Endpoints, namespace, service string, port uint16) {
	full := namespace + "/" + service
	if why := e.Silent(full, port); why != "" {
		x.fact("Not answering: %s.", why)
	}
	switch {
	case e == nil:
		x.fact("Whether Service %s answers is not known: its endpoints are outside the cluster, or you may not list EndpointSlices.", full)
	case e.Missing == view.MissingService:
		x.fact("The provider makes the Service when it deploys the lease.")
		x.next("kubectl -n %s get services,pods", namespace)
	case e.Missing == view.MissingPort:
		x.next("kubectl -n %s describe service %s", namespace, service)
	case e.Ready == 0:
		x.next("kubectl -n %s get pods", namespace)
	default:
		x.fact("Service %s has %d of %d endpoints ready.", full, e.Ready, e.Total)
	}
}

// standing is how a path of a host, or a port of an address, stands.
type standing struct {
	at, state, message, expires string
	// service is the one that it leads to, silent says why nothing answers there.
	service, silent string
	endpoints       *view.Endpoints
	// off is the verdict while no controller has made it live, unused the one while nothing uses it, with none as the reason.
	off, unused, none string
}

func hostStanding(r view.HostRow) standing {
	return standing{r.Path, r.State, r.Message, r.Expires, r.Service, r.Silent(), r.Endpoints, "Not routed", "Not routed", "no route serves it"}
}

func addressStanding(r view.IPRow) standing {
	return standing{portOf(r), r.State, r.Message, r.Expires, r.Object, r.Silent(), r.Endpoints, "Not granted", "Not used", "no Service of its lease uses it"}
}

// verdict returns whether it is live, in a few words, why not, and how bad that is. It is "" where the claim says more than what serves it.
func (s standing) verdict() (text, why string, rank int) {
	switch {
	case s.state == view.StatePending:
		return s.off, s.message, 3
	case s.state == view.StateReserved:
		return s.unused, s.none, 3
	case s.state == view.StateTransferring:
		return "Transferring", "", 1
	case s.state != view.StateActive:
		return "", "", 0
	case s.silent != "":
		return "Not answering", s.silent, 2
	case s.endpoints == nil && s.service != "":
		return "Routed, and whether it answers is not known", "", 1
	}
	return "Live", "", 0
}

// verdictOf returns whether all rows of a host or an address are live, as the end of a sentence: what is worst first, and where if there are
// several.
func verdictOf[R any](rows []R, of func(R) standing) string {
	var all []standing
	for _, r := range rows {
		s := of(r)
		if len(rows) > 1 {
			s.at = cmp.Or(s.at, "/")
		}
		if text, _, _ := s.verdict(); text != "" {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return ""
	}
	worst := slices.MaxFunc(all, func(a, b standing) int {
		_, _, rank := a.verdict()
		_, _, other := b.verdict()
		return cmp.Compare(rank, other)
	})
	text, why, rank := worst.verdict()
	if worst.at != "" && rank > 0 && len(all) > 1 {
		text += " at " + worst.at
	}
	if why != "" {
		text += ": " + why
	}
	return ". " + text
}

// addDNS adds the DNS records of a host and why they are not served. With a group it adds only the records of that
// group.
func (x *Explanation) addDNS(w *World, host string, group *lease.Group) {
	found, others := false, ""
	for _, r := range w.records[host] {
		found = true
		if group == nil || r.Object.HasLease && r.Object.Lease.Group() == *group {
			x.addRecord(w, r)
		} else if r.Object.HasLease {
			others = r.Object.Lease.String()
		}
	}
	if others != "" {
		x.fact("DNS: lease %s has its records.", others)
	}
	live := slices.ContainsFunc(w.hosts[host], func(r view.HostRow) bool {
		return r.State == view.StateActive && r.Claimed
	})
	switch form := w.Config.DNS.Form; {
	case found || !live:
	case form == config.DNSAnnotations:
		x.fact("DNS: external-dns makes its record of the route; nothing in the cluster tells whether it has.")
	case !w.Config.DNS.Records():
	case w.Unrecorded[host] != "":
		x.fact("DNS: no record leads to it: %s.", w.Unrecorded[host])
	default:
		x.fact("DNS: no record leads to it.")
		x.next("its record is written with: kubectl akash-net apply -f FILE")
	}
}

// addRecord adds the records of one object and their state.
func (x *Explanation) addRecord(w *World, r OwnRecord) {
	o := r.Object
	texts := make([]string, len(o.Records))
	for i, rec := range o.Records {
		texts[i] = fmt.Sprintf("%s %s %s, %s", rec.Name, rec.Type, strings.Join(rec.Values, " "), ttlText(rec))
	}
	zone := ""
	if o.Zone != "" {
		zone = ", in zone " + o.Zone
	}
	x.fact("DNS: %s%s (%s).", strings.Join(texts, "; "), zone, r.Ref)
	describe := fmt.Sprintf("kubectl -n %s describe %s %s", o.Namespace, o.Resource(), o.Name)
	switch o.State {
	case view.StateActive:
		x.fact("%s is served%s.", r.Ref, lastOperation(o))
	case view.StateFailed:
		x.fact("%s is not served: its controller could not make it%s: %s.", r.Ref, lastOperation(o), strings.TrimSuffix(o.Message, "."))
		x.next("fix what the controller reports, then trigger it again: kubectl -n %s annotate --overwrite %s %s %s=reconcile",
			o.Namespace, o.Resource(), o.Name, view.GardenerOperation)
	case view.StateTerminating:
		x.fact("%s is being deleted, and its controller has not let it go%s.", r.Ref, lastOperation(o))
		x.next("%s", describe)
	default:
		x.fact("%s is not served yet: its controller has not taken it up as it is now%s.", r.Ref, lastOperation(o))
		x.next("%s (and see that its controller runs)", describe)
	}
	if _, why := w.trouble(r); why != "" {
		x.fact("%s %s.", r.Ref, why)
		x.next("kubectl akash-net repair")
	}
}

func lastOperation(o view.RecordObject) string {
	if o.Operation == "" {
		return ""
	}
	return " (" + o.Operation + ")"
}

func ttlText(r dns.Record) string {
	if r.TTL == 0 {
		return "TTL chosen by whoever serves it"
	}
	return fmt.Sprintf("TTL %d s", r.TTL)
}
