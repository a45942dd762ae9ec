package diagnose

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// servesPart reports whether a route or a Service of the group serves the path of a host or the port of an endpoint.
func (p *problems) servesPart(thing, key string, g lease.Group) bool {
	return slices.ContainsFunc(p.services[thing], func(s state.ServiceObject) bool {
		return s.Of(g) && state.PortKey(s.Protocol, s.Port) == key
	}) || slices.ContainsFunc(p.Uses[thing], func(u state.Use) bool {
		return u.Kind != kinds.ProviderHost.Singular && !u.Redirect && u.Of(g) && state.RouteKey(u.Path) == key
	})
}

// addLeadsElsewhere adds an object of an operator that leads to another backend than the claim says. If its declaration d
// says the same, the operator has caught up: a tenant's update by Akash's provider is no problem, and what somebody else
// has written over a declaration of this program is.
func (p *problems) addLeadsElsewhere(base state.Problem, o, d *state.OwnObject, u state.Use, part *state.Part) {
	elsewhere := func(o *state.OwnObject) string { return routesElsewhere(o, u, part) }
	if o.Kind == "service" {
		elsewhere = func(o *state.OwnObject) string {
			return fmt.Sprintf("%s leads port %s of it to %s:%d, the claim says %s:%d", o, part.PortText(), u.Service, u.Port, part.Service, part.Port)
		}
	}
	switch {
	case d == nil || !d.Of(o.Lease.Group()) || !d.Declares(u.Service, u.Port):
		p.addNotCaughtUp(base, o, elsewhere(o))
	case d.Ours && !d.Shared:
		base.Problem, base.Message, base.Namespace = state.RouteDiffers, elsewhere(d), d.Namespace
		p.add(p.byDefinition(base, d.Lease.Group()))
	}
}

// addLeftBehind adds an object that an operator created for the former lease of what the holder now declares. One that
// was down when it changed hands never removes it.
func (p *problems) addLeftBehind(base state.Problem, o *state.OwnObject, kind string, part *state.Part) {
	base.Problem = state.StrayRoute
	base.Message = fmt.Sprintf("%s serves it, and %s holds it, has its %s and serves it too. "+
		"Akash's operator removes the former %s; one that was down when it changed hands never does", o, part.Lease.Group(), kind, o.Kind)
	p.addRejected(base, o)
}

// addRejected adds an object that is deleted when the user names it. Each object is its own problem: two ports of an
// endpoint have two Services.
func (p *problems) addRejected(base state.Problem, o *state.OwnObject) {
	if slices.ContainsFunc(p.found, func(x state.Problem) bool {
		reject, ok := x.Mend.(state.RejectObjects)
		return ok && x.Problem == state.StrayRoute && slices.Contains(reject.Reject, o.ObjectRef)
	}) {
		return // found for another of its paths
	}
	base.Plan, base.Mend = "delete "+o.String(), reject(o, base.Thing)
	p.add(base.ByName())
}
