// Package diagnose finds problems in a cluster, says how to repair each of them, and explains the state of single
// hosts, addresses, leases and orders.
package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Explanation is the state of one host, address, lease or order, the reasons for it, and what the user can do.
type Explanation struct {
	Subject string `json:"subject"`
	// Summary is one sentence. Facts are the reasons for it. Next are commands or advice.
	Summary string   `json:"summary"`
	Facts   []string `json:"facts,omitempty"`
	Next    []string `json:"next,omitempty"`
	// Missing is true for a lease that holds nothing, an endpoint without an address, and an address that is not the
	// provider's.
	Missing bool `json:"-"`
}

// View is the input of explanations.
type View struct {
	Config *config.ProviderConfig
	Claims []*state.Claim
	Book   *view.Book
	// Uses are the routes and ProviderHosts of each host, whoever wrote them.
	Uses map[string][]state.Use
	// AddressUses are the Services that use each address, whoever wrote them.
	AddressUses map[netip.Addr][]state.Use
	// NodeUses are the addresses of the nodes, as far as they may be read.
	NodeUses []state.Use
	// Unlike says which HTTP options the route of a host, made by Akash's hostname operator, has instead of those of the
	// definition with which its lease was last applied.
	Unlike map[string]string
	// Reports are the routers' reports on the routes of each host.
	Reports map[string][]state.Report
	// Unserved says what an Ingress lacks in its status if no controller serves it, by namespace/name.
	Unserved map[string]string
	// Records are this program's DNS records. Unrecorded says, for hosts without one, what is still missing.
	Records    []OwnRecord
	Unrecorded map[string]string
	// Suspended are the leases that the reconciler leaves as they are.
	Suspended map[lease.Group]bool
	// Pools are MetalLB's pools.
	Pools []state.PoolObject
	// Now is by the API server's clock.
	Now time.Time

	// at finds rows and claims by what they are about. It is made on first use.
	at *places
}

// places are the claims by the names of their objects, the rows of hosts and addresses by these and by their deployment groups, and the DNS
// records by host.
type places struct {
	claims  map[string]*state.Claim
	hosts   map[string][]view.HostRow
	ips     map[netip.Addr][]view.IPRow
	hostsOf map[lease.Group][]view.HostRow
	ipsOf   map[lease.Group][]view.IPRow
	records map[string][]OwnRecord
}

func (c *View) places() *places {
	if c.at != nil {
		return c.at
	}
	c.at = &places{
		claims: map[string]*state.Claim{}, hosts: map[string][]view.HostRow{}, ips: map[netip.Addr][]view.IPRow{},
		hostsOf: map[lease.Group][]view.HostRow{}, ipsOf: map[lease.Group][]view.IPRow{}, records: recordsByHost(c.Records),
	}
	for _, claim := range c.Claims {
		if name := claim.Name(); c.at.claims[name] == nil {
			c.at.claims[name] = claim
		}
	}
	for _, r := range c.Book.Hosts {
		c.at.hosts[r.Host], c.at.hostsOf[r.ID().Group()] = append(c.at.hosts[r.Host], r), append(c.at.hostsOf[r.ID().Group()], r)
	}
	for _, r := range c.Book.IPs {
		c.at.ips[r.Address], c.at.ipsOf[r.ID().Group()] = append(c.at.ips[r.Address], r), append(c.at.ipsOf[r.ID().Group()], r)
	}
	return c.at
}

// addClaimTroubles adds what is unusual about a claim. claim may be nil.
func (c *View) addClaimTroubles(x *Explanation, claim *state.Claim) {
	if claim == nil {
		return
	}
	switch {
	case claim.Unreadable != "":
		x.fact("The claim cannot be read: %s. Nobody can claim this thing.", claim.Unreadable)
	case claim.Deleting:
		x.fact("The claim is being deleted: it is free when it is gone.")
		if len(claim.Finalizers) > 0 {
			x.fact("It is kept by %s, until who put them there removes them.", claim.Kept())
			x.next("kubectl -n %s edit lease.coordination.k8s.io/%s", c.Config.LedgerNamespace, claim.Name())
		}
	case claim.Marked():
		x.fact("%s.", strings.ToUpper(claim.AtWork[:1])+claim.AtWork[1:])
		x.next("where it has crashed, run the same apply again, or: kubectl akash-net repair")
	}
	for _, p := range claim.Parts {
		switch {
		case p.Ended(c.Now):
			x.fact("The hold of lease %s ended at %s: whoever comes next may take it.", p.Lease, p.Expires)
		case claim.PartEnded(p, c.Now):
			x.fact("Lease %s announces it until %s, which no run does: whoever comes next may take it.", p.Lease, p.Expires)
		case p.Expires != "":
			x.fact("Lease %s holds it until %s.", p.Lease, p.Expires)
			x.next("the hold becomes a claim with: kubectl akash-net apply -f FILE, or reserve without --expires")
		}
	}
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

func (c *View) claim(name string) *state.Claim { return c.places().claims[name] }

// addClaimed adds when a claim was made, as which object, and by whom.
func (c *View) addClaimed(x *Explanation, claim *state.Claim) {
	x.fact("Claimed since %s: lease.coordination.k8s.io/%s in namespace %s, by %s.",
		state.Stamp(claim.Created), claim.Name(), c.Config.LedgerNamespace, managers(claim))
}

func managers(c *state.Claim) string {
	var texts []string
	for _, g := range c.Groups() {
		texts = append(texts, "field manager "+g.FieldManager())
	}
	return cmp.Or(strings.Join(texts, ", "), "nobody")
}

func leaseOf(u state.Use) string {
	if !u.HasLease {
		return ", for no lease"
	}
	return ", for lease " + u.Lease.String()
}

// Lease explains a lease: everything that it holds or waits for.
func (c *View) Lease(g lease.Group) Explanation {
	x := Explanation{Subject: g.String()}
	states, seen, silent := map[string]int{}, map[string]bool{}, 0
	count := func(state, why string) {
		if states[state]++; state == view.StateActive && why != "" {
			silent++
		}
	}
	for _, r := range c.places().hostsOf[g] {
		count(r.State, r.Silent())
		y := Explanation{}
		c.addHostRow(&y, r)
		y.addUnsettled(r.State, r.Expires, r.Message)
		if r.State != view.StateWithheld && !seen[r.Host] {
			seen[r.Host] = true
			c.addDNS(&y, r.Host, &g)
		}
		x.merge(r.Host, y)
		if !r.Claimed && r.State != view.StateWithheld {
			x.fact("%s: no claim; it remains of a former lease, or Akash's provider wrote it.", r.Host)
		}
	}
	for _, r := range c.places().ipsOf[g] {
		count(r.State, r.Silent())
		y := Explanation{}
		c.addIPRow(&y, r)
		y.addUnsettled(r.State, r.Expires, r.Message)
		x.merge(cmp.Or(addressOf(r), "no address yet"), y)
	}
	total := 0
	var words []string
	for _, s := range []string{
		view.StateActive, view.StateTransferring, view.StatePending, view.StateReserved, view.StateExpired,
		view.StateClaiming, view.StateWithheld, view.StateTerminating, view.StateUnreadable,
	} {
		total += states[s]
		if states[s] > 0 {
			words = append(words, fmt.Sprintf("%d %s", states[s], strings.ToLower(s)))
		}
		if s == view.StateActive && silent > 0 {
			words = append(words, fmt.Sprintf("%d of them not answering", silent))
		}
	}
	if c.Suspended[g] {
		x.fact("It is suspended: the reconciler does nothing for it.")
		x.next("to let the reconciler go on with it: kubectl akash-net resume %s", g)
	}
	x.Summary = fmt.Sprintf("lease %s holds nothing", g)
	if total > 0 {
		x.Summary = fmt.Sprintf("lease %s: %s", g, strings.Join(words, ", "))
	}
	return x
}

// addUnsettled adds what the explanation of a host or an address would say about its claim.
func (x *Explanation) addUnsettled(state, expires, message string) {
	switch state {
	case view.StateExpired:
		x.fact("The hold ended at %s: whoever comes next may take it.", expires)
	case view.StateClaiming:
		x.fact("A run that took it has not ended: it is under way, or it has crashed.")
		x.next("run the same apply again, or: kubectl akash-net repair")
	case view.StateTerminating:
		x.fact("The claim is being deleted: it is free when it is gone.")
	case view.StateUnreadable:
		x.fact("The claim cannot be read: %s. Nobody can claim this thing.", message)
	}
}

// Explain explains a thing. A name that may be a host or an IP endpoint is an endpoint if an endpoint of that name has
// an address and no host of that name is claimed.
func (c *View) Explain(t thing.Thing) Explanation {
	switch t.Kind {
	case thing.Lease:
		x := c.Lease(t.Group)
		x.Missing = !c.holds(t.Group)
		return x
	case thing.Address:
		return c.IP(t.Addr)
	case thing.Endpoint:
		return c.Endpoint(t.Endpoint)
	}
	if t.Endpoint != "" && c.claim(state.HostName(t.Host)) == nil && len(c.endpoints(t.Endpoint)) > 0 {
		return c.Endpoint(t.Endpoint)
	}
	if t.Path != "" {
		return c.Path(t.Host, t.Path)
	}
	return c.Host(t.Host)
}

// holds reports whether the group has a row in the book.
func (c *View) holds(g lease.Group) bool {
	return len(c.places().hostsOf[g])+len(c.places().ipsOf[g]) > 0
}

// Path explains a path of a host: who holds it, and the state of the host.
func (c *View) Path(host, path string) Explanation {
	name := lease.HostPath(host, path)
	x := c.Host(host)
	x.Subject = name
	claim := c.claim(state.HostName(host))
	if claim == nil {
		x.fact("Nothing is held of %s, so no path of it is.", host)
		return x
	}
	if part := claim.Part(state.RouteKey(path)); part != nil {
		of := slices.DeleteFunc(slices.Clone(c.places().hosts[host]), func(r view.HostRow) bool { return lease.HostPath(r.Host, r.Path) != name })
		x.Summary = fmt.Sprintf("%s is held by %s%s", name, part.Lease.Group(), ended(hostVerdict(of)))
		return x
	}
	x.Summary = fmt.Sprintf("%s is held by nobody, and only the owner of %s can take it: %s", name, host, claim.Owner)
	return x
}

// Endpoint explains all IP endpoints with the name, each with its address.
func (c *View) Endpoint(name string) Explanation {
	x := Explanation{Subject: name}
	claims := c.endpoints(name)
	switch len(claims) {
	case 0:
		x.Summary, x.Missing = fmt.Sprintf("no IP endpoint named %s has an address", name), true
	case 1:
		x.Summary = fmt.Sprintf("IP endpoint %s has an address", name)
	default:
		x.Summary = fmt.Sprintf("IP endpoints named %s have %d addresses", name, len(claims))
	}
	for _, claim := range claims {
		if claim.Kind == state.Endpoint {
			x.Summary = fmt.Sprintf("IP endpoint %s is held; MetalLB chooses its addresses", name)
			x.merge(claim.Thing, c.claimedEndpoint(claim))
			continue
		}
		x.fact("%s of owner %s.", claim.Thing, claim.Owner)
		x.merge(claim.Thing, c.IP(claim.Addr()))
	}
	return x
}

// endpoints returns the claims on IP endpoints with the name, and on their addresses.
func (c *View) endpoints(name string) []*state.Claim {
	var claims []*state.Claim
	for _, claim := range c.Claims {
		if claim.Kind.HasPorts() && (claim.SharingKey == name || claim.SharingKey == lease.SharingKey(claim.Owner, name)) {
			claims = append(claims, claim)
		}
	}
	slices.SortFunc(claims, func(a, b *state.Claim) int { return a.Addr().Compare(b.Addr()) })
	return claims
}
