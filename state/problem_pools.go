package state

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// addressPool says that no pool serves a claimed address, or that MetalLB granted another.
func (p *problems) addressPool(base Problem, c *Claim) {
	name, pooled := p.Config.PoolFor(c.Addr())
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	served := false
	for _, pool := range p.Contents.Pools {
		for _, r := range pool.Ranges {
			served = served || r.Contains(c.Addr())
		}
	}
	used := false
	for _, s := range p.Contents.Services {
		if !p.ofClaim(c, s) {
			continue
		}
		used = true
		for _, a := range s.Granted {
			if a != c.Addr() && a.BitLen() == c.Addr().BitLen() && len(s.Asked) > 0 && s.Asked[0].BitLen() == a.BitLen() {
				p.add(Problem{Problem: GrantDiffers, Thing: c.Thing, Namespace: s.Namespace, Since: base.Since,
					Message: fmt.Sprintf("MetalLB granted %s to service %s/%s", a, s.Namespace, s.Name),
					Plan:    "by hand: apply the lease's definition again; it asks for the claimed address", Manual: true})
			}
		}
	}
	if served || !used {
		return
	}
	x := base
	x.Problem, x.Message = AddressWithoutPool, "no pool of MetalLB has it, so that it cannot be granted"
	switch {
	case pooled:
		x.Plan, x.Mend = "make pool "+name, Mend{Pool: c.Addr()}
	default:
		x.Plan, x.Manual = "by hand: add it to ip.ranges, or make a pool", true
	}
	p.add(x)
}

// ofClaim is true for a Service for a port of the claimed address.
func (p *problems) ofClaim(c *Claim, s ServiceObject) bool {
	if s.SharingKey != c.SharingKey || !s.HasLease {
		return false
	}
	part := c.Part(PortKey(s.Protocol, s.Port))
	return part != nil && part.Lease.Group() == s.Lease.Group()
}

// pools looks at MetalLB's pools and at the configured ranges.
func (p *problems) pools() {
	pools := p.Contents.Pools
	for i, a := range pools {
		for _, b := range pools[i+1:] {
			for _, ra := range a.Ranges {
				for _, rb := range b.Ranges {
					if ra.Overlaps(rb) {
						p.add(Problem{Problem: PoolOverlap, Thing: a.Name,
							Message: fmt.Sprintf("%s of pool %s overlaps %s of pool %s: MetalLB gives no address at all", ra.Text, a.Name, rb.Text, b.Name),
							Plan:    "by hand: take the addresses out of one of the two", Manual: true})
					}
				}
			}
		}
	}
	for _, row := range p.Book.Pools {
		if row.Free == 0 && row.Addresses > 0 {
			p.add(Problem{Problem: PoolExhausted, Thing: row.Name, Message: "no address is left",
				Plan: "by hand: release leases that are over, or add a range to ip.ranges", Manual: true})
		}
	}
}
