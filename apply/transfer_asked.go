package apply

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// What a transfer routes at once is what the new lease is known to ask for: by the definition that the ledger keeps for
// it, or by the note of what was withheld from it. The definition says more: a note has no TLS, weights or headers.

// asked is what a lease asks for by the definition that the ledger keeps for it; nil where it keeps none.
type asked struct {
	def *lease.Definition
	req state.Request
}

// askedFor is what the run's lease asks for. The definition of another order or provider is not its own. One that cannot be
// understood is told of, and left out.
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
	req, _ := state.NewRequest(def, r.Options.Config) // mayHave judges what moves
	return &asked{def: def, req: req}
}

// part is a part of a claim as the lease asks for it; nil where it does not, and for hosts that the provider gives it.
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
	// A note that a crashed run leaves says less than such a route needs.
	if e := a.def.Routed(claim.Thing, part.Path); e == nil || e.Routing == nil {
		part.Definition = a.def.Hash
		if e != nil {
			part.HTTP = e.Options()
		}
	}
	return part
}

// routes is true for a part that is to be routed as the definition says. A note that says otherwise is of a later request.
func (a *asked) routes(claim *state.Claim, p state.Part) bool {
	want := a.part(claim, p.Key)
	return want != nil && want.Service == p.Service && want.Port == p.Port && (p.Definition == "" || p.Definition == a.def.Hash)
}

// knownParts are the parts that are moved and of which it is known how they are to be routed.
func (r *transfer) knownParts(moves []*move, isKnown func(*state.Claim, state.Part) bool) map[string]map[string]bool {
	keys := map[string]map[string]bool{}
	for _, m := range moves {
		for _, p := range m.new {
			if !isKnown(m.claim, p) {
				continue
			}
			if keys[m.claim.Name()] == nil {
				keys[m.claim.Name()] = map[string]bool{}
			}
			keys[m.claim.Name()][p.Key] = true
		}
	}
	return keys
}

// knownDefinitions say how what is moved is to be routed: the definition that is kept, with no other hosts, and the notes.
func (r *transfer) knownDefinitions(moves []*move) []*lease.Definition {
	var known []*lease.Definition
	if moved := r.knownParts(moves, r.asked.routes); len(moved) > 0 {
		known = append(known, r.askedOf(moved))
	}
	noted := &lease.Definition{Lease: r.Request.Lease}
	for _, m := range moves {
		for _, p := range m.new {
			if isNoted(p) && !r.asked.routes(m.claim, p) {
				noted.Hash = p.Definition
				noted.Services = append(noted.Services, serviceOf(m.claim, p, r.Group.Owner))
			}
		}
	}
	if noted.Exposes() {
		known = append(known, noted)
	}
	return known
}

// askedOf is the kept definition with those of its hosts that are moved, and the ports that the lease holds then: where a
// host leads may depend on the address of its service.
func (r *transfer) askedOf(moved map[string]map[string]bool) *lease.Definition {
	hosts, ports := map[string]bool{}, map[string]bool{}
	for _, h := range r.asked.req.Hosts {
		if !moved[state.HostName(h.Host)][state.RouteKey(h.Path)] {
			hosts[lease.HostPath(h.Host, h.Path)] = true
		}
	}
	for _, e := range r.asked.req.Endpoints {
		for _, p := range e.Ports {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			if !slices.ContainsFunc(r.Snapshot.ByClaim().Endpoints[e.SharingKey], func(c *state.Claim) bool {
				part := c.Part(key)
				return moved[c.Name()][key] || part != nil && part.Lease.Group() == r.Group
			}) {
				ports[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
			}
		}
	}
	return state.Granted(r.asked.def, hosts, ports)
}

// isNoted is true for a part of which a note says how it is to be routed.
func isNoted(p state.Part) bool { return p.Definition != "" && p.Service != "" }

// renderKnown renders what is moved. What the definition makes of anything else is as the lease's last apply has left it.
func (r *transfer) renderKnown(known []*lease.Definition, moves []*move) ([]render.Object, error) {
	cfg := *r.Options.Config
	cfg.Ingress.StaticHosts, cfg.Hosts.Generated = false, "" // hosts that the provider gives a lease are not moved
	moved, claims := r.knownParts(moves, func(*state.Claim, state.Part) bool { return true }), make([]*state.Claim, len(moves))
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
			return (o.Kind == kinds.Service || o.Kind == kinds.ProviderLeasedIP) &&
				!slices.ContainsFunc(observed.GroundsOf(observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: r.Group}, claims), func(g observed.Ground) bool { return moved[g.Name][g.Served.Key] })
		})...)
	}
	return desired, nil
}

// heldAddresses are the addresses of the lease, with those that are moved.
func (r *transfer) heldAddresses(moves []*move) render.Addresses {
	out := r.movedAddresses(moves)
	for _, c := range r.Snapshot.Held[r.Group] {
		endpoint := strings.TrimPrefix(c.SharingKey, r.Group.Owner+"-ip-")
		if c.Kind == state.Address && len(c.PartsOf(r.Group)) > 0 && !slices.Contains(out[endpoint], c.Addr()) {
			out[endpoint] = append(out[endpoint], c.Addr())
		}
	}
	return out
}
