package state

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// use compares what an object serves with the part of the claim that it rests on.
func (p *problems) use(base Problem, o *OwnObject, u Use) {
	base.Thing = u.Thing()
	if u.Address.IsValid() && p.Config.IP.Mode == config.ModePool {
		return
	}
	c := p.claims[claimName(u)]
	part := c.Part(u.partKey(o))
	if own := c.PartsOf(o.Lease.Group()); part == nil && u.Redirect && len(own) > 0 {
		part = &own[0] // it leads to what the lease holds of the host, whichever path that is
	}
	where := o.String()
	served := Served{Group: o.Lease.Group(), Key: u.partKey(o), SharingKey: u.SharingKey, Redirect: u.Redirect}
	switch standing, by := served.Standing(c, p.claims[HostName(WildcardOver(u.Host))]); {
	case c.servesFor(o.Lease.Group(), u.partKey(o), u.Redirect) != nil: // until the next apply of the lease that holds it
	case standing == Unknown:
	case standing == Stray && by.Kind == Wildcard && !strings.HasPrefix(u.Host, "*."):
		p.stray(base, o, fmt.Sprintf("%s serves it, and %s holds %s", where, holders(by), by.Thing))
	case standing == Stray:
		p.stray(base, o, fmt.Sprintf("%s serves it, and %s holds it", where, holders(by)))
	case c == nil || len(c.Parts) == 0:
		p.unclaimed(base, o, u)
	case u.Address.IsValid() && u.SharingKey != c.SharingKey:
		base.Problem, base.Message = SharingKeyMismatch, fmt.Sprintf("%s asks for it with the sharing key %s, it is leased for %s", where, u.SharingKey, c.SharingKey)
		base.Plan, base.Mend = "let "+where+" ask with the sharing key of the claim", Mend{Reshare: &o.ObjectRef, SharingKey: c.SharingKey}
		p.add(base)
	case part == nil:
		p.unclaimed(base, o, u)
	case !u.Address.IsValid() && o.Kind != providerHost:
		if !u.Redirect && !part.leadsTo(o.Kind, u.Service, u.Port) {
			base.Problem, base.Message = RouteDiffers, fmt.Sprintf("%s routes it to %s:%d, the claim says %s:%d", where, u.Service, u.Port, part.Service, part.Port)
			base.Plan, base.Mend = fmt.Sprintf("let %s route it to %s:%d", where, part.Service, part.Port), Mend{Rewrite: &o.ObjectRef, Part: *part}
			p.add(base)
		}
	}
}

// stray notes an object that serves what its lease does not hold.
func (p *problems) stray(base Problem, o *OwnObject, message string) {
	base.Problem, base.Message, base.Plan = StrayRoute, message, "delete "+o.String()
	p.goes(base, o)
}

// goes notes a problem that is mended by deleting an object. All objects of a lease for one thing are
// one problem, in the order in which they are to go.
func (p *problems) goes(x Problem, o *OwnObject) {
	i := slices.IndexFunc(p.found, func(y Problem) bool {
		return y.Problem == x.Problem && y.Thing == x.Thing && y.Lease == x.Lease && len(y.Mend.Delete) > 0
	})
	if i >= 0 {
		y := &p.found[i]
		y.Plan, y.Mend.Delete = y.Plan+" and "+o.String(), append(y.Mend.Delete, o.ObjectRef)
		return
	}
	x.Mend = Mend{Delete: []ObjectRef{o.ObjectRef}}
	p.add(x)
}

// unclaimed is what is served and held by nobody: the lease that serves it is to hold it, unless no
// lease may.
func (p *problems) unclaimed(base Problem, o *OwnObject, u Use) {
	why := ""
	if !u.Address.IsValid() {
		why = refusedBackend(p.Config, u.Host, o.Lease, u.Service, u.Port)
	}
	if why != "" {
		base.Problem, base.Message = BlockedHost, o.String()+" stands for it, and it "+why
		base.Plan = "change the configuration, or delete " + o.String()
		p.goes(base.byName(), o)
		return
	}
	if p.isAbandoned(o, u) {
		p.abandoned(base, o)
		return
	}
	base.Problem, base.Message = RouteWithoutClaim, o.String()+" serves it, and nobody has claimed it"
	if u.Address.IsValid() {
		base.Problem = UnclaimedAddress
	}
	base.Plan, base.Mend = "claim it for the lease that serves it", Mend{Take: u.hold(o), Serving: []ObjectRef{o.ObjectRef}}
	p.add(base)
}

// hostServed finds a ProviderHost of a lease that holds its host, and no route that serves it.
func (p *problems) hostServed(base Problem, o *OwnObject) {
	for _, u := range o.Uses {
		c := p.claims[claimName(u)]
		part := c.Part(u.partKey(o))
		route := func(v Use) bool { return v.Kind != providerHost && v.Of(o.Lease.Group()) }
		if part != nil && c.Unreadable == "" && part.Lease.Group() == o.Lease.Group() && !slices.ContainsFunc(p.Uses[u.Host], route) {
			base.Thing = c.Thing
			p.notServed(base, o, c, part)
		}
	}
}

// leasedIP looks at a ProviderLeasedIP, which names an IP endpoint and no address: some claim of the
// endpoint has its port, and a Service is there for it.
func (p *problems) leasedIP(base Problem, o *OwnObject) {
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	group, key, service := o.Lease.Group(), PortKey(o.Port.Protocol, o.Port.ExternalPort), p.serviceFor(o)
	for _, c := range p.Claims {
		if c.Kind == Address && c.SharingKey == o.SharingKey && c.servesFor(group, key, false) != nil {
			return
		}
		if c.Unreadable == "" && o.standsForPort(c) {
			if base.Thing = c.Thing; !service {
				p.notServed(base, o, c, c.Part(key))
			}
			return
		}
	}
	if service || p.unreadable(o.SharingKey) {
		return // what it serves without a claim was seen
	}
	p.stray(base, o, fmt.Sprintf("%s stands for a port that its lease does not hold", o))
}

// standsForPort is true for a ProviderLeasedIP whose lease has its port of the claimed address or endpoint. Of
// an endpoint no Service names an address: there its Services stand for the port too.
func (o *OwnObject) standsForPort(c *Claim) bool {
	part := c.Part(PortKey(o.Port.Protocol, o.Port.ExternalPort))
	kind := o.Kind == providerLeasedIP || o.Kind == "service" && c.Kind == Endpoint
	return kind && c.Kind.HasPorts() && c.SharingKey == o.SharingKey && part != nil && o.of(part.Lease.Group())
}

// isServed is true where one of the group's objects that rest on the claim serves it, or a route that
// an operator has made of them. The group holds parts of the claim, or did before a transfer.
func (p *problems) isServed(c *Claim, g lease.Group, stands []ObjectRef) bool {
	return slices.ContainsFunc(stands, func(o ObjectRef) bool { return o.Kind != providerHost && o.Kind != providerLeasedIP }) ||
		slices.ContainsFunc(p.Uses[c.Thing], func(u Use) bool { return u.Kind != providerHost && u.Of(g) }) ||
		c.Kind == Endpoint && slices.ContainsFunc(p.services[c.SharingKey], func(s ServiceObject) bool {
			part := c.Part(PortKey(s.Protocol, s.Port))
			return s.of(g) && part != nil && (part.Lease.Group() == g || part.From == g.String())
		})
}

// notServed says that one of Akash's objects stands alone. While the part has a run's mark, the mark
// is the problem; a run that is under way has just made the object.
func (p *problems) notServed(base Problem, o *OwnObject, c *Claim, part *Part) {
	if part.Run != "" || part.Ended(p.Now) || p.Now.Sub(o.Since) < p.CrashedAfter || !p.Namespaces[part.Lease.Namespace()] {
		return // a namespace that is gone is a problem of its own
	}
	base.Problem, base.Message = NotServed, fmt.Sprintf("%s stands for it, and nothing serves it: what served it was deleted, or a run did not end", o)
	if o.ForOperator {
		base.Message = fmt.Sprintf("%s stands for it, and Akash's hostname operator has not routed it: its log and its /ignore-list say why", o)
		base.Plan, base.Mend = fmt.Sprintf("delete %s: the claim stays, and the lease's next apply makes it again", o), Mend{Delete: []ObjectRef{o.ObjectRef}, Unserved: true, Reserve: c, Group: part.Lease.Group(), Keys: []string{part.Key}}
		p.add(base.byName())
		return
	}
	p.add(base.byDefinition(o.Lease.Group()))
}

// partKey is the part that an object rests on: a port of an address, a path of a host.
func (u Use) partKey(o *OwnObject) string {
	if u.Address.IsValid() {
		return PortKey(o.Port.Protocol, o.Port.ExternalPort)
	}
	return RouteKey(u.Path)
}

// Thing is the host or the address that is used, as a claim names it.
func (u Use) Thing() string {
	if u.Address.IsValid() {
		return u.Address.String()
	}
	return u.Host
}

func claimName(u Use) string {
	if u.Address.IsValid() {
		return AddressName(u.Address)
	}
	return HostName(u.Host)
}

// hold is what the lease of the object is to hold of the thing.
func (u Use) hold(o *OwnObject) *Hold {
	if u.Address.IsValid() {
		h := EndpointWant{SharingKey: u.SharingKey, Ports: []PortWant{{
			Protocol: o.Port.Protocol, ExternalPort: o.Port.ExternalPort, Service: o.Port.Service, Port: o.Port.Port,
		}}}.Hold(o.Lease, u.Address)
		return &h
	}
	h := HostWant{Host: u.Host, Path: u.Path, Service: u.Service, Port: u.Port}.Hold(o.Lease)
	return &h
}
