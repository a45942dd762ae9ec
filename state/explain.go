package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Explanation says of one host, address or lease how it stands, why, and what can be done.
type Explanation struct {
	Subject string `json:"subject"`
	// Summary is one sentence; Facts are what it rests on; Next are commands, or words, that
	// change it.
	Summary string   `json:"summary"`
	Facts   []string `json:"facts,omitempty"`
	Next    []string `json:"next,omitempty"`
	// Missing is true for a lease that holds nothing, an endpoint without an address, and an address that
	// is none of the provider's.
	Missing bool `json:"-"`
}

// View is what explanations are made of.
type View struct {
	Config *config.ProviderConfig
	Claims []*Claim
	Book   *Book
	// Uses are the routes and ProviderHosts of each host, whoever wrote them.
	Uses map[string][]Use
	// AddressUses are the Services that use each address, whoever wrote them.
	AddressUses map[netip.Addr][]Use
	// Reports are what routers say of each host's routes.
	Reports map[string][]Report
	// Records are the DNS records of ours; Unrecorded says of hosts without one for what it waits.
	Records    []OwnRecord
	Unrecorded map[string]string
	// Backends are the Services of leases that exist, as namespace/name.
	Backends map[string]bool
	// Pools are MetalLB's pools.
	Pools []PoolObject
	// Now is the API server's clock.
	Now time.Time
}

// Host explains a host or a wildcard.
func (c *View) Host(host string) Explanation {
	x := Explanation{Subject: host}
	rows := slices.DeleteFunc(slices.Clone(c.Book.Hosts), func(r HostRow) bool { return r.Host != host })
	claim := c.claim(HostName(host))
	owner := ""
	if claim != nil {
		owner = claim.Owner
	}
	uses := UsesOf(host, c.Uses, owner, func(name string) bool { return c.claim(name) != nil })
	c.refusal(&x, host, claim)
	c.above(&x, host)
	switch {
	case claim != nil:
		x.Summary = fmt.Sprintf("%s is held by %s", host, holders(claim))
		x.fact("Claimed since %s: lease.coordination.k8s.io/%s in namespace %s, by %s.", stamp(claim.Created), claim.Name(), c.Config.LedgerNamespace, managers(claim))
	case len(rows)+len(uses) > 0:
		x.Summary = fmt.Sprintf("%s has no claim, but objects stand for it", host)
	case refuse(host, config.Backend{}, c.Config) != "":
		x.Summary = host + " is held by nobody, and no lease can ask for it"
	default:
		x.Summary = host + " is free"
		x.next("kubectl akash-net reserve %s --lease LEASE", host)
	}
	c.claimTroubles(&x, claim)
	for _, r := range rows {
		c.hostRow(&x, r)
	}
	for _, u := range uses {
		if u.Host == host {
			x.fact("%s stands for it since %s%s.", u, stamp(u.Since), leaseOf(u))
		} else {
			x.fact("%s serves %s, which covers it, since %s%s.", u, u.Host, stamp(u.Since), leaseOf(u))
		}
	}
	for _, r := range c.Reports[host] {
		c.report(&x, r)
	}
	c.dns(&x, host, nil)
	if claim == nil && len(rows) > 0 && rows[0].Lease != "" {
		x.next("its lease claims it with: kubectl akash-net apply -f FILE --lease %s", rows[0].Lease)
	} else if claim == nil && len(rows)+len(uses) > 0 {
		x.next("delete what stands for it, or take it over as its owner: kubectl akash-net reserve %s --adopt --lease LEASE", host)
	}
	return x
}

// refusal says why leases cannot take a host, unless the provider has given it to the one that holds it.
func (c *View) refusal(x *Explanation, host string, claim *Claim) {
	why := c.Config.Refuse(host, config.Backend{})
	if claim != nil && len(claim.Parts) > 0 {
		why = claim.refused(c.Config)
	}
	switch {
	case why == "":
	case why == c.Config.OwnDomain(host):
		x.fact("It %s: no definition can ask for it.", why)
	default:
		x.fact("It %s: no lease can take it.", why)
	}
}

// report says what a router says of a route.
func (c *View) report(x *Explanation, r Report) {
	x.fact("%s.", r)
	switch {
	case r.Stale != "":
		x.next("kubectl akash-net repair")
	case r.Verdict == RouteRefused:
		x.next("the router's reason says what to change; kubectl akash-net state routes shows who has the host for a router")
	}
}

// above says which wildcard covers a host.
func (c *View) above(x *Explanation, host string) {
	over := WildcardOver(host)
	if over == "" {
		return
	}
	if w := c.claim(HostName(over)); w != nil && w.Bound() {
		x.fact("%s is held by %s and covers it: other owners cannot take it.", over, holders(w))
	}
}

func (c *View) hostRow(x *Explanation, r HostRow) {
	who := cmp.Or(r.Lease, r.Owner, "somebody who names no lease")
	switch r.State {
	case StateWithheld:
		x.fact("Withheld from lease %s, which asks for it for %s:%d: %s.", who, r.Service, r.Port, r.Message)
		x.next("it becomes live there when it is released, or now with: kubectl akash-net transfer %s --to %s", r.Host, r.Lease)
	case StateActive:
		x.fact("Live: %s in namespace %s routes it to %s.", r.Target, r.Namespace, backend(r))
		c.backendMissing(x, r)
	case StateTransferring:
		x.fact("Transferring: it was handed to lease %s; the %s of deployment %s serves it until that lease is applied.", who, r.Target, r.From)
		x.next("the routes of the new lease are made with: kubectl akash-net apply -f FILE")
		return
	case StatePending:
		x.fact("Not live: %s.", r.Message)
		if r.Unaccepted {
			x.next("kubectl -n %s describe %s %s (a controller's report stands in its status; without one, see that the controller runs and serves the Gateway)", r.Namespace, r.Target, lease.RouteName(r.Host, r.Path))
		} else {
			x.next("kubectl akash-net repair, or: kubectl akash-net apply -f FILE")
		}
	case StateReserved:
		x.fact("Not live: lease %s holds it, and no route serves it.", who)
		if c.atAnotherPort(r) {
			x.fact("Its definition exposes it at port %d; over HTTP only port 80 is routed.", r.Port)
			x.next("write \"as: 80\" for it in the lease's definition, then: kubectl akash-net apply -f FILE")
			return
		}
		x.next("the lease's routes are made with: kubectl akash-net apply -f FILE")
	}
	if r.Message != "" && r.State != StateWithheld && r.State != StatePending {
		x.fact("%s.", r.Message)
	}
}

// atAnotherPort is true for a host of which the claim names a port that is not the router's, and for which
// nothing was made: a port with TLS has a ProviderHost.
func (c *View) atAnotherPort(r HostRow) bool {
	return r.Port != 0 && r.Port != 80 && !slices.ContainsFunc(c.Uses[r.Host], func(u Use) bool { return u.Of(r.id().Group()) })
}

func (c *View) backendMissing(x *Explanation, r HostRow) {
	if r.Service != "" && !c.Backends[r.Namespace+"/"+r.Service] {
		x.fact("Not answering: Service %s/%s, to which it is routed, does not exist. The provider makes it when it deploys the lease.", r.Namespace, r.Service)
		x.next("kubectl -n %s get services,pods", r.Namespace)
	}
}

func backend(r HostRow) string {
	if r.Service == "" {
		return "a backend that the route names"
	}
	return fmt.Sprintf("%s:%d", r.Service, r.Port)
}

// claimTroubles says what keeps a claim from being a plain one.
func (c *View) claimTroubles(x *Explanation, claim *Claim) {
	if claim == nil {
		return
	}
	switch {
	case claim.Unreadable != "":
		x.fact("The claim cannot be understood: %s. Nobody can take what it stands for.", claim.Unreadable)
	case claim.Deleting:
		x.fact("The claim is being deleted: it is free when it is gone.")
		if len(claim.Finalizers) > 0 {
			x.fact("It is kept by %s, until who put them there removes them.", claim.kept())
			x.next("kubectl -n %s edit lease.coordination.k8s.io/%s", c.Config.LedgerNamespace, claim.Name())
		}
	case claim.Marked():
		x.fact("A run that took it has not ended: it is under way, or it has crashed.")
		x.next("run the same apply again, or: kubectl akash-net repair")
	}
	for _, p := range claim.Parts {
		switch {
		case p.Ended(c.Now):
			x.fact("The hold of lease %s ended at %s: whoever comes next may take it.", p.Lease, p.Expires)
		case p.Expires != "":
			x.fact("Lease %s holds it until %s.", p.Lease, p.Expires)
			x.next("the hold becomes a claim with: kubectl akash-net apply -f FILE, or reserve without --expires")
		}
	}
}

// IP explains an address.
func (c *View) IP(a netip.Addr) Explanation {
	x := Explanation{Subject: a.String()}
	claim := c.claim(AddressName(a))
	rows := slices.DeleteFunc(slices.Clone(c.Book.IPs), func(r IPRow) bool { return r.Address != a })
	others := claim.Squatters(c.AddressUses[a])
	pool, inPool := c.Config.PoolFor(a)
	switch {
	case claim != nil:
		x.Summary = fmt.Sprintf("%s is held by %s", a, holders(claim))
		x.fact("Claimed since %s for IP endpoint %s, by %s.", stamp(claim.Created), endpointOf(claim.SharingKey), managers(claim))
	case len(rows)+len(others) > 0:
		x.Summary = fmt.Sprintf("%s has no claim, but a Service uses it", a)
	case inPool:
		x.Summary = a.String() + " is free"
	default:
		x.Summary, x.Missing = a.String()+" is none of the provider's addresses", true
		x.next("kubectl akash-net state pools")
	}
	switch served := NewPoolIndex(c.Pools).Of(a); {
	case served != nil && inPool && served.Name != pool:
		x.fact("Pool %s serves it. By ip.ranges it would be in pool %s: an address stays in the pool that has it.", served.Name, pool)
	case served != nil:
		x.fact("Pool %s serves it.", served.Name)
	case inPool:
		x.fact("It belongs to pool %s, which does not have it yet: apply brings it for the lease.", pool)
	}
	c.claimTroubles(&x, claim)
	for _, r := range rows {
		c.ipRow(&x, r)
	}
	for _, u := range others {
		x.squatter(claim, u)
	}
	return x
}

// claimedEndpoint explains a claim on an IP endpoint, whose addresses MetalLB chooses.
func (c *View) claimedEndpoint(claim *Claim) Explanation {
	x := Explanation{Subject: claim.Thing}
	x.fact("It is held by %s.", holders(claim))
	x.fact("Claimed since %s: lease.coordination.k8s.io/%s in namespace %s, by %s.", stamp(claim.Created), claim.Name(), c.Config.LedgerNamespace, managers(claim))
	x.fact("MetalLB chooses its addresses, from pool %s (ip.mode: pool).", c.Config.IP.Pool)
	c.claimTroubles(&x, claim)
	for _, r := range c.Book.IPs {
		if r.SharingKey == claim.SharingKey {
			c.ipRow(&x, r)
		}
	}
	return x
}

func (c *View) ipRow(x *Explanation, r IPRow) {
	port := fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
	if r.Port == 0 {
		port = "the address"
	}
	service := lease.IPServiceName(r.Service, r.Port, r.Protocol)
	switch r.State {
	case StateWithheld:
		x.fact("%s is withheld from lease %s: %s.", port, r.Lease, r.Message)
		x.next("two deployments of an owner that name an IP endpoint alike share its address, and each port has one holder; rename the endpoint (%s), or: kubectl akash-net transfer %s --to %s", endpointOf(r.SharingKey), cmp.Or(addressOf(r), endpointOf(r.SharingKey)), r.Lease)
		return
	case StateActive:
		x.fact("%s is live: MetalLB granted %s to Service %s/%s of lease %s.", port, r.Address, r.Namespace, service, r.Lease)
		if r.Service != "" && !c.Backends[r.Namespace+"/"+r.Service] {
			x.fact("Service %s of the lease does not exist yet; the provider makes it with the workload.", r.Service)
		}
	case StatePending:
		x.fact("%s is pending: MetalLB has not granted it to Service %s/%s of lease %s.", port, r.Namespace, service, r.Lease)
		x.next("kubectl -n %s describe service %s (MetalLB's events say why)", r.Namespace, service)
	case StateTransferring:
		x.fact("%s is held by lease %s; %s.", port, r.Lease, r.Message)
		x.next("the Services of the new lease are made with: kubectl akash-net apply -f FILE")
		return
	case StateReserved:
		x.fact("%s is held by lease %s, and no Service of it uses it.", port, r.Lease)
	}
	if r.Message != "" {
		x.fact("%s.", r.Message)
	}
}

func addressOf(r IPRow) string {
	if r.Address.IsValid() {
		return r.Address.String()
	}
	return ""
}

func (x *Explanation) merge(subject string, y Explanation) {
	for _, f := range y.Facts {
		x.fact("%s: %s", subject, f)
	}
	for _, n := range y.Next {
		if !slices.Contains(x.Next, n) {
			x.Next = append(x.Next, n)
		}
	}
}

func (x *Explanation) fact(format string, args ...any) {
	x.Facts = append(x.Facts, fmt.Sprintf(format, args...))
}

func (x *Explanation) next(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(x.Next, text) {
		x.Next = append(x.Next, text)
	}
}

func (c *View) claim(name string) *Claim {
	if i := slices.IndexFunc(c.Claims, func(c *Claim) bool { return c.Name() == name }); i >= 0 {
		return c.Claims[i]
	}
	return nil
}

func holders(c *Claim) string {
	groups := c.Groups()
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return cmp.Or(strings.Join(texts, " and "), c.Owner, "nobody that can be read")
}

func managers(c *Claim) string {
	var texts []string
	for _, g := range c.Groups() {
		texts = append(texts, "field manager "+g.FieldManager())
	}
	return cmp.Or(strings.Join(texts, ", "), "nobody")
}

func endpointOf(sharingKey string) string {
	_, endpoint, ok := strings.Cut(sharingKey, "-ip-")
	if !ok {
		return sharingKey
	}
	return endpoint
}

func leaseOf(u Use) string {
	if !u.HasLease {
		return ", for no lease"
	}
	return ", for lease " + u.Lease.String()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
