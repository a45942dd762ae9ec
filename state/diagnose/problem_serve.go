package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkUse compares what an object serves with the part of the claim that entitles it.
func (p *problems) checkUse(base state.Problem, o *state.OwnObject, u state.Use) {
	base.Thing = u.Thing()
	if u.Address.IsValid() && p.Config.IP.Mode == config.ModePool {
		return
	}
	c := p.claims[claimName(u)]
	part := c.Part(u.PartKey(o))
	if own := c.PartsOf(o.Lease.Group()); part == nil && u.Redirect && len(own) > 0 {
		part = &own[0] // a redirect belongs to any part that the lease holds of the host
	}
	where := o.String()
	served := state.Served{Group: o.Lease.Group(), Key: u.PartKey(o), SharingKey: u.SharingKey, Redirect: u.Redirect}
	switch standing, by := served.Standing(c, p.claims[state.HostName(state.WildcardOver(u.Host))]); {
	case c.ServesFor(o.Lease.Group(), u.PartKey(o), u.Redirect) != nil: // until the next apply of the holder
	case standing == state.Unknown:
	case standing == state.Stray && by.Kind == state.Wildcard && !strings.HasPrefix(u.Host, "*."):
		p.addStray(base, o, fmt.Sprintf("%s serves it, and %s holds %s", where, state.Holders(by), by.Thing))
	case standing == state.Stray:
		p.addStray(base, o, fmt.Sprintf("%s serves it, and %s holds it", where, state.Holders(by)))
	case c == nil || len(c.Parts) == 0:
		p.addUnclaimed(base, o, u)
	case u.Address.IsValid() && u.SharingKey != c.SharingKey:
		p.add(fill(base, state.SharingKeyMismatch,
			fmt.Sprintf("%s asks for it with the sharing key %s, it is leased for %s", where, u.SharingKey, c.SharingKey),
			"let "+where+" ask with the sharing key of the claim",
			&state.Fix{Do: state.SetSharingKey, Objects: one(o), Value: c.SharingKey}))
	case part == nil:
		p.addUnclaimed(base, o, u)
	case !u.Address.IsValid() && o.Kind != kinds.ProviderHost.Singular:
		if !u.Redirect && !part.LeadsTo(o.Kind, u.Service, u.Port) {
			p.add(fill(base, state.RouteDiffers, routesElsewhere(o, u, part),
				fmt.Sprintf("let %s route it to %s:%d", where, part.Service, part.Port),
				&state.Fix{Do: state.RewriteRoute, Objects: one(o), Part: *part}))
		}
	}
}

// addStray adds an object that serves what its lease does not hold.
func (p *problems) addStray(base state.Problem, o *state.OwnObject, message string) {
	base.Problem, base.Message, base.Plan = state.StrayRoute, message, "delete "+o.String()
	p.addDelete(base, o)
}

// addDelete adds a problem that is fixed by deleting an object. All objects of a lease for one thing are one problem,
// in the order of their deletion.
func (p *problems) addDelete(x state.Problem, o *state.OwnObject) {
	for _, i := range p.of[x.Thing] {
		y := p.found[i]
		if y.Fix.Is(state.DeleteObjects) && y.Problem == x.Problem && y.Lease == x.Lease {
			y.Fix.Objects = append(y.Fix.Objects, o.ObjectRef)
			p.found[i].Plan = y.Plan + " and " + o.String()
			return
		}
	}
	x.Fix = &state.Fix{Do: state.DeleteObjects, Objects: one(o)}
	p.add(x)
}

// claimPlan is the plan of a problem that claiming what is served fixes.
const claimPlan = "claim it for the lease that serves it"

// addUnclaimed adds an object that serves an unclaimed thing. Its lease should claim the thing, unless no lease may
// have it.
func (p *problems) addUnclaimed(base state.Problem, o *state.OwnObject, u state.Use) {
	why := ""
	if !u.Address.IsValid() {
		why = state.RefusedBackend(p.Config, u.Host, o.Lease, u.Service, u.Port)
	}
	if why != "" {
		base.Problem, base.Message = state.BlockedHost, o.String()+" uses it, and it "+why
		base.Plan = "change the configuration, or delete " + o.String()
		p.addDelete(base.ByName(), o)
		return
	}
	if u.Address.IsValid() && !lease.OwnsSharingKey(o.Lease.Owner, u.SharingKey) {
		p.addForeignKey(base, o, u)
		return
	}
	if p.isAbandoned(o, u) {
		p.addAbandoned(base, o)
		return
	}
	kind := state.RouteWithoutClaim
	if u.Address.IsValid() {
		kind = state.UnclaimedAddress
	}
	base.Problem, base.Message = kind, o.String()+" serves it, and nobody has claimed it"
	p.add(p.take(base, o, u.Hold(o)))
}

// checkHostServed finds a ProviderHost without a route, while its lease holds the host, or has transferred it and is to
// serve it until the next apply of the new lease.
func (p *problems) checkHostServed(base state.Problem, o *state.OwnObject) {
	g := o.Lease.Group()
	for _, u := range o.Uses {
		c := p.claims[claimName(u)]
		part := c.Part(u.PartKey(o))
		if part == nil || c.Unreadable != "" || part.Lease.Group() != g && c.ServesFor(g, part.Key, false) == nil {
			continue
		}
		former, _ := part.Former()
		routes := func(v state.Use) bool {
			return v.Kind != kinds.ProviderHost.Singular && !v.Redirect && state.RouteKey(v.Path) == part.Key &&
				(v.Of(part.Lease.Group()) || v.Of(former))
		}
		if !slices.ContainsFunc(p.Uses[u.Host], routes) && !p.isDrifted(part.Lease.Group(), lease.RouteName(c.Thing, part.Path)) {
			base.Thing = c.Thing
			p.addNotServed(base, o, c, part)
		}
	}
}

// isDrifted reports whether somebody has changed the route of a name that a deployment group has: that is the problem then.
func (p *problems) isDrifted(g lease.Group, name string) bool {
	return slices.ContainsFunc(p.objects[g], func(o *state.OwnObject) bool {
		return o.Routing != nil && o.Name == name && p.drifted[o.String()]
	})
}

// checkLeasedIP checks that a claim on an address of the ProviderLeasedIP's endpoint has its port, and that a Service
// exists for it. A ProviderLeasedIP names no address.
func (p *problems) checkLeasedIP(base state.Problem, o *state.OwnObject) {
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	group, key, service := o.Lease.Group(), o.Port.Key(), p.hasService(o)
	for _, c := range p.sharing[o.SharingKey] {
		if part := c.ServesFor(group, key, false); c.Kind == state.Address && part != nil {
			if base.Thing = c.Thing; !p.hasService(o, part.Lease.Group()) {
				p.addNotServed(base, o, c, part)
			}
			return
		}
		if c.Unreadable == "" && o.StandsForPort(c) {
			if base.Thing = c.Thing; !service {
				p.addNotServed(base, o, c, c.Part(key))
			}
			return
		}
	}
	if service || p.hasUnreadable(o.SharingKey) {
		return // the Service was checked
	}
	p.addStray(base, o, fmt.Sprintf("%s stands for a port that its lease does not hold", o))
}

// isServed reports whether an object of the group that depends on the claim serves its thing, or a route that an
// operator created for one does. The group holds parts of the claim, or held them before a transfer.
func (p *problems) isServed(c *state.Claim, g lease.Group, stands []state.ObjectRef) bool {
	uses := p.Uses[c.Thing]
	if c.Kind == state.Address {
		uses = p.AddressUses[c.Addr()]
	}
	return slices.ContainsFunc(stands, func(o state.ObjectRef) bool {
		return o.Kind != kinds.ProviderHost.Singular && o.Kind != kinds.ProviderLeasedIP.Singular
	}) ||
		slices.ContainsFunc(uses, func(u state.Use) bool { return u.Kind != kinds.ProviderHost.Singular && u.Of(g) }) ||
		c.Kind == state.Endpoint && slices.ContainsFunc(p.services[c.SharingKey], func(s state.ServiceObject) bool {
			part := c.Part(state.PortKey(s.Protocol, s.Port))
			return s.Of(g) && part != nil && (part.Lease.Group() == g || part.From == g.String())
		})
}

// addNotServed adds a ProviderHost or ProviderLeasedIP that nothing serves. While the part has the mark of a run, the
// mark is the problem: a run in progress has just written the object.
func (p *problems) addNotServed(base state.Problem, o *state.OwnObject, c *state.Claim, part *state.Part) {
	former := part.Lease.Group() != o.Lease.Group()
	if part.Run != "" || part.Ended(p.Now) || p.Now.Sub(o.Since) < p.CrashedAfter || !former && !p.Namespaces[part.Lease.Namespace()] {
		return // a missing namespace is another problem
	}
	if p.lacks(o) != "" {
		return // that is why
	}
	if former {
		p.addFormerNotServed(base, o, c, part)
		return
	}
	if o.ForOperator {
		p.add(fill(base, state.NotServed,
			fmt.Sprintf("%s is there, but Akash's hostname operator has not routed it: its log and its /ignore-list say why", o),
			fmt.Sprintf("delete %s: the claim stays, and the lease's next apply makes it again", o),
			&state.Fix{Do: state.DeleteObjects, Objects: one(o), Unserved: true, Parts: partOf(c, part)}).ByName())
		return
	}
	if other := p.otherProtocol(o); other != nil {
		x := fill(base, state.NotServed,
			fmt.Sprintf("%s is there, but nothing serves it: Akash's provider declares the other protocol of the port for %s (%s), "+
				"and Akash's IP operator serves one protocol of a port", o, other.Lease.Group(), other),
			"one of the two deployments gives the port up", nil)
		x.Manual, x.Command = true, fmt.Sprintf("kubectl akash-net release %s %s", part.Lease.Group(), state.Typed(c.Thing))
		p.add(x)
		return
	}
	base.Problem = state.NotServed
	base.Message = fmt.Sprintf("%s is there, but nothing serves it: what served it was deleted, or a run did not finish", o)
	p.add(p.byDefinition(base, o.Lease.Group()))
}

// otherProtocol returns the ProviderLeasedIP by which another deployment has the same port number of the endpoint in the
// other protocol, or nil. Akash's IP operator takes the two for one port.
func (p *problems) otherProtocol(o *state.OwnObject) *state.OwnObject {
	other := p.declaration(kinds.ProviderLeasedIP.Singular, "", o.SharingKey, state.OtherProtocol(o.Port.Key()))
	if o.SharingKey == "" || other == nil || !other.HasLease || other.Of(o.Lease.Group()) {
		return nil
	}
	return other
}

// addFormerNotServed adds a ProviderHost or ProviderLeasedIP of the deployment that a part was transferred from. One of
// Akash's operators may still have to serve it: the user decides then.
func (p *problems) addFormerNotServed(base state.Problem, o *state.OwnObject, c *state.Claim, part *state.Part) {
	base.Lease, base.Namespace = part.Lease.String(), part.Lease.Namespace()
	x := fill(base, state.NotServed,
		fmt.Sprintf("%s of deployment %s is there until lease %s is applied, but nothing serves it", o, o.Lease.Group(), part.Lease.Group()),
		fmt.Sprintf("delete %s: the claim stays, and the next apply of its lease makes what serves it", o),
		&state.Fix{Do: state.DeleteObjects, Objects: one(o), Unserved: true, Parts: partOf(c, part)})
	if o.ForOperator || c.Kind == state.Endpoint {
		x = x.ByName()
	}
	p.add(x)
}

func claimName(u state.Use) string {
	if u.Address.IsValid() {
		return state.AddressName(u.Address)
	}
	return state.HostName(u.Host)
}
