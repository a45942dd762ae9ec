package apply

import (
	"cmp"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// A transfer creates routes for what the new lease is known to ask for: by its stored definition, or by the notes of what
// was withheld from it. The definition is more complete: a note has no TLS, weights or headers.

// known is what a lease is known to ask for of the things that are transferred to it, with the definition that the ledger keeps.
type known struct {
	def  *lease.Definition
	kept *kept.Definition
}

// known returns what the lease is known to ask for. A note that disagrees with the stored definition belongs to a later request.
func (t *transfer) known(s *observed.Snapshot) known {
	out := known{&lease.Definition{Lease: t.to}, s.Definitions[kept.Name(t.to.Group())]}
	asked := state.Request{Lease: t.to}
	if def := t.stored(out.kept); def != nil {
		asked, _ = state.NewRequest(def, t.applier.Command.Options.Config)
		out.def = t.named(s, def, asked)
	}
	for _, thing := range t.things {
		for _, c := range t.claims(s, thing) {
			for _, w := range c.Waits {
				part := c.Part(w.For)
				if w.Lease != t.to || w.Definition == "" || w.Service == "" || part == nil || part.Lease.Group() == t.to.Group() ||
					agrees(w, asks(asked, c, w.For), out.def.Hash) {
					continue
				}
				out.def = withService(out.def, serviceOf(c, w))
				out.def.Hash = cmp.Or(out.def.Hash, w.Definition)
			}
		}
	}
	return out
}

// stored decodes the definition that the ledger keeps for the lease; nil if there is none, or it is another order's or provider's.
func (t *transfer) stored(d *kept.Definition) *lease.Definition {
	if d == nil || d.Deleting {
		return nil
	}
	def, err := d.Decode()
	if err != nil {
		t.applier.Command.Send(report.Event{
			Action: report.Skipped, Lease: t.to, Kind: "definition", Name: t.to.String(), Message: "what the ledger keeps cannot be understood: " + err.Error(),
		})
		return nil
	}
	if def.Lease != t.to {
		return nil
	}
	return def
}

// asks returns a part of a claim as a lease asks for it; nil if it does not.
func asks(r state.Request, c *state.Claim, key string) *state.Part {
	var parts []state.Part
	for _, h := range r.Hosts {
		if !c.Kind.HasPorts() && h.Host == c.Thing && !h.Own {
			parts = append(parts, h.Hold(r.Lease).Parts...)
		}
	}
	for _, e := range r.Endpoints {
		if c.Kind.HasPorts() && e.SharingKey == c.SharingKey {
			parts = append(parts, e.EndpointHold(r.Lease).Parts...)
		}
	}
	if i := slices.IndexFunc(parts, func(p state.Part) bool { return p.Key == key }); i >= 0 {
		return &parts[i]
	}
	return nil
}

// agrees reports whether a note says what a definition with a hash says of the same part.
func agrees(note state.Part, want *state.Part, hash string) bool {
	return want != nil && want.Service == note.Service && want.Port == note.Port && (note.Definition == "" || note.Definition == hash)
}

// named returns a definition with the hosts that are transferred alone, and the ports that are or that the lease has: where a host
// is reached may depend on the address of its service.
func (t *transfer) named(s *observed.Snapshot, def *lease.Definition, asked state.Request) *lease.Definition {
	hosts, ports := map[string]bool{}, map[string]bool{}
	stands := func(c *state.Claim, key string) bool {
		part := c.Part(key)
		named := slices.ContainsFunc(t.things, func(thing string) bool { return slices.Contains(t.claims(s, thing), c) })
		if part == nil || !named && (!c.Kind.HasPorts() || part.Lease.Group() != t.to.Group()) {
			return false
		}
		i := slices.IndexFunc(c.Waits, func(w state.Part) bool { return w.For == key && w.Lease == t.to })
		return i < 0 || agrees(c.Waits[i], asks(asked, c, key), def.Hash)
	}
	for _, h := range asked.Hosts {
		if c := s.Claim(state.HostName(h.Host)); c == nil || !stands(c, state.RouteKey(h.Path)) {
			hosts[lease.HostPath(h.Host, h.Path)] = true
		}
	}
	for _, e := range asked.Endpoints {
		for _, p := range e.Ports {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			if !slices.ContainsFunc(s.ByClaim().Endpoints[e.SharingKey], func(c *state.Claim) bool { return stands(c, key) }) {
				ports[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
			}
		}
	}
	out := *state.Granted(def, hosts, ports)
	out.Services = slices.Clone(out.Services)
	for i, service := range out.Services {
		out.Services[i].Expose = slices.DeleteFunc(slices.Clone(service.Expose), func(e lease.Expose) bool { return len(e.Hosts) == 0 && e.IP == "" })
	}
	return &out
}

// serviceOf returns the service that a note describes.
func serviceOf(claim *state.Claim, note state.Part) lease.Service {
	e := lease.Expose{Port: note.Port, Protocol: lease.TCP, Global: true}
	if claim.Kind.HasPorts() {
		e.Protocol, e.As = state.Part{Key: note.For}.ProtocolPort()
		e.IP = lease.EndpointOf(claim.Owner, claim.SharingKey)
	} else {
		e.Path = note.Path
		e.Hosts = []lease.Host{{Name: claim.Thing}}
	}
	if note.HTTP != nil {
		e.HTTP = *note.HTTP
	}
	return lease.Service{Name: note.Service, Expose: []lease.Expose{e}}
}

// withService returns a definition with what a service exposes beside the rest of it.
func withService(def *lease.Definition, s lease.Service) *lease.Definition {
	out := *def
	out.Services = slices.Clone(def.Services)
	i := slices.IndexFunc(out.Services, func(other lease.Service) bool { return other.Name == s.Name })
	if i < 0 {
		out.Services = append(out.Services, s)
	} else {
		out.Services[i].Expose = slices.Concat(out.Services[i].Expose, s.Expose)
	}
	return &out
}
