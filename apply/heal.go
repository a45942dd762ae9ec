package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// Heal applies a stored definition. Since it was stored, the lease may have given something up or transferred it, and may
// have claimed things that the definition does not name. So heal claims nothing anew, and gives nothing up that was not
// applied.

// narrow reduces the run's request to what the lease still holds.
func (r *run) narrow(s *observed.Snapshot) error {
	if !s.Definitions[kept.Name(r.Group)].Says(r.Def) {
		return report.ErrChanged
	}
	holds := func(c *state.Claim, key string) bool {
		part := c.Part(key)
		return part != nil && part.Lease.Group() == r.Group
	}
	var left []plan.Change
	r.Request.Hosts = slices.DeleteFunc(r.Request.Hosts, func(h state.HostWant) bool {
		claim, key := s.Claim(state.HostName(h.Host)), state.RouteKey(h.Path)
		gone := !h.Own && !holds(claim, key)
		if gone {
			name := lease.HostPath(h.Host, h.Path)
			r.WithheldHosts[name] = true
			left = append(left, r.leftOut(h.Hold(r.Request.Lease).Kind, name, key, claim))
		}
		return gone
	})
	for i, e := range r.Request.Endpoints {
		r.Request.Endpoints[i].Ports = slices.DeleteFunc(e.Ports, func(p state.PortWant) bool {
			key, claims := state.PortKey(p.Protocol, p.ExternalPort), s.ByClaim().Endpoints[e.SharingKey]
			gone := !slices.ContainsFunc(claims, func(c *state.Claim) bool { return holds(c, key) })
			if gone {
				r.WithheldPorts[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
				left = append(left, r.leftOut(state.Endpoint, e.Name+" "+(state.Part{Key: key}).PortText(), key, claims...))
			}
			return gone
		})
	}
	r.Request.Endpoints = slices.DeleteFunc(r.Request.Endpoints, func(e state.EndpointWant) bool { return len(e.Ports) == 0 })
	return r.reportSkipped(left)
}

// leftOut describes a part that the definition names but the lease does not hold, by the claims on the thing.
func (r *run) leftOut(kind state.Kind, name, key string, claims ...*state.Claim) plan.Change {
	c := plan.Change{
		Action: plan.Leave, Kind: string(kind), Name: name,
		Why: "the lease has given it up since it was applied, and nobody holds it",
	}
	for _, claim := range claims {
		switch part := claim.Part(key); {
		case claim == nil || len(claim.Parts) == 0:
		case claim.Owner != r.Group.Owner:
			c.Why = "held by owner " + claim.Owner
		case part != nil:
			c.Action, c.Why = plan.Withhold, "held by deployment "+part.Lease.Group().String()
		}
	}
	return c
}

// reportSkipped reports what is not claimed anew.
func (r *run) reportSkipped(changes []plan.Change) error {
	for _, c := range changes {
		if err := r.Change(func() plan.Change { return c }); err != nil {
			return err
		}
		action := report.Left
		if c.Action == plan.Withhold {
			action = report.Withheld
		}
		r.Event(action, c.Kind, "", c.Name, c.Why)
	}
	return nil
}
