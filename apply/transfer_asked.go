package apply

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// A transfer creates routes for what the new lease is known to ask for: by its stored definition, or by the notes of what
// was withheld from it. The definition is more complete: a note has no TLS, weights or headers.

// asked is what a lease asks for by its stored definition; nil if there is none.
type asked struct {
	def *lease.Definition
	req state.Request
}

// askedFor decodes the lease's stored definition. It ignores the definition of another order or provider, and reports
// one that cannot be decoded.
func (r *transfer) askedFor() *asked {
	d := r.Snapshot.Definitions[kept.Name(r.Group)]
	if d == nil || d.Deleting {
		return nil
	}
	def, err := d.Decode()
	if err != nil {
		r.Event(report.Left, "definition", "", r.Request.Lease.String(), "what the ledger keeps cannot be understood: "+err.Error())
		return nil
	}
	if def.Lease != r.Request.Lease {
		return nil
	}
	req, _ := state.NewRequest(def, r.Options.Config) // checkAllowed checks what moves
	return &asked{def: def, req: req}
}

// part returns a part of a claim as the lease asks for it, or nil if it does not, or if the host is one that the
// provider generates.
func (a *asked) part(claim *state.Claim, key string) *state.Part {
	if a == nil {
		return nil
	}
	var parts []state.Part
	for _, h := range a.req.Hosts {
		if !claim.Kind.HasPorts() && h.Host == claim.Thing && !h.Own {
			parts = append(parts, h.Hold(a.req.Lease).Parts...)
		}
	}
	for _, e := range a.req.Endpoints {
		if claim.Kind.HasPorts() && e.SharingKey == claim.SharingKey {
			parts = append(parts, e.Hold(a.req.Lease, netip.Addr{}).Parts...)
		}
	}
	i := slices.IndexFunc(parts, func(p state.Part) bool { return p.Key == key })
	if i < 0 {
		return nil
	}
	part := &parts[i]
	// A note left by a crashed run does not describe such a route completely.
	if e := a.def.Routed(claim.Thing, part.Path); e == nil || e.Routing == nil {
		part.Definition = a.def.Hash
		if e != nil {
			part.HTTP = e.Options()
		}
	}
	return part
}

// routes reports whether a part is routed as the definition says. A note with another content belongs to a later
// request.
func (a *asked) routes(claim *state.Claim, p state.Part) bool {
	want := a.part(claim, p.Key)
	return want != nil && want.Service == p.Service && want.Port == p.Port && (p.Definition == "" || p.Definition == a.def.Hash)
}

// knownParts returns the moved parts for which isKnown is true.
func knownParts(moves []*move, isKnown func(*state.Claim, state.Part) bool) sets.Set[partKey] {
	parts := sets.New[partKey]()
	for _, m := range moves {
		for _, p := range m.new {
			if isKnown(m.claim, p) {
				parts.Insert(partKey{m.claim.Name(), p.Key})
			}
		}
	}
	return parts
}

// partKey identifies a part by the name of its claim and its key.
type partKey struct{ claim, key string }

// knownDefinitions returns definitions that describe how to route what is moved: the stored one, reduced to the moved
// hosts, and one made of the notes.
func (r *transfer) knownDefinitions(moves []*move) []*lease.Definition {
	var known []*lease.Definition
	if moved := knownParts(moves, r.asked.routes); len(moved) > 0 {
		known = append(known, r.askedOf(moved))
	}
	noted := &lease.Definition{Lease: r.Request.Lease}
	for _, m := range moves {
		for _, p := range m.new {
			if isNoted(p) && !r.asked.routes(m.claim, p) {
				noted.Hash = p.Definition
				noted.Services = append(noted.Services, serviceOf(m.claim, p))
			}
		}
	}
	if noted.Exposes() {
		known = append(known, noted)
	}
	return known
}

// askedOf returns the stored definition, reduced to the moved hosts and the ports that the lease holds after the
// transfer: the target of a host may depend on the address of its service.
func (r *transfer) askedOf(moved sets.Set[partKey]) *lease.Definition {
	hosts, ports := map[string]bool{}, map[string]bool{}
	for _, h := range r.asked.req.Hosts {
		if !moved.Has(partKey{state.HostName(h.Host), state.RouteKey(h.Path)}) {
			hosts[lease.HostPath(h.Host, h.Path)] = true
		}
	}
	for _, e := range r.asked.req.Endpoints {
		for _, p := range e.Ports {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			if !slices.ContainsFunc(r.Snapshot.ByClaim().Endpoints[e.SharingKey], func(c *state.Claim) bool {
				part := c.Part(key)
				return moved.Has(partKey{c.Name(), key}) || part != nil && part.Lease.Group() == r.Group
			}) {
				ports[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
			}
		}
	}
	return state.Granted(r.asked.def, hosts, ports)
}

// isNoted reports whether a note describes how to route a part.
func isNoted(p state.Part) bool { return p.Definition != "" && p.Service != "" }

// renderKnown renders the routes of what is moved. It leaves other objects of the definitions as the lease's last apply
// left them.
func (r *transfer) renderKnown(known []*lease.Definition, moves []*move) ([]render.Object, error) {
	cfg := *r.Options.Config
	cfg.Ingress.StaticHosts, cfg.Hosts.Generated = false, "" // hosts that the provider generates are not moved
	moved, claims := knownParts(moves, func(*state.Claim, state.Part) bool { return true }), make([]*state.Claim, len(moves))
	for i, m := range moves {
		claims[i] = m.claim
	}
	var desired []render.Object
	for _, def := range known {
		objects, err := render.Lease(def, &cfg, r.heldAddresses(moves))
		if err != nil {
			return nil, err
		}
		desired = append(desired, slices.DeleteFunc(objects, func(o render.Object) bool {
			grounds := observed.GroundsOf(observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: r.Group}, claims)
			return (o.Kind == kinds.Service || o.Kind == kinds.ProviderLeasedIP) &&
				!slices.ContainsFunc(grounds, func(g observed.Ground) bool { return moved.Has(partKey{g.Name, g.Served.Key}) })
		})...)
	}
	return desired, nil
}

// heldAddresses returns the addresses of the lease after the transfer, by endpoint.
func (r *transfer) heldAddresses(moves []*move) render.Addresses {
	out := r.movedAddresses(moves)
	for _, c := range r.Snapshot.Held[r.Group] {
		endpoint := endpointOf(c)
		if c.Kind == state.Address && len(c.PartsOf(r.Group)) > 0 && !slices.Contains(out[endpoint], c.Addr()) {
			out[endpoint] = append(out[endpoint], c.Addr())
		}
	}
	return out
}
