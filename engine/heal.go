package engine

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A kept definition is healed with what its lease still holds: since it was kept, the lease may have given something up or
// transferred it.

// gonePart is a part that the definition names and the lease does not hold.
type gonePart struct {
	hold state.Hold
	name string
	by   []*state.Claim
}

// narrows returns which parts of the request stand; nil if all do. A lease that is healed holds them, and a transfer of them takes
// them over.
func (v view) narrows() (keeps func(c *state.Claim, key string) bool) {
	switch {
	case v.follows():
		return func(c *state.Claim, key string) bool {
			part := c.Part(key)
			return part != nil && (v.isNamed(c.Name()) || c.Kind.HasPorts() && part.Lease.Group() == v.group)
		}
	case v.want.Apply != nil && v.want.Apply.Heal:
		return func(c *state.Claim, key string) bool {
			part := c.Part(key)
			return part != nil && part.Lease.Group() == v.group
		}
	}
	return nil
}

// narrowed returns the request without the parts that do not stand, and these.
func narrowed(w *World, r state.Request, holds func(c *state.Claim, key string) bool) (_ state.Request, gone []gonePart) {
	r.Hosts = slices.DeleteFunc(slices.Clone(r.Hosts), func(h state.HostWant) bool {
		claim, held := w.Claim(state.HostName(h.Host)), h.Hold(r.Lease)
		lost := !h.Own && !holds(claim, state.RouteKey(h.Path))
		if lost {
			gone = append(gone, gonePart{held, lease.HostPath(h.Host, h.Path), []*state.Claim{claim}})
		}
		return lost
	})
	endpoints := slices.Clone(r.Endpoints)
	for i, e := range endpoints {
		claims := w.claimsOfEndpoint(e.SharingKey)
		endpoints[i].Ports = slices.DeleteFunc(slices.Clone(e.Ports), func(p state.PortWant) bool {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			lost := !slices.ContainsFunc(claims, func(c *state.Claim) bool { return holds(c, key) })
			if lost {
				held := state.Hold{Kind: state.Endpoint, Thing: e.Name, SharingKey: e.SharingKey, Parts: []state.Part{{Key: key}}}
				gone = append(gone, gonePart{held, e.Name + " " + (state.Part{Key: key}).PortText(), claims})
			}
			return lost
		})
	}
	r.Endpoints = slices.DeleteFunc(endpoints, func(e state.EndpointWant) bool { return len(e.Ports) == 0 })
	return r, gone
}

// claimsOfEndpoint returns the claims on the addresses of an IP endpoint, or on the endpoint itself.
func (w *World) claimsOfEndpoint(sharingKey string) (out []*state.Claim) {
	return w.claimsOfEndpoints()[sharingKey]
}

// claimsOfEndpoints returns the claims of all IP endpoints by their sharing keys: those on addresses first.
func (w *World) claimsOfEndpoints() map[string][]*state.Claim {
	out := map[string][]*state.Claim{}
	for _, kind := range []state.Kind{state.Address, state.Endpoint} {
		for _, c := range w.list(kind) {
			out[c.SharingKey] = append(out[c.SharingKey], c)
		}
	}
	return out
}

// tellGone tells what is not claimed again.
func (v view) tellGone() (out Step) {
	if v.want.Transfer != nil {
		return out
	}
	for _, g := range v.gone {
		c := plan.Change{Action: plan.Leave, Kind: string(g.hold.Kind), Name: g.name, Why: "the lease has given it up since it was applied, and nobody holds it"}
		e := Event{Action: report.Skipped, Kind: string(g.hold.Kind), Thing: g.name, Once: "gone " + g.name}
		for _, claim := range g.by {
			switch part := claim.Part(g.hold.Parts[0].Key); {
			case claim == nil || len(claim.Parts) == 0:
			case claim.Owner != v.group.Owner:
				c.Why = "held by owner " + claim.Owner
			case part != nil:
				c.Action, c.Why = plan.Withhold, "held by deployment "+part.Lease.Group().String()
				e.Action = report.Withheld
			}
		}
		e.Message = c.Why
		e.Changes = v.change(func() plan.Change { return c })
		if !v.f.told[e.Once] {
			out.Tells = append(out.Tells, e)
		}
	}
	return out
}

// tellWithheld tells what other deployments of the owner hold.
func (v view) tellWithheld() (out Step) {
	if v.want.Apply == nil {
		return out
	}
	for _, f := range v.facts() {
		once := "withheld " + string(f.Kind) + " " + f.Name
		if f.Found != Withheld || v.f.told[once] {
			continue
		}
		c := plan.Change{Action: plan.Withhold, Kind: string(f.Kind), Name: f.Name, Why: heldBy(f.By)}
		out.Tells = append(out.Tells, Event{
			Action: report.Withheld, Kind: string(f.Kind), Thing: f.Name, Message: c.Why, Once: once, Changes: v.change(func() plan.Change { return c }),
		})
	}
	return out
}

// tellReserved tells what the lease has only reserved and is about to give up, because its definition does not name it.
func (v view) tellReserved() (out Step) {
	if v.want.Apply == nil {
		return out
	}
	for _, c := range v.w.claimsOf(v.group) {
		entries := partsOnly(c.Entries(v.group))
		once := "reserved " + c.Name()
		if !v.f.told[once] && slices.ContainsFunc(entries, func(p state.Part) bool { return !p.Applied && v.drops(c, p) }) {
			out.Tells = append(out.Tells, Event{
				Action: report.Pruning, Kind: string(c.Kind), Thing: c.Thing, Once: once,
				Message: "the lease has only reserved it, and the definition does not name it",
			})
		}
	}
	return out
}

// heldBy formats the holder of a part that is withheld.
func heldBy(by state.Holder) string {
	if by.Lease != (lease.ID{}) {
		return "held by deployment " + by.Lease.Group().String()
	}
	return "held by " + by.Object
}
