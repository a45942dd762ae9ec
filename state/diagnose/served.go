package diagnose

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// service returns a Service of its lease, or of one of the groups, that serves the port of a ProviderLeasedIP, or nil.
func (w *World) service(o *state.OwnObject, groups ...lease.Group) *state.ServiceObject {
	for _, g := range append(groups, o.Lease.Group()) {
		for _, s := range w.of(g).ports[o.Port.Key()] {
			if s.SharingKey == o.SharingKey || s.Service == o.Port.Service { // another sharing key is another problem
				return s
			}
		}
	}
	return nil
}

// isUnknown reports whether a claim on an endpoint or one of its addresses cannot be read. The holders of its ports
// are unknown then.
func (w *World) isUnknown(sharingKey string) bool {
	return slices.ContainsFunc(w.sharing[sharingKey], func(c *state.Claim) bool { return c.Kind.HasPorts() && c.Unreadable != "" })
}

// servesPart reports whether a route or a Service of the group serves the path of a host or the port of an endpoint.
func (w *World) servesPart(thing, key string, g lease.Group) bool {
	return slices.ContainsFunc(w.services[thing], func(s *state.ServiceObject) bool { return s.Of(g) && state.PortKey(s.Protocol, s.Port) == key }) ||
		slices.ContainsFunc(w.Uses[thing], func(u state.Use) bool { return serves(u, key) && u.Of(g) })
}

// serves reports whether a use is that of a route that leads a path of its host somewhere.
func serves(u state.Use, key string) bool {
	return !declares(u.Kind) && !u.Redirect && state.RouteKey(u.Path) == key
}

// declares reports whether objects of a kind declare what others serve.
func declares(kind string) bool {
	return kind == kinds.ProviderHost.Singular || kind == kinds.ProviderLeasedIP.Singular
}

// stands reports whether an object of the deployment group that holds a part serves or declares it, whoever wrote the object. A redirect
// belongs to any part of its host.
func (w *World) stands(c *state.Claim, part state.Part) bool {
	g := part.Lease.Group()
	serves := func(u state.Use, key string) bool { return u.Thing() == c.Thing && (u.Redirect || key == part.Key) }
	return c.Kind.HasPorts() && slices.ContainsFunc(w.of(g).objects, func(o *state.OwnObject) bool {
		return o.SharingKey == c.SharingKey && o.Port.Key() == part.Key
	}) || slices.ContainsFunc(w.of(g).uses[c.Thing], func(o *state.OwnObject) bool {
		return slices.ContainsFunc(o.Uses, func(u state.Use) bool { return serves(u, u.PartKey(o)) })
	}) || slices.ContainsFunc(w.Uses[c.Thing], func(u state.Use) bool { return u.Of(g) && serves(u, state.RouteKey(u.Path)) })
}

// dependent returns the objects of the group that depend on the claim, whoever wrote them.
func (w *World) dependent(c *state.Claim, g lease.Group) []*state.OwnObject {
	uses := w.of(g).uses[c.Thing]
	if !c.Kind.HasPorts() {
		return uses
	}
	return slices.DeleteFunc(slices.Clone(w.of(g).objects), func(o *state.OwnObject) bool { return !o.StandsForPort(c) && !slices.Contains(uses, o) })
}

// objectsFor returns the objects of the group that this program wrote and that depend on the claim.
func (w *World) objectsFor(c *state.Claim, g lease.Group) []state.ObjectRef {
	var refs []state.ObjectRef
	for _, o := range w.dependent(c, g) {
		if o.Ours {
			refs = append(refs, o.ObjectRef)
		}
	}
	return refs
}

// isServed reports whether an object of the group that depends on the claim serves its thing, or a route that an
// operator created for one does. The group holds parts of the claim, or held them before a transfer.
func (w *World) isServed(c *state.Claim, g lease.Group, stands []state.ObjectRef) bool {
	uses := w.Uses[c.Thing]
	if c.Kind == state.Address {
		uses = w.AddressUses[c.Addr()]
	}
	return slices.ContainsFunc(stands, func(o state.ObjectRef) bool { return !declares(o.Kind) }) ||
		slices.ContainsFunc(uses, func(u state.Use) bool { return !declares(u.Kind) && u.Of(g) }) ||
		c.Kind == state.Endpoint && slices.ContainsFunc(w.services[c.SharingKey], func(s *state.ServiceObject) bool {
			part := c.Part(state.PortKey(s.Protocol, s.Port))
			return s.Of(g) && part != nil && (part.Lease.Group() == g || part.From == g.String())
		})
}

// lacks returns what Akash's hostname operator does not find for a ProviderHost, or "".
func (w *World) lacks(o *state.OwnObject) string {
	if w.Lacks == nil || o.Kind != kinds.ProviderHost.Singular || len(o.Uses) == 0 {
		return ""
	}
	return w.Lacks(o.Lease, o.Uses[0].Service, o.Uses[0].Port)
}
