package diagnose

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
	of := func(t *view.Tenant) bool { return t.ID().Group() == g }
	return slices.ContainsFunc(c.Book.Hosts, func(r view.HostRow) bool { return of(r.Tenant) }) ||
		slices.ContainsFunc(c.Book.IPs, func(r view.IPRow) bool { return of(r.Tenant) }) ||
		slices.ContainsFunc(c.Book.Leases, func(r view.LeaseRow) bool { return of(r.Tenant) })
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
		of := slices.DeleteFunc(slices.Clone(c.Book.Hosts), func(r view.HostRow) bool { return lease.HostPath(r.Host, r.Path) != name })
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
