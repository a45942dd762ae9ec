package diagnose

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// row is a path of a host, or a port of an address or an endpoint, that an object of a lease serves or declares, with the claim on it.
type row struct {
	o *state.OwnObject
	// thing is the host, the address or the endpoint, key that of the part. service and port are the backend.
	thing, key string
	service    string
	port       uint16
	claim      *state.Claim
	part       *state.Part
	// former is the part that the object serves for another lease since a transfer.
	former *state.Part
	// declared is the ProviderHost or the ProviderLeasedIP that declares it, nil if there is none. made is the one of the two kinds that does.
	declared *state.OwnObject
	made     string
}

// rows returns what an object serves or declares.
func (w *World) rows(o *state.OwnObject) []row {
	if isPort(o) {
		return []row{w.portRow(o)}
	}
	rows := make([]row, 0, len(o.Uses))
	for _, u := range o.Uses {
		rows = append(rows, w.row(o, u))
	}
	return rows
}

// isPort reports whether an object is a Service or a ProviderLeasedIP.
func isPort(o *state.OwnObject) bool {
	return o.Kind == kinds.Service.Singular || o.Kind == kinds.ProviderLeasedIP.Singular
}

// row returns a host or an address that an object uses.
func (w *World) row(o *state.OwnObject, u state.Use) row {
	r := row{
		o: o, thing: u.Thing(), key: u.PartKey(o), service: u.Service, port: u.Port, claim: w.claims[claimName(u)], made: kinds.ProviderHost.Singular,
	}
	r.part, r.former = r.claim.Part(r.key), r.claim.ServesFor(o.Lease.Group(), r.key, u.Redirect)
	if r.declared = w.declarations[[2]string{u.Host}]; u.Address.IsValid() {
		r.made, r.declared = kinds.ProviderLeasedIP.Singular, w.declarations[[2]string{o.SharingKey, r.key}]
	}
	return r
}

// portRow returns the port of an endpoint that an object serves or declares, whatever address it has: on the claim on the endpoint or on
// one of its addresses.
func (w *World) portRow(o *state.OwnObject) row {
	r := row{
		o: o, thing: o.SharingKey, key: o.Port.Key(), service: o.Port.Service, port: o.Port.Port, made: kinds.ProviderLeasedIP.Singular,
	}
	r.claim, r.part = w.portOf(o)
	r.former = w.claims[state.EndpointName(o.SharingKey)].ServesFor(o.Lease.Group(), r.key, false)
	r.declared = w.declarations[[2]string{o.SharingKey, r.key}]
	return r
}

// portOf returns the part for a port of an endpoint. It prefers one of the object's own group: several groups may hold the same port of an
// endpoint, each on another address.
func (w *World) portOf(o *state.OwnObject) (c *state.Claim, part *state.Part) {
	for _, claim := range w.sharing[o.SharingKey] {
		held := claim.Part(o.Port.Key())
		if held == nil || claim.Unreadable != "" || !claim.Kind.HasPorts() {
			continue
		}
		if o.Of(held.Lease.Group()) {
			return claim, held
		}
		if part == nil {
			c, part = claim, held
		}
	}
	return c, part
}

func claimName(u state.Use) string {
	if u.Address.IsValid() {
		return state.AddressName(u.Address)
	}
	return state.HostName(u.Host)
}

// elsewhere returns the claims on other addresses of the same family on which a deployment group holds the port
// with the key, settled and without an end. It returns nothing if the group holds the port on the used address too.
func (w *World) elsewhere(g lease.Group, u state.Use, key string) []*state.Claim {
	if !u.Address.IsValid() {
		return nil
	}
	if part := w.claims[claimName(u)].Part(key); part != nil && part.Lease.Group() == g {
		return nil // a run may be about to leave the other claim
	}
	return slices.DeleteFunc(slices.Clone(w.sharing[u.SharingKey]), func(c *state.Claim) bool {
		part, a := c.Part(key), c.Addr()
		return c.Kind != state.Address || c.Unreadable != "" || c.Deleting || a == u.Address || a.BitLen() != u.Address.BitLen() ||
			part == nil || part.Lease.Group() != g || part.Run != "" || part.Ended(w.Now)
	})
}

// servesForAnother reports whether the object still serves another lease after a transfer. That lease's apply deletes
// it; an apply of its own lease leaves it as it is.
func (w *World) servesForAnother(o *state.OwnObject) bool {
	g := o.Lease.Group()
	switch {
	case o.SharingKey != "":
		return slices.ContainsFunc(w.sharing[o.SharingKey], func(c *state.Claim) bool { return c.ServesFor(g, o.Port.Key(), false) != nil })
	case len(o.Uses) == 0: // it belongs to a route with the same name
		host, _, _ := lease.ParseRouteName(o.Name)
		return len(w.claims[state.HostName(host)].FormerOf(g)) > 0
	}
	return slices.ContainsFunc(o.Uses, func(u state.Use) bool { return w.row(o, u).former != nil })
}
