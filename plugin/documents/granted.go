package documents

import (
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// useLedger makes the renderer propose addresses that are free in a ledger, and render only things that the ledger does not
// have for somebody else. known is nil if there is no ledger.
func (r *renderer) useLedger(known *pools.Known) {
	if known == nil {
		return
	}
	r.known, r.picker = known, state.NewPicker(known.Addresses)
	r.claims, r.hostsBelow = map[string]*state.Claim{}, map[string][]*state.Claim{}
	for _, claim := range known.Claims {
		r.claims[claim.Name()] = claim
		if wildcard := state.WildcardOver(claim.Thing); claim.Kind == state.Host && wildcard != "" {
			r.hostsBelow[wildcard] = append(r.hostsBelow[wildcard], claim)
		}
	}
}

// granted returns the definition without the things that the ledger has for another deployment of the owner; each gets a
// warning. A thing that another owner holds is an error: a pipeline that delivered it would serve another tenant's host name
// or address. Without a ledger it returns the definition.
func (r *renderer) granted(def *lease.Definition, request state.Request, addresses render.Addresses) *lease.Definition {
	if r.known == nil {
		return def
	}
	g := grant{renderer: r, judge: state.Judge{Group: def.Lease.Group()}, hosts: map[string]bool{}, ports: map[string]bool{}}
	for _, hold := range request.HostHolds() {
		for _, part := range hold.Parts {
			if path := lease.HostPath(hold.Thing, part.Path); g.withheld(hold, part.Key, path) {
				g.hosts[path] = true
			}
		}
		for _, claim := range r.covering(hold) {
			if claim.Owner != def.Lease.Owner {
				g.held(hold, state.Holder{Owner: claim.Owner, Since: claim.Created, Reason: claim.Thing + " is that owner's"})
			}
		}
	}
	for _, e := range request.Endpoints {
		holds := []state.Hold{e.EndpointHold(def.Lease)}
		if r.cfg.IP.Mode != config.ModePool {
			holds = nil
			for _, a := range addresses[e.Name] {
				holds = append(holds, e.Hold(def.Lease, a))
			}
		}
		for _, hold := range holds {
			for _, p := range e.Ports {
				if g.withheld(hold, p.Key(), hold.Thing+" "+state.Part{Key: p.Key()}.PortText()) {
					g.ports[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
				}
			}
		}
	}
	return state.Granted(def, g.hosts, g.ports)
}

// covering returns the claims on the wildcard above a host, or on the hosts below a wildcard.
func (r *renderer) covering(hold state.Hold) []*state.Claim {
	if hold.Kind == state.Wildcard {
		return r.hostsBelow[hold.Thing]
	}
	above := state.WildcardOver(hold.Thing)
	if claim := r.claims[(&state.Claim{Kind: state.Wildcard, Thing: above}).Name()]; above != "" && claim != nil {
		return []*state.Claim{claim}
	}
	return nil
}

// grant collects the things that the ledger has for others.
type grant struct {
	renderer     *renderer
	judge        state.Judge
	hosts, ports map[string]bool
}

// withheld reports whether another deployment of the owner holds the part with the key, and warns of it. If another owner holds
// the claim, it records an error.
func (g *grant) withheld(hold state.Hold, key, text string) bool {
	// Without a clock, an expired hold still counts: rendering gives nobody's thing away.
	finding := g.judge.Decide(hold, key, g.renderer.claims[hold.Name()], nil)
	switch finding.Verdict {
	case state.Held, state.Expired, state.Going:
		g.held(hold, finding.By)
	case state.Withheld:
		g.renderer.omitted.Warn(hold.At, "%s %s is withheld: deployment %s holds it", hold.Kind, text, finding.By.Lease.Group())
		return true
	case state.Free, state.Mine:
	}
	return false
}

func (g *grant) held(hold state.Hold, by state.Holder) {
	message := report.HeldThing{Kind: hold.Kind, Thing: hold.Thing, By: by}.String()
	g.renderer.problems = append(g.renderer.problems, lease.Problem{At: hold.At, Held: true, Message: message})
}
