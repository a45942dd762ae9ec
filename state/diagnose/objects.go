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

// checkOwn compares what an object that this program wrote serves or declares with what its lease holds.
func (p *problems) checkOwn(base state.Problem, o *state.OwnObject) {
	pooled := p.w.Config.IP.Mode == config.ModePool
	if isPort(o) && pooled {
		p.checkPooled(base, p.w.portRow(o))
	}
	if o.ByOperators && !p.drifted[o.String()] {
		p.addAll(notDeclared(p.w, base, o)...)
	}
	p.addAll(lostMarks(p.w, base, o)...)
	if p.drifted[o.String()] {
		return
	}
	for _, u := range o.Uses {
		if u.Granted && slices.ContainsFunc(o.Uses, func(v state.Use) bool { return !v.Granted && v.Address == u.Address }) {
			continue // the use that asks for the address is checked
		}
		if len(p.w.elsewhere(o.Lease.Group(), u, u.PartKey(o))) > 0 || u.Address.IsValid() && pooled {
			continue // it asks for another address than the claimed one, or was compared with the endpoint
		}
		p.checkUse(base, p.w.row(o, u), u)
	}
	switch {
	case o.Kind == kinds.ProviderHost.Singular:
		p.checkHostServed(base, o)
	case o.Kind == kinds.ProviderLeasedIP.Singular && !pooled:
		p.checkLeasedIP(base, o)
	}
}

// checkUse compares what an object serves with the part of the claim that entitles it.
func (p *problems) checkUse(base state.Problem, r row, u state.Use) {
	o, c := r.o, r.claim
	base.Thing = r.thing
	part := r.part
	if own := c.PartsOf(o.Lease.Group()); part == nil && u.Redirect && len(own) > 0 {
		part = &own[0] // a redirect belongs to any part that the lease holds of the host
	}
	served := state.Served{Group: o.Lease.Group(), Key: r.key, SharingKey: u.SharingKey, Redirect: u.Redirect}
	switch standing, by := served.Standing(c, p.w.claims[state.HostName(state.WildcardOver(u.Host))]); {
	case r.former != nil: // until the next apply of the holder
	case standing == state.Unknown:
	case standing == state.Stray && by.Kind == state.Wildcard && !strings.HasPrefix(u.Host, "*."):
		p.join(stray(base, o, fmt.Sprintf("%s serves it, and %s holds %s", o, state.Holders(by), by.Thing)))
	case standing == state.Stray:
		p.join(stray(base, o, fmt.Sprintf("%s serves it, and %s holds it", o, state.Holders(by))))
	case c == nil || len(c.Parts) == 0:
		p.join(unclaimed(p.w, base, o, u))
	case u.Address.IsValid() && u.SharingKey != c.SharingKey:
		p.add(fill(base, state.SharingKeyMismatch,
			fmt.Sprintf("%s asks for it with the sharing key %s, it is leased for %s", o, u.SharingKey, c.SharingKey),
			"let "+o.String()+" ask with the sharing key of the claim", &state.Fix{Do: state.SetSharingKey, Objects: one(o), Value: c.SharingKey}))
	case part == nil:
		p.join(unclaimed(p.w, base, o, u))
	case !u.Address.IsValid() && !declares(o.Kind) && !u.Redirect && !part.LeadsTo(o.Kind, u.Service, u.Port):
		p.add(fill(base, state.RouteDiffers, r.leads(o),
			fmt.Sprintf("let %s route it to %s:%d", o, part.Service, part.Port), &state.Fix{Do: state.RewriteRoute, Objects: one(o), Part: *part}))
	}
}

// leads describes an object, the row's or what declares it, whose backend is not the claimed one.
func (r row) leads(o *state.OwnObject) string {
	what := "routes it"
	if o.Kind == kinds.ProviderLeasedIP.Singular || r.o.Kind == kinds.Service.Singular {
		what = fmt.Sprintf("leads port %s of it", r.part.PortText())
	}
	return fmt.Sprintf("%s %s to %s:%d, the claim says %s:%d", o, what, r.service, r.port, r.part.Service, r.part.Port)
}

// stray is the problem of an object that serves what its lease does not hold.
func stray(base state.Problem, o *state.OwnObject, message string) state.Problem {
	return fill(base, state.StrayRoute, message, "delete "+o.String(), &state.Fix{Do: state.DeleteObjects, Objects: one(o)})
}

// unclaimed is the problem of an object that serves an unclaimed thing. Its lease should claim the thing, unless no lease may
// have it.
func unclaimed(w *World, base state.Problem, o *state.OwnObject, u state.Use) state.Problem {
	why, deleted := "", &state.Fix{Do: state.DeleteObjects, Objects: one(o)}
	if !u.Address.IsValid() {
		why = state.RefusedBackend(w.Config, u.Host, o.Lease, u.Service, u.Port)
	}
	switch {
	case why != "":
		return fill(base, state.BlockedHost, o.String()+" uses it, and it "+why, "change the configuration, or delete "+o.String(), deleted).ByName()
	case u.Address.IsValid() && !lease.OwnsSharingKey(o.Lease.Owner, u.SharingKey): // no claim of its lease can be for that
		return byHand(base, state.AddressSquatted, fmt.Sprintf("%s, with the sharing key %q, which is not one of its owner", u.Takes("it"), u.SharingKey),
			fmt.Sprintf("take the address out of %s, or delete it: nobody has claimed it, and repair leaves it", o), u.Edit())
	case isAbandoned(w, o, u): // nobody can tell whether a release has left it behind or the claim was lost
		return fill(base, state.LostMarks, fmt.Sprintf("%s serves it, nobody has claimed it, and the object has lost its %s", o, strings.Join(o.Lost, " and its ")),
			"apply the definition of its lease, which claims it again, or delete "+o.String(), deleted).ByName()
	}
	kind := state.RouteWithoutClaim
	if u.Address.IsValid() {
		kind = state.UnclaimedAddress
	}
	return take(w, fill(base, kind, o.String()+" serves it, and nobody has claimed it", "", nil), o, u.Hold(o))
}

// take returns a problem of an object that serves what nobody has claimed: its lease claims it, unless the definition that the ledger keeps
// of the lease does not have it, or the object is named after something else. Then somebody has changed the object, or it is of another
// definition.
func take(w *World, x state.Problem, o *state.OwnObject, hold state.Hold) state.Problem {
	thing, named := hold.Thing, true
	if hold.Kind.HasPorts() {
		thing = hold.SharingKey
	}
	a, why := w.asked(o.Lease.Group()), ""
	for _, part := range hold.Parts {
		if o.Routing != nil {
			route := lease.RouteName(hold.Thing, part.Path)
			named = o.Name == route || o.Name == lease.RedirectName(route)
		}
		switch {
		case a != nil && !a.parts[[2]string{thing, part.Key}]:
			why = "the definition that the ledger keeps of its lease does not have it"
		case !named:
			why = "the object is named after another route"
		}
	}
	if why != "" {
		x.Message += "; " + why + ", so it is not claimed"
		x = x.ByDefinition(o.Lease.Group())
		x.Plan = "apply a definition that has it, or delete " + o.String()
		return x
	}
	x.Plan, x.Fix = claimPlan, &state.Fix{Do: state.Take, Hold: hold, Objects: one(o)}
	return x
}

// isAbandoned reports whether the object uses an unclaimed thing and has lost its annotation.
func isAbandoned(w *World, o *state.OwnObject, u state.Use) bool {
	if u.Address.IsValid() && w.Config.IP.Mode == config.ModePool {
		return false
	}
	c := w.claims[claimName(u)]
	return (c == nil || len(c.Parts) == 0) && slices.Contains(o.Lost, state.MarkAnnotation) && !o.Kept
}

// lostMarks finds an object of this program that has lost marks. Objects that Akash's operators maintain need none: an
// operator takes the annotation away whenever it starts, and if it changes nothing else, no managed field tells of it.
func lostMarks(w *World, base state.Problem, o *state.OwnObject) []state.Problem {
	if len(o.Lost) == 0 || o.Kept || o.ByProvider && slices.Equal(o.Lost, []string{state.MarkAnnotation}) ||
		slices.ContainsFunc(o.Uses, func(u state.Use) bool { return isAbandoned(w, o, u) }) {
		return nil
	}
	return []state.Problem{fill(base, state.LostMarks,
		fmt.Sprintf("%s has lost its %s: somebody has written over it", o, strings.Join(o.Lost, " and its ")),
		"write them again", &state.Fix{Do: state.RestoreMarks, Objects: one(o), Group: o.Lease.Group(), Value: w.hash(o.Lease)})}
}

// checkHostServed finds a ProviderHost without a route, while its lease holds the host, or has transferred it and is to
// serve it until the next apply of the new lease.
func (p *problems) checkHostServed(base state.Problem, o *state.OwnObject) {
	g := o.Lease.Group()
	for _, r := range p.w.rows(o) {
		if r.part == nil || r.claim.Unreadable != "" || r.part.Lease.Group() != g && r.claim.ServesFor(g, r.key, false) == nil {
			continue
		}
		holder, name := r.part.Lease.Group(), lease.RouteName(r.claim.Thing, r.part.Path)
		former, _ := r.part.Former()
		drifted := func(o *state.OwnObject) bool { return o.Routing != nil && o.Name == name && p.drifted[o.String()] } // that is the problem then
		routes := func(v state.Use) bool { return serves(v, r.key) && (v.Of(holder) || v.Of(former)) }
		if !slices.ContainsFunc(p.w.Uses[r.thing], routes) && !slices.ContainsFunc(p.w.of(holder).objects, drifted) {
			base.Thing = r.claim.Thing
			p.addAll(notServed(p.w, base, o, r.claim, r.part)...)
		}
	}
}

// checkLeasedIP checks that a claim on an address of the ProviderLeasedIP's endpoint has its port, and that a Service
// exists for it. A ProviderLeasedIP names no address.
func (p *problems) checkLeasedIP(base state.Problem, o *state.OwnObject) {
	key := o.Port.Key()
	for _, c := range p.w.sharing[o.SharingKey] {
		part := c.Part(key)
		if former := c.ServesFor(o.Lease.Group(), key, false); former != nil && c.Kind == state.Address {
			part = former
		} else if c.Unreadable != "" || !o.StandsForPort(c) {
			continue
		}
		if base.Thing = c.Thing; p.w.service(o, part.Lease.Group()) == nil {
			p.addAll(notServed(p.w, base, o, c, part)...)
		}
		return
	}
	if p.w.service(o) == nil && !p.w.isUnknown(o.SharingKey) { // a Service was checked
		p.join(stray(base, o, fmt.Sprintf("%s stands for a port that its lease does not hold", o)))
	}
}

// checkPooled compares a Service or a ProviderLeasedIP with the claim on its IP endpoint, in pool mode, in which
// MetalLB chooses the addresses.
func (p *problems) checkPooled(base state.Problem, r row) {
	o, declares := r.o, declares(r.o.Kind)
	base.Thing = o.SharingKey
	if r.former != nil {
		pooled := p.w.claims[state.EndpointName(o.SharingKey)]
		if held := pooled.Part(r.key); declares && p.w.service(o, held.Lease.Group()) == nil {
			p.addAll(notServed(p.w, base, o, pooled, held)...)
		}
		return
	}
	s := p.w.service(o)
	switch {
	case r.part == nil && p.w.isUnknown(o.SharingKey):
	case r.part == nil && declares && s == nil:
		p.join(stray(base, o, fmt.Sprintf("%s stands for a port that its lease does not hold", o)))
	case r.part == nil:
		port := o.Port
		if declares {
			port.Service, port.Port = s.Service, s.ContainerPort // a ProviderLeasedIP does not name the container port
		}
		hold := state.EndpointWant{SharingKey: o.SharingKey, Ports: []state.PortWant{port}}.EndpointHold(o.Lease)
		message := fmt.Sprintf("%s serves port %s of it, and nobody has claimed the port", o, state.Part{Key: r.key}.PortText())
		p.join(take(p.w, fill(base, state.UnclaimedAddress, message, "", nil), o, hold))
	case r.part.Lease.Group() != o.Lease.Group():
		p.join(stray(base, o, fmt.Sprintf("%s serves port %s of it, and %s holds it", o, r.part.PortText(), r.part.Lease.Group())))
	case declares && s == nil:
		p.addAll(notServed(p.w, base, o, r.claim, r.part)...)
	}
}

// notServed finds a ProviderHost or ProviderLeasedIP that nothing serves. While the part has the mark of a run, the
// mark is the problem: a run in progress has just written the object. One of the deployment that a part was transferred from may still be
// for one of Akash's operators to serve: the user decides then.
func notServed(w *World, base state.Problem, o *state.OwnObject, c *state.Claim, part *state.Part) []state.Problem {
	former := part.Lease.Group() != o.Lease.Group()
	if part.Run != "" || part.Ended(w.Now) || w.Now.Sub(o.Since) < w.CrashedAfter || !former && !w.Namespaces[part.Lease.Namespace()] || w.lacks(o) != "" {
		return nil // a missing namespace, and what the operator lacks, are other problems
	}
	deleted := &state.Fix{Do: state.DeleteObjects, Objects: one(o), Unserved: true, Parts: partOf(c, part)}
	other := otherProtocol(w, o)
	var x state.Problem
	switch {
	case former:
		base.Lease, base.Namespace = part.Lease.String(), part.Lease.Namespace()
		x = fill(base, state.NotServed,
			fmt.Sprintf("%s of deployment %s is there until lease %s is applied, but nothing serves it", o, o.Lease.Group(), part.Lease.Group()),
			fmt.Sprintf("delete %s: the claim stays, and the next apply of its lease makes what serves it", o), deleted)
		if o.ForOperator || c.Kind == state.Endpoint {
			x = x.ByName()
		}
	case o.ForOperator:
		x = fill(base, state.NotServed,
			fmt.Sprintf("%s is there, but Akash's hostname operator has not routed it: its log and its /ignore-list say why", o),
			fmt.Sprintf("delete %s: the claim stays, and the lease's next apply makes it again", o), deleted).ByName()
	case other != nil:
		x = byHand(base, state.NotServed,
			fmt.Sprintf("%s is there, but nothing serves it: Akash's provider declares the other protocol of the port for %s (%s), "+
				"and Akash's IP operator serves one protocol of a port", o, other.Lease.Group(), other),
			"one of the two deployments gives the port up", fmt.Sprintf("kubectl akash-net release %s %s", part.Lease.Group(), state.Typed(c.Thing)))
	default:
		message := fmt.Sprintf("%s is there, but nothing serves it: what served it was deleted, or a run did not finish", o)
		x = healed(w, fill(base, state.NotServed, message, "", nil), o.Lease.Group())
	}
	return []state.Problem{x}
}

// otherProtocol returns the ProviderLeasedIP by which another deployment has the same port number of the endpoint in the
// other protocol, or nil. Akash's IP operator takes the two for one port.
func otherProtocol(w *World, o *state.OwnObject) *state.OwnObject {
	if o.SharingKey == "" {
		return nil
	}
	other := w.declarations[[2]string{o.SharingKey, state.OtherProtocol(o.Port.Key())}]
	if other == nil || !other.HasLease || other.Of(o.Lease.Group()) {
		return nil
	}
	return other
}

// notDeclared finds objects that serve without their ProviderHost or ProviderLeasedIP, which a purge of Akash's
// provider or somebody else has deleted. Akash's operators leave such an object if they were down at the time, and the
// provider believes that its host or port is free.
func notDeclared(w *World, base state.Problem, o *state.OwnObject) []state.Problem {
	if !isPort(o) && (len(o.Uses) != 1 || o.Uses[0].Path != "/" || o.Uses[0].Redirect) {
		return nil
	}
	r := w.rows(o)[0]
	if base.Thing = r.thing; isPort(o) && r.claim != nil {
		base.Thing = r.claim.Thing
	}
	lately, g := w.Now.Sub(o.Since) < w.CrashedAfter, o.Lease.Group()
	switch {
	case r.claim != nil && r.claim.Unreadable != "" || r.part == nil && o.SharingKey != "" && w.isUnknown(o.SharingKey):
	case r.part == nil && r.declared == nil && !o.Ours && !lately:
		return []state.Problem{fill(base, state.NotDeclared, fmt.Sprintf("%s serves it without a claim or a %s. %s", o, r.made, r.operatorWasDown()),
			"delete "+o.String(), reject(o, base.Thing)).ByName()}
	case r.part == nil || r.part.Run != "" || r.part.Lease.Group() != g || !o.Ours && lately:
	case r.declared != nil && (r.declared.Of(g) || slices.Contains(r.declared.MovedFrom, g)):
		// A declaration of another lease is Akash's migration, which is another problem.
	default:
		message := fmt.Sprintf("%s serves it, but its %s is gone: Akash's provider has purged it, or somebody has deleted it", o, r.made)
		if o.Ours {
			return []state.Problem{healed(w, fill(base, state.NotDeclared, message, "", nil), g)}
		}
		rejected := reject(o, base.Thing)
		rejected.Parts = partOf(r.claim, r.part)
		return []state.Problem{fill(base, state.NotDeclared, message+". Its operator was down then, and will not delete what it created",
			fmt.Sprintf("delete %s: the claim stays, and the lease's next apply or release goes on", o), rejected).ByName()}
	}
	return nil
}

// operatorWasDown explains why an operator left the object when its declaration was deleted.
func (r row) operatorWasDown() string {
	return fmt.Sprintf("Akash's operator created the %[1]s, was down when the %[2]s was deleted, and will not delete the %[1]s", r.o.Kind, r.made)
}

// reject returns the repair that deletes an object as long as nothing declares what it serves.
func reject(o *state.OwnObject, thing string) *state.Fix {
	return &state.Fix{Do: state.Reject, Objects: one(o), Undeclared: o.DeclaredAs(thing), Group: o.Lease.Group()}
}

// checkOperated checks a route or a Service that Akash's operators created for a lease, or what Akash's provider declares.
func (p *problems) checkOperated(base state.Problem, o *state.OwnObject) {
	for _, r := range p.w.rows(o) {
		base := base
		base.Thing = r.thing
		leads := r.part != nil && r.part.LeadsTo(o.Kind, r.service, r.port)
		if isPort(o) && r.part != nil {
			leads = r.part.Service == r.service && r.part.Port == r.port
		}
		switch {
		case r.part == nil || r.claim.Unreadable != "" || r.part.Run != "":
		case declares(o.Kind) && o.Of(r.part.Lease.Group()): // what it declares is up to Akash's provider
		case r.former != nil:
			p.checkForgotten(base, r)
			return
		case !o.Of(r.part.Lease.Group()):
			p.checkMoved(base, r)
		case !leads:
			p.addAll(leadsElsewhere(p.w, base, r)...)
		}
	}
	if !declares(o.Kind) {
		p.addAll(notDeclared(p.w, base, o)...)
	}
}

// leadsElsewhere finds an object of an operator that leads to another backend than the claim says. If its declaration
// says the same, the operator has caught up: a tenant's update by Akash's provider is no problem, and what somebody else
// has written over a declaration of this program is.
func leadsElsewhere(w *World, base state.Problem, r row) []state.Problem {
	o, d := r.o, r.declared
	switch {
	case d == nil || !d.Of(o.Lease.Group()) || !d.Declares(r.service, r.port):
		return []state.Problem{fill(base, state.RouteDiffers,
			r.leads(o)+". Akash's operator has made it, and has not caught up: its log and its /ignore-list say why",
			fmt.Sprintf("start the operator, or restart it: it then writes every %s anew; without it, delete %s: the lease's next apply waits for a new one", o.Kind, o),
			&state.Fix{Do: state.Reject, Objects: one(o), Group: o.Lease.Group()}).ByName()}
	case d.Ours && !d.Shared:
		base.Namespace = d.Namespace
		return []state.Problem{healed(w, fill(base, state.RouteDiffers, r.leads(d), "", nil), d.Lease.Group())}
	}
	return nil
}

// checkForgotten finds an operator's object that serves another lease after a transfer, if the operator will never remove
// it: it is no longer declared, because an interrupted release or a purge has deleted its ProviderHost or
// ProviderLeasedIP, or the operator has made another for the new lease.
func (p *problems) checkForgotten(base state.Problem, r row) {
	o, holder := r.o, r.part.Lease.Group()
	switch d := r.declared; {
	case declares(o.Kind):
	case d != nil && d.Of(holder) && p.w.servesPart(r.thing, r.key, holder):
		p.addLeftBehind(base, r)
	case d == nil && p.w.Now.Sub(o.Since) >= p.w.CrashedAfter:
		message := fmt.Sprintf("%s serves it for %s since a transfer, but its %s is gone. %s", o, holder, r.made, r.operatorWasDown())
		p.add(fill(base, state.NotDeclared, message, fmt.Sprintf("delete %s: the claim stays", o), reject(o, r.thing)).ByName())
	}
}

// addLeftBehind adds an object that an operator created for the former lease of what the holder now declares. One that
// was down when it changed hands never removes it.
func (p *problems) addLeftBehind(base state.Problem, r row) {
	p.addRejected(base, r.o, fmt.Sprintf("%s serves it, and %s holds it, has its %s and serves it too. "+
		"Akash's operator removes the former %s; one that was down when it changed hands never does", r.o, r.part.Lease.Group(), r.made, r.o.Kind))
}

// addRejected adds an object that is deleted when the user names it. Each object is its own problem: two ports of an
// endpoint have two Services. It is one, whichever of its paths it was found for.
func (p *problems) addRejected(base state.Problem, o *state.OwnObject, message string) {
	if !p.rejected[o.ObjectRef] {
		p.rejected[o.ObjectRef] = true
		p.add(fill(base, state.StrayRoute, message, "delete "+o.String(), reject(o, base.Thing)).ByName())
	}
}

// checkMoved finds something that Akash's provider has moved to another deployment than the claim's holder. What
// the provider wrote stays its own: either the claim follows, or the provider moves it back. If the provider has moved
// the declaration that this program wrote for the holder to a lease of the same owner, the provider's state is the
// later one.
func (p *problems) checkMoved(base state.Problem, r row) {
	o, d, holder, declares := r.o, r.declared, r.part.Lease.Group(), declares(r.o.Kind)
	follows := d != nil && d.Takes(*r.part)
	switch {
	case d != nil && d.Of(holder) && !declares:
		if p.w.servesPart(r.thing, r.key, holder) {
			p.addLeftBehind(base, r)
			return
		}
		p.add(byHand(base, state.StrayRoute, fmt.Sprintf("%s serves it, and %s holds it and has its %s. "+
			"Akash's operator has not caught up: its log and its /ignore-list say why", o, holder, r.made),
			"start the operator, or restart it: it then moves it", "kubectl -n akash-services get deployments"))
		return
	case !follows && !declares && (d == nil || !d.Of(o.Lease.Group())) && p.w.Now.Sub(o.Since) >= p.w.CrashedAfter:
		p.addRejected(base, o, fmt.Sprintf("%s serves it, but %s holds it and its %s is gone. %s", o, holder, r.made, r.operatorWasDown()))
		return
	}
	same := p.has(r.thing, func(x state.Problem) bool { // objects to delete are another problem
		return x.Problem == state.StrayRoute && !x.Fix.Is(state.DeleteObjects) && !x.Fix.Is(state.Reject)
	})
	switch {
	case same != nil && follows && same.Fix.Is(state.Follow) && same.Fix.Parts.Claim == r.claim && same.Fix.Parts.Group == holder &&
		same.Lease == d.Lease.String() && !same.Fix.Parts.Has(*r.part):
		same.Fix.Objects, same.Fix.Parts.Keys = append(same.Fix.Objects, d.ObjectRef), append(same.Fix.Parts.Keys, r.key)
	case same != nil:
	case follows:
		base.Lease, base.Namespace = d.Lease.String(), d.Lease.Namespace()
		p.add(fill(base, state.StrayRoute, fmt.Sprintf("Akash's provider declares it for %s (%s), and %s holds it", d.Lease.Group(), d, holder),
			"let the claim follow to "+d.Lease.Group().String(), &state.Fix{Do: state.Follow, Parts: partOf(r.claim, r.part), Objects: one(d)}))
	default:
		plan, command := "let the claim follow", fmt.Sprintf("kubectl akash-net transfer %s --to %s", state.Typed(r.thing), o.Lease)
		if r.part.Lease.Owner != o.Lease.Owner {
			plan, command = "two owners want it: one of them releases it", fmt.Sprintf("kubectl akash-net release %s %s", holder, state.Typed(r.thing))
		}
		p.add(byHand(base, state.StrayRoute, fmt.Sprintf("%s serves it, which Akash's provider or its operator wrote, and %s holds it", o, holder), plan, command))
	}
}
