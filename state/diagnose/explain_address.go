package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// IP explains an address.
func (c *View) IP(a netip.Addr) Explanation {
	x := Explanation{Subject: a.String()}
	claim := c.claim(state.AddressName(a))
	rows := slices.DeleteFunc(slices.Clone(c.Book.IPs), func(r view.IPRow) bool { return r.Address != a })
	others := claim.Squatters(c.AddressUses[a])
	nodes := slices.DeleteFunc(slices.Clone(c.NodeUses), func(u state.Use) bool { return u.Address != a })
	pool, inPool := c.Config.PoolFor(a)
	switch {
	case claim != nil:
		x.Summary = fmt.Sprintf("%s is held by %s%s", a, state.Holders(claim), ended(addressVerdict(rows)))
		x.fact("Claimed since %s for IP endpoint %s, by %s.", state.Stamp(claim.Created), endpointOf(claim.SharingKey), managers(claim))
	case len(rows)+len(others) > 0:
		x.Summary = fmt.Sprintf("%s has no claim, but a Service uses it%s", a, ended(addressVerdict(rows)))
	case inPool && len(nodes) > 0:
		x.Summary = a.String() + " is a node's: no lease gets it"
	case inPool:
		x.Summary = a.String() + " is free"
	default:
		x.Summary, x.Missing = a.String()+" is none of the provider's addresses", true
		x.next("kubectl akash-net state pools")
	}
	switch served := state.NewPoolIndex(c.Pools).Of(a); {
	case served != nil && inPool && served.Name != pool:
		x.fact("Pool %s serves it. By ip.ranges it would be in pool %s: an address stays in the pool that has it.", served.Name, pool)
	case served != nil:
		x.fact("Pool %s serves it.", served.Name)
	case inPool:
		x.fact("It belongs to pool %s, which does not have it yet: apply adds it for the lease.", pool)
	}
	for _, u := range nodes {
		x.fact("It is an address of %s: %s.", u, state.NodeAddressMeans)
	}
	if len(state.InRanges(c.Config, nodes)) > 0 {
		x.next("kubectl akash-net config edit (%s)", state.ExcludeAddress(a))
	}
	c.addClaimTroubles(&x, claim)
	for _, r := range rows {
		c.addIPRow(&x, r)
	}
	for _, u := range others {
		x.addSquatter(claim, u)
	}
	return x
}

// claimedEndpoint explains a claim on an IP endpoint whose addresses MetalLB chooses.
func (c *View) claimedEndpoint(claim *state.Claim) Explanation {
	x := Explanation{Subject: claim.Thing}
	x.fact("It is held by %s.", state.Holders(claim))
	c.addClaimed(&x, claim)
	x.fact("MetalLB chooses its addresses, from pool %s (ip.mode: pool).", c.Config.IP.Pool)
	c.addClaimTroubles(&x, claim)
	for _, r := range c.Book.IPs {
		if r.SharingKey == claim.SharingKey {
			c.addIPRow(&x, r)
		}
	}
	return x
}

func (c *View) addIPRow(x *Explanation, r view.IPRow) {
	port := portOf(r)
	switch r.State {
	case view.StateWithheld:
		x.fact("%s is withheld from lease %s: %s.", port, r.Lease, r.Message)
		endpoint := endpointOf(r.SharingKey)
		x.next("two deployments of an owner that name an IP endpoint alike share its address, and each port has one holder; "+
			"rename the endpoint (%s), or: kubectl akash-net transfer %s --to %s", endpoint, cmp.Or(addressOf(r), endpoint), r.Lease)
		return
	case view.StateActive:
		x.fact("%s is routed: MetalLB granted %s to Service %s/%s of lease %s.", port, r.Address, r.Namespace, r.Object, r.Lease)
		x.addEndpoints(r.Endpoints, r.Namespace, r.Object, r.Port)
	case view.StatePending:
		x.fact("%s is pending: MetalLB has not granted it to Service %s/%s of lease %s.", port, r.Namespace, r.Object, r.Lease)
		x.next("kubectl -n %s describe service %s (MetalLB's events say why)", r.Namespace, r.Object)
		x.addEndpoints(r.Endpoints, r.Namespace, r.Object, r.Port)
	case view.StateTransferring:
		x.fact("%s is held by lease %s; %s.", port, r.Lease, r.Message)
		x.next("the Services of the new lease are made with: kubectl akash-net apply -f FILE")
		return
	case view.StateReserved:
		x.fact("%s is held by lease %s, and no Service of it uses it.", port, r.Lease)
	}
	if r.Message != "" && r.State != view.StateClaiming && r.State != view.StateUnreadable {
		x.fact("%s.", r.Message)
	}
}

// portOf names the port of a row.
func portOf(r view.IPRow) string {
	if r.Port == 0 {
		return "the address"
	}
	return fmt.Sprintf("%d/%s", r.Port, strings.ToLower(string(r.Protocol)))
}

func addressOf(r view.IPRow) string {
	if r.Address.IsValid() {
		return r.Address.String()
	}
	return ""
}

func endpointOf(sharingKey string) string {
	_, endpoint, ok := strings.Cut(sharingKey, "-ip-")
	if !ok {
		return sharingKey
	}
	return endpoint
}

// addSquatter adds a Service that uses the address and does not belong to its holder.
func (x *Explanation) addSquatter(c *state.Claim, u state.Use) {
	if c == nil {
		x.fact("%s%s.", u.Takes("it"), leaseOf(u))
		return
	}
	x.fact("%s%s: it is not the holder's.", u.Takes("it"), leaseOf(u))
	x.next("%s (take the address out of it)", u.Edit())
}
