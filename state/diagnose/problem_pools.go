package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkPool finds a claimed address that a Service asks for and no pool has.
func (p *problems) checkPool(base state.Problem, c *state.Claim) {
	name, pooled := p.Config.PoolFor(c.Addr())
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	p.checkGrants(base, c)
	served := p.pools.Of(c.Addr()) != nil
	used := slices.ContainsFunc(p.services[c.SharingKey], func(s state.ServiceObject) bool { return ofClaim(c, s) })
	if served || !used {
		return
	}
	base = fill(base, state.AddressWithoutPool, "no pool of MetalLB has it, so that it cannot be granted",
		"make pool "+name, &state.Fix{Do: state.MakePool, Address: c.Addr()})
	if !pooled {
		base.Plan = "add it to ip.ranges, or make a pool of it alone, " + config.AddressPoolName(c.Addr())
		base.Fix = &state.Fix{Do: state.MakePool, Address: c.Addr(), Alone: true}
		base = base.ByName()
	}
	p.add(base)
}

// findOverlaps finds pools that share addresses. Pools of this program give way to others.
func (p *problems) findOverlaps() {
	byName := func(a, b state.PoolObject) int { return cmp.Compare(a.Name, b.Name) }
	pools := slices.SortedFunc(slices.Values(p.Contents.Pools), byName)
	at := make(map[*state.PoolObject]int, len(pools))
	for i := range pools {
		at[&pools[i]] = i
	}
	x := state.NewPoolIndex(pools)
	for i, a := range pools {
		var later []int
		for _, r := range a.Ranges {
			for _, o := range x.Sharing(r) {
				if j := at[o]; j > i {
					later = append(later, j)
				}
			}
		}
		slices.Sort(later)
		for _, j := range slices.Compact(later) {
			p.overlap(a, pools[j], a.Shares(pools[j]))
		}
	}
}

func (p *problems) overlap(a, b state.PoolObject, shared []config.Range) {
	gives, keeps := a, b
	if p.weight(a) < p.weight(b) {
		gives, keeps = b, a
	}
	var texts, excluded []string
	for _, r := range shared {
		texts, excluded = append(texts, r.MetalLB()), append(excluded, `"!`+r.MetalLB()+`"`)
	}
	both := strings.Join(texts, ", ")
	x := state.Problem{Problem: state.PoolOverlap, Thing: gives.Name}
	x.Message = fmt.Sprintf("pools %s and %s both have %s: MetalLB rejects its configuration", a.Name, b.Name, both)
	if p.weight(gives) == 0 {
		x.Plan, x.Manual = "it is not repair's: neither pool was made by this program. Take the addresses out of one of the two", true
		x.Command = fmt.Sprintf("kubectl -n %s edit ipaddresspools %s", gives.Ref.Namespace, gives.Name)
		p.add(x)
		return
	}
	exclude := p.weight(gives) == 1 && p.weight(keeps) == 0
	x.Fix = &state.Fix{Do: state.NarrowPool, Objects: []state.ObjectRef{gives.Ref}, Ranges: shared, Exclude: exclude}
	x.Plan = fmt.Sprintf("take %s out of pool %s", both, gives.Name)
	if len(gives.Without(shared)) == 0 {
		x.Plan = "delete pool " + gives.Name
	}
	if x.Plan += ": pool " + keeps.Name + " serves it"; exclude {
		x.Plan += "; add " + strings.Join(excluded, ", ") + " to ip.ranges"
	}
	p.add(x)
}

// rangeOf returns the index of the configured range whose pool has the name of a pool, or -1.
func (p *problems) rangeOf(o state.PoolObject) int {
	return slices.IndexFunc(p.Config.IP.Ranges.Include, func(r config.Range) bool { return r.PoolName() == o.Name })
}

// weight returns which of two overlapping pools gives way, the heavier one: 0 for a pool of somebody else, 1 for a
// configured pool of this program, 2 for a pool of this program that is no longer configured.
func (p *problems) weight(o state.PoolObject) int {
	switch {
	case !o.Ours:
		return 0
	case p.Config.IP.Mode == config.ModeRange && p.rangeOf(o) >= 0:
		return 1
	case p.Config.IP.Mode == config.ModeDedicated && len(o.Ranges) == 1:
		if name, pooled := p.Config.PoolFor(o.Ranges[0].First); pooled && name == o.Name {
			return 1
		}
	}
	return 2
}

// findNodeAddresses finds addresses of nodes in the configured ranges. No lease gets one from now on, but MetalLB's pool has it.
func (p *problems) findNodeAddresses() {
	for _, u := range state.InRanges(p.Config, p.NodeUses) {
		a := u.Address.String()
		x := state.Problem{Problem: state.NodeAddress, Thing: a, Manual: true}
		x.Message = "ip.ranges has the address of " + u.String() + ": " + state.NodeAddressMeans
		x.Plan = state.ExcludeAddress(u.Address)
		if c := p.claims[state.AddressName(u.Address)]; c != nil && c.Held() {
			x.Message += "; " + c.Owner + " holds it"
			x.Plan = fmt.Sprintf("release it when its lease can do without, and %s", x.Plan)
		}
		x.Command = "kubectl akash-net config edit"
		p.add(x)
	}
}

// findExhausted finds pools without a free address, except pools for a single address. Addresses that other repairs
// give up count as the way to fix it.
func (p *problems) findExhausted() {
	for _, row := range p.Book.Pools {
		ours := func(o state.PoolObject) bool { return o.Name == row.Name && o.Ours }
		if row.Free > 0 || row.Addresses == 0 || row.Mode == config.ModePool && slices.ContainsFunc(p.Contents.Pools, ours) {
			continue
		}
		x := state.Problem{Problem: state.PoolExhausted, Thing: row.Name, Message: "no address is free"}
		var freed []string
		var leave []*state.Fix
		for _, c := range p.Claims {
			if c.Kind == state.Address && row.Contains(c.Addr()) {
				if fixes := p.givenUp(c); len(fixes) > 0 {
					freed, leave = append(freed, c.Thing), append(leave, fixes...)
				}
			}
		}
		slices.Sort(freed)
		x.Plan, x.Fix = "give up what is not live: "+strings.Join(freed, ", "), &state.Fix{Do: state.GiveUp, Each: leave}
		if len(freed) == 0 {
			x.Plan, x.Fix = "all of it is live: release leases that are over, or add a range to ip.ranges", nil
			x.Manual, x.Sound = true, true
			x.Command = "kubectl akash-net config edit"
		}
		p.add(x)
	}
}

// givenUp returns the repairs of other problems that give up all parts of the claim, or nil if some part would stay.
func (p *problems) givenUp(c *state.Claim) (fixes []*state.Fix) {
	kept := slices.Clone(c.Parts)
	for _, i := range p.of[c.Thing] {
		if x := p.found[i]; x.Fix.Is(state.GiveUp) && !x.Manual && x.Fix.Parts.Claim == c {
			fixes = append(fixes, x.Fix)
			kept = slices.DeleteFunc(kept, x.Fix.Parts.Has)
		}
	}
	if len(kept) > 0 {
		return nil
	}
	return fixes
}

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
					&state.Fix{Do: state.DropGrant, Objects: one(o)}))
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
		fmt.Sprintf("let %s ask for %s", o, c.Thing), &state.Fix{Do: state.AskAddress, Objects: one(o), Address: c.Addr()})
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
		base.Plan, base.Fix = fmt.Sprintf("let %s ask for it", o), &state.Fix{Do: state.AskAddress, Objects: one(o), Address: c.Addr()}
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

// addForeignKey adds a Service that uses an address which nobody has claimed, with the sharing key of another owner or with
// none: no claim of its lease can be for that.
func (p *problems) addForeignKey(base state.Problem, o *state.OwnObject, u state.Use) {
	base.Problem = state.AddressSquatted
	base.Message = fmt.Sprintf("%s, with the sharing key %q, which is not one of its owner", u.Takes("it"), u.SharingKey)
	base.Plan = fmt.Sprintf("take the address out of %s, or delete it: nobody has claimed it, and repair leaves it", o)
	base.Manual, base.Command = true, u.Edit()
	p.add(base)
}

// checkSquatters finds Services that use a claimed address and do not belong to its holder. It skips Services that this
// program wrote, which checkObject checks.
func (p *problems) checkSquatters(base state.Problem, c *state.Claim) {
	if len(c.Parts) == 0 {
		return
	}
	for _, u := range c.Squatters(p.AddressUses[c.Addr()]) {
		if p.written[string(u.UID)] && !u.External {
			continue
		}
		x := base
		x.Problem, x.Namespace, x.Lease = state.AddressSquatted, c.Parts[0].Lease.Namespace(), c.Parts[0].Lease.String()
		x.Message = fmt.Sprintf("%s, and %s holds it", u.Takes("it"), state.Holders(c))
		x.Plan = fmt.Sprintf("take the address out of %s, or delete it: it is not the holder's, and repair leaves it", u)
		x.Manual, x.Command = true, u.Edit()
		p.add(x)
	}
}
