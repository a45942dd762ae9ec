package diagnose

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkPooledPort compares a Service or a ProviderLeasedIP with the claim on its IP endpoint, in pool mode, in which
// MetalLB chooses the addresses.
func (p *problems) checkPooledPort(base state.Problem, o *state.OwnObject) {
	group, key := o.Lease.Group(), o.Port.Key()
	base.Thing = o.SharingKey
	c, part := p.portOf(o.SharingKey, key, o.Lease.Group())
	if pooled := p.claims[state.EndpointName(o.SharingKey)]; pooled.ServesFor(group, key, false) != nil {
		if held := pooled.Part(key); o.Kind == kinds.ProviderLeasedIP.Singular && !p.hasService(o, held.Lease.Group()) {
			p.addNotServed(base, o, pooled, held)
		}
		return
	}
	switch {
	case part == nil && p.hasUnreadable(o.SharingKey):
	case part == nil && o.Kind == kinds.ProviderLeasedIP.Singular && !p.hasService(o):
		p.addStray(base, o, fmt.Sprintf("%s stands for a port that its lease does not hold", o))
	case part == nil:
		port := o.Port
		if s := p.portService(o); o.Kind == kinds.ProviderLeasedIP.Singular && s != nil {
			port.Service, port.Port = s.Service, s.ContainerPort // a ProviderLeasedIP does not name the container port
		}
		hold := state.EndpointWant{SharingKey: o.SharingKey, Ports: []state.PortWant{port}}.EndpointHold(o.Lease)
		base.Problem = state.UnclaimedAddress
		base.Message = fmt.Sprintf("%s serves port %s of it, and nobody has claimed the port", o, state.Part{Key: key}.PortText())
		p.add(p.take(base, o, hold))
	case part.Lease.Group() != group:
		p.addStray(base, o, fmt.Sprintf("%s serves port %s of it, and %s holds it", o, part.PortText(), part.Lease.Group()))
	case o.Kind == kinds.ProviderLeasedIP.Singular && !p.hasService(o):
		p.addNotServed(base, o, c, part)
	}
}

// portOf returns the part for a port of an endpoint, on the claim on the endpoint or on one of its addresses. It
// prefers a part of the given group: several groups may hold the same port of an endpoint, each on another address.
func (p *problems) portOf(sharingKey, key string, of lease.Group) (c *state.Claim, part *state.Part) {
	for _, claim := range append([]*state.Claim{p.claims[state.EndpointName(sharingKey)]}, p.byKey[sharingKey]...) {
		held := claim.Part(key)
		if held == nil || claim.Unreadable != "" {
			continue
		}
		if held.Lease.Group() == of {
			return claim, held
		}
		if part == nil {
			c, part = claim, held
		}
	}
	return c, part
}

// hasUnreadable reports whether a claim on an endpoint or one of its addresses cannot be read. The holders of its ports
// are unknown then.
func (p *problems) hasUnreadable(sharingKey string) bool {
	return slices.ContainsFunc(p.sharing[sharingKey], func(c *state.Claim) bool { return c.Kind.HasPorts() && c.Unreadable != "" })
}

// hasService reports whether a Service of its lease, or of one of the groups, serves the port of a ProviderLeasedIP.
func (p *problems) hasService(o *state.OwnObject, groups ...lease.Group) bool {
	return p.portService(o, groups...) != nil
}

// portService returns a Service of its lease, or of one of the groups, that serves the port of a ProviderLeasedIP, or
// nil.
func (p *problems) portService(o *state.OwnObject, groups ...lease.Group) *state.ServiceObject {
	for _, g := range append(groups, o.Lease.Group()) {
		for _, s := range p.ports[groupPort{g, state.PortKey(o.Port.Protocol, o.Port.ExternalPort)}] {
			if s.SharingKey == o.SharingKey || s.Service == o.Port.Service { // another sharing key is another problem
				return s
			}
		}
	}
	return nil
}

// checkDeclared finds objects that serve without their ProviderHost or ProviderLeasedIP, which a purge of Akash's
// provider or somebody else has deleted. Akash's operators leave such an object if they were down at the time, and the
// provider believes that its host or port is free.
func (p *problems) checkDeclared(base state.Problem, o *state.OwnObject) {
	var c *state.Claim
	var part *state.Part
	kind, key := kinds.ProviderHost.Singular, state.RouteKey("/")
	if o.Kind == "service" {
		kind, key, base.Thing = kinds.ProviderLeasedIP.Singular, o.Port.Key(), o.SharingKey
		c, part = p.portOf(o.SharingKey, key, o.Lease.Group())
		if c != nil {
			base.Thing = c.Thing
		}
	} else {
		if len(o.Uses) != 1 || o.Uses[0].Path != "/" || o.Uses[0].Redirect {
			return
		}
		base.Thing = o.Uses[0].Host
		c = p.claims[claimName(o.Uses[0])]
		part = c.Part(key)
	}
	if c != nil && c.Unreadable != "" || part == nil && o.SharingKey != "" && p.hasUnreadable(o.SharingKey) {
		return
	}
	d := p.declaration(kind, base.Thing, o.SharingKey, key)
	if part == nil && d == nil && !o.Ours && p.Now.Sub(o.Since) >= p.CrashedAfter {
		p.add(fill(base, state.NotDeclared, fmt.Sprintf("%s serves it without a claim or a %s. %s", o, kind, operatorWasDown(o, kind)),
			"delete "+o.String(), reject(o, base.Thing)).ByName())
		return
	}
	if part == nil || part.Run != "" || part.Lease.Group() != o.Lease.Group() || !o.Ours && p.Now.Sub(o.Since) < p.CrashedAfter {
		return
	}
	// A declaration of another lease is Akash's migration, which is another problem.
	if d != nil && (d.Of(o.Lease.Group()) || slices.Contains(d.MovedFrom, o.Lease.Group())) {
		return
	}
	base.Problem, base.Message = state.NotDeclared, fmt.Sprintf(
		"%s serves it, but its %s is gone: Akash's provider has purged it, or somebody has deleted it", o, kind)
	if o.Ours {
		p.add(p.byDefinition(base, o.Lease.Group()))
		return
	}
	base.Message += ". Its operator was down then, and will not delete what it created"
	base.Plan = fmt.Sprintf("delete %s: the claim stays, and the lease's next apply or release goes on", o)
	rejected := reject(o, base.Thing)
	rejected.Parts = partOf(c, part)
	base.Fix = rejected
	p.add(base.ByName())
}

// checkOperated checks a route or a Service that Akash's operators created for a lease.
func (p *problems) checkOperated(base state.Problem, o *state.OwnObject) {
	if o.Kind == "service" || o.Kind == kinds.ProviderLeasedIP.Singular {
		c, part := p.portOf(o.SharingKey, o.Port.Key(), o.Lease.Group())
		switch {
		case part == nil || part.Run != "":
		case p.claims[state.EndpointName(o.SharingKey)].ServesFor(o.Lease.Group(), part.Key, false) != nil:
			p.addForgotten(base, o, o.SharingKey, o.Port.Key(), part)
			return
		case part.Lease.Group() != o.Lease.Group():
			p.addMovedByAkash(base, o, o.SharingKey, c, part)
		case o.Kind == kinds.ProviderLeasedIP.Singular: // what it declares is up to Akash's provider
		case part.Service != o.Port.Service || part.Port != o.Port.Port:
			base.Thing = o.SharingKey
			d := p.declaration(kinds.ProviderLeasedIP.Singular, "", o.SharingKey, part.Key)
			p.addLeadsElsewhere(base, o, d, state.Use{Service: o.Port.Service, Port: o.Port.Port}, part)
		}
		if o.Kind == "service" {
			p.checkDeclared(base, o)
		}
		return
	}
	for _, u := range o.Uses {
		c := p.claims[claimName(u)]
		part := c.Part(state.RouteKey(u.Path))
		switch {
		case part == nil || c.Unreadable != "" || part.Run != "" ||
			o.Kind == kinds.ProviderHost.Singular && o.Of(part.Lease.Group()):
		case c.ServesFor(o.Lease.Group(), part.Key, u.Redirect) != nil:
			p.addForgotten(base, o, u.Host, part.Key, part)
			return
		case part.Lease.Group() != o.Lease.Group():
			p.addMovedByAkash(base, o, u.Host, c, part)
		case !part.LeadsTo(o.Kind, u.Service, u.Port):
			base.Thing = u.Host
			p.addLeadsElsewhere(base, o, p.declaration(kinds.ProviderHost.Singular, u.Host, "", part.Key), u, part)
		}
	}
	if o.Kind != kinds.ProviderHost.Singular {
		p.checkDeclared(base, o)
	}
}

// addForgotten adds an operator's object that serves another lease after a transfer, if the operator will never remove
// it: it is no longer declared, because an interrupted release or a purge has deleted its ProviderHost or
// ProviderLeasedIP, or the operator has made another for the new lease.
func (p *problems) addForgotten(base state.Problem, o *state.OwnObject, thing, key string, part *state.Part) {
	kind := kinds.ProviderHost.Singular
	if o.Kind == "service" {
		kind = kinds.ProviderLeasedIP.Singular
	}
	if o.Kind == kind {
		return
	}
	base.Thing = thing
	switch d := p.declaration(kind, thing, o.SharingKey, key); {
	case d != nil && d.Of(part.Lease.Group()) && p.servesPart(thing, key, part.Lease.Group()):
		p.addLeftBehind(base, o, kind, part)
	case d == nil && p.Now.Sub(o.Since) >= p.CrashedAfter:
		message := fmt.Sprintf("%s serves it for %s since a transfer, but its %s is gone. %s",
			o, part.Lease.Group(), kind, operatorWasDown(o, kind))
		p.add(fill(base, state.NotDeclared, message, fmt.Sprintf("delete %s: the claim stays", o), reject(o, thing)).ByName())
	}
}

// addNotCaughtUp adds an object that an operator created and has not updated since the claim changed.
func (p *problems) addNotCaughtUp(base state.Problem, o *state.OwnObject, message string) {
	p.add(fill(base, state.RouteDiffers,
		message+". Akash's operator has made it, and has not caught up: its log and its /ignore-list say why",
		fmt.Sprintf("start the operator, or restart it: it then writes every %s anew; without it, delete %s: the lease's next apply waits for a new one", o.Kind, o),
		&state.Fix{Do: state.Reject, Objects: one(o), Group: o.Lease.Group()}).ByName())
}

// addMovedByAkash adds something that Akash's provider has moved to another deployment than the claim's holder. What
// the provider wrote stays its own: either the claim follows, or the provider moves it back. If the provider has moved
// the declaration that this program wrote for the holder to a lease of the same owner, the provider's state is the
// later one.
func (p *problems) addMovedByAkash(base state.Problem, o *state.OwnObject, thing string, c *state.Claim, part *state.Part) {
	kind := kinds.ProviderHost.Singular
	if c.Kind.HasPorts() {
		kind = kinds.ProviderLeasedIP.Singular
	}
	d := p.declaration(kind, thing, o.SharingKey, part.Key)
	follows := d != nil && d.Takes(*part)
	base.Problem, base.Thing = state.StrayRoute, thing
	if d != nil && d.Of(part.Lease.Group()) && o.Kind != kind {
		if p.servesPart(thing, part.Key, part.Lease.Group()) {
			p.addLeftBehind(base, o, kind, part)
			return
		}
		base.Manual, base.Plan = true, "start the operator, or restart it: it then moves it"
		base.Command = "kubectl -n akash-services get deployments"
		base.Message = fmt.Sprintf("%s serves it, and %s holds it and has its %s. "+
			"Akash's operator has not caught up: its log and its /ignore-list say why", o, part.Lease.Group(), kind)
		p.add(base)
		return
	}
	if !follows && o.Kind != kind && (d == nil || !d.Of(o.Lease.Group())) && p.Now.Sub(o.Since) >= p.CrashedAfter {
		p.addLeftByOperator(base, o, kind, part)
		return
	}
	isSame := func(x state.Problem) bool { // objects to delete are another problem
		return x.Problem == state.StrayRoute && !x.Fix.Is(state.DeleteObjects) && !x.Fix.Is(state.Reject)
	}
	if at := slices.IndexFunc(p.of[thing], func(i int) bool { return isSame(p.found[i]) }); at >= 0 {
		i := p.of[thing][at]
		m := p.found[i].Fix
		if m.Is(state.Follow) && follows && m.Parts.Claim == c && m.Parts.Group == part.Lease.Group() &&
			p.found[i].Lease == d.Lease.String() && !m.Parts.Has(*part) {
			m.Objects, m.Parts.Keys = append(m.Objects, d.ObjectRef), append(m.Parts.Keys, part.Key)
		}
		return
	}
	if follows {
		base.Lease, base.Namespace = d.Lease.String(), d.Lease.Namespace()
		p.add(fill(base, state.StrayRoute,
			fmt.Sprintf("Akash's provider declares it for %s (%s), and %s holds it", d.Lease.Group(), d, part.Lease.Group()),
			"let the claim follow to "+d.Lease.Group().String(),
			&state.Fix{Do: state.Follow, Parts: partOf(c, part), Objects: one(d)}))
		return
	}
	base.Manual = true
	base.Message = fmt.Sprintf("%s serves it, which Akash's provider or its operator wrote, and %s holds it", o, part.Lease.Group())
	base.Plan = "let the claim follow"
	base.Command = fmt.Sprintf("kubectl akash-net transfer %s --to %s", state.Typed(thing), o.Lease)
	if part.Lease.Owner != o.Lease.Owner {
		base.Plan = "two owners want it: one of them releases it"
		base.Command = fmt.Sprintf("kubectl akash-net release %s %s", part.Lease.Group(), state.Typed(thing))
	}
	p.add(base)
}

// addLeftByOperator adds an object that an operator of Akash's created and left when its declaration was deleted.
func (p *problems) addLeftByOperator(base state.Problem, o *state.OwnObject, kind string, part *state.Part) {
	base.Message = fmt.Sprintf("%s serves it, but %s holds it and its %s is gone. %s",
		o, part.Lease.Group(), kind, operatorWasDown(o, kind))
	p.addRejected(base, o)
}

// operatorWasDown explains why an operator left the object when the declaration of the kind was deleted.
func operatorWasDown(o *state.OwnObject, kind string) string {
	return fmt.Sprintf("Akash's operator created the %[1]s, was down when the %[2]s was deleted, and will not delete the %[1]s",
		o.Kind, kind)
}

// reject returns the repair that deletes an object as long as nothing declares what it serves.
func reject(o *state.OwnObject, thing string) *state.Fix {
	return &state.Fix{Do: state.Reject, Objects: one(o), Undeclared: o.DeclaredAs(thing), Group: o.Lease.Group()}
}

func one(o *state.OwnObject) []state.ObjectRef { return []state.ObjectRef{o.ObjectRef} }

// routesElsewhere describes a route whose backend is not the claimed one.
func routesElsewhere(o *state.OwnObject, u state.Use, part *state.Part) string {
	return fmt.Sprintf("%s routes it to %s:%d, the claim says %s:%d", o, u.Service, u.Port, part.Service, part.Port)
}
