package diagnose

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkGrants finds Services of a claimed address that ask for another address or were granted another one. MetalLB
// grants what a Service asks for. A different grant was left by another program, or by MetalLB when the Service asked
// for something else.
func (p *problems) checkGrants(base state.Problem, c *state.Claim) {
	differs := func(a netip.Addr) bool { return a != c.Addr() && a.BitLen() == c.Addr().BitLen() }
	for _, s := range p.services[c.SharingKey] {
		if !ofClaim(c, s) {
			continue
		}
		asks, asked := slices.IndexFunc(s.Asked, differs), slices.Contains(s.Asked, c.Addr())
		granted := slices.IndexFunc(s.Granted, differs)
		switch {
		case !asked && asks >= 0:
			p.addAsksAnother(base, c, s, s.Asked[asks])
		case asked && granted >= 0:
			if o := p.serviceOf(s); o != nil {
				x := base
				x.Namespace, x.Lease = s.Namespace, s.Lease.String()
				p.add(fill(x, state.GrantDiffers, fmt.Sprintf("%s asks for it and was granted %s", o, s.Granted[granted]),
					fmt.Sprintf("take the grant out of the status of %s, so that MetalLB grants anew", o),
					state.DropGrant{Service: o.ObjectRef}))
			}
		}
	}
}

// addAsksAnother adds a Service that asks for an address on which its port is not claimed.
func (p *problems) addAsksAnother(base state.Problem, c *state.Claim, s state.ServiceObject, asked netip.Addr) {
	use := state.Use{Address: asked, SharingKey: s.SharingKey}
	rightful := p.claimsElsewhere(s.Lease.Group(), use, state.PortKey(s.Protocol, s.Port))
	o := p.serviceOf(s)
	if o == nil || !slices.Contains(rightful, c) {
		return
	}
	base.Namespace, base.Lease = s.Namespace, s.Lease.String()
	base = fill(base, state.GrantDiffers, fmt.Sprintf("%s asks for %s, the port is claimed on %s", o, asked, c.Thing),
		fmt.Sprintf("let %s ask for %s", o, c.Thing), state.AskAddress{Service: o.ObjectRef, Address: c.Addr()})
	if !o.Ours || len(rightful) > 1 {
		base = base.ByName()
	}
	p.add(base)
}

// checkAsks finds a Service of a leased port that asks for no address although its port is claimed on one: Akash's IP
// operator or another client has overwritten it. MetalLB grants such a Service no address, or any.
func (p *problems) checkAsks(base state.Problem, o *state.OwnObject) {
	asks := func(u state.Use) bool { return !u.Granted }
	if o.Kind != "service" || o.SharingKey == "" || p.Config.IP.Mode == config.ModePool || slices.ContainsFunc(o.Uses, asks) {
		return
	}
	key, second := o.Port.Key(), strings.HasSuffix(o.Name, secondFamily)
	var claimed []*state.Claim
	for _, c := range p.byKey[o.SharingKey] {
		part := c.Part(key)
		if c.Unreadable == "" && !c.Deleting && part != nil && part.Run == "" && o.Of(part.Lease.Group()) {
			claimed = append(claimed, c)
		}
	}
	if len(claimed) == 0 {
		return
	}
	slices.SortFunc(claimed, func(a, b *state.Claim) int { return a.Addr().Compare(b.Addr()) }) // IPv4 first
	c := claimed[0]
	if second {
		c = claimed[len(claimed)-1]
	}
	alone := !slices.ContainsFunc(claimed, func(d *state.Claim) bool { return d != c && d.Addr().BitLen() == c.Addr().BitLen() })
	base.Thing, base.Problem = c.Thing, state.AsksForNothing
	base.Message = fmt.Sprintf("%s has port %s of it and asks for no address: somebody has written over it",
		o, state.Part{Key: key}.PortText())
	if o.Ours && alone {
		base.Plan, base.Mend = fmt.Sprintf("let %s ask for it", o), state.AskAddress{Service: o.ObjectRef, Address: c.Addr()}
	} else {
		base = p.byDefinition(base, o.Lease.Group())
	}
	p.add(base)
}

// secondFamily ends the name of a Service for the IPv6 address of a port that also has an IPv4 address.
const secondFamily = "-v6"

// serviceOf returns the object of a Service, or nil.
func (p *problems) serviceOf(s state.ServiceObject) *state.OwnObject {
	return p.named[[2]string{s.Namespace, s.Name}]
}

// ofClaim reports whether the Service is for a port of the claimed address.
func ofClaim(c *state.Claim, s state.ServiceObject) bool {
	part := c.Part(state.PortKey(s.Protocol, s.Port))
	return s.HasLease && s.SharingKey == c.SharingKey && part != nil && part.Lease.Group() == s.Lease.Group()
}

// claimsElsewhere returns the claims on other addresses of the same family on which a deployment group holds the port
// with the key, settled and without an end. It returns nothing if the group holds the port on the used address too.
func (p *problems) claimsElsewhere(g lease.Group, u state.Use, key string) (claims []*state.Claim) {
	holds := func(c *state.Claim) bool {
		part := c.Part(key)
		return part != nil && part.Lease.Group() == g && part.Run == "" && !part.Ended(p.Now)
	}
	if !u.Address.IsValid() {
		return nil
	}
	if part := p.claims[claimName(u)].Part(key); part != nil && part.Lease.Group() == g {
		return nil // a run may be about to leave the other claim
	}
	for _, c := range p.byKey[u.SharingKey] {
		if c.Unreadable == "" && !c.Deleting && c.Addr() != u.Address && c.Addr().BitLen() == u.Address.BitLen() && holds(c) {
			claims = append(claims, c)
		}
	}
	return claims
}
