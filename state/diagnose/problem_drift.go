package diagnose

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// findDrift finds routes and Services that no longer serve what the definition that the ledger keeps of their lease has under their name,
// and what their lease holds: somebody has changed them, or a class was configured since. They are put back before anything is made of what
// they serve now.
func (p *problems) findDrift() {
	for i := range p.Objects {
		o := &p.Objects[i]
		if !o.Ours || o.Deleting || !o.HasLease || p.kept[o.Lease.Group()] == nil || p.atWork(o.Lease.Group()) {
			continue
		}
		c, part, differs := p.changed(o)
		if differs == "" {
			continue
		}
		why := "somebody has changed it"
		if o.Routing.HasNoClass() {
			why += ", or it is older than the configured class"
		}
		p.drifted[o.String()] = true
		p.stands[servedPart{o.Lease.Group(), c.Thing, part.Key}] = true
		p.add(state.Problem{
			Problem: state.Drift, Thing: o.Kind + "/" + o.Name, Namespace: o.Namespace, Lease: o.Lease.String(), Since: metav1.Time{},
			Message: fmt.Sprintf("%s %s: %s", o, differs, why), Plan: "put it back: " + keptPlan,
			Fix: &state.Fix{Do: state.Heal, Group: o.Lease.Group(), Kept: true, Reclaim: true},
		})
	}
}

// changed returns how an object differs from what the kept definition has under its name, with the part of the claim that its lease holds
// for that; "" if it does not, or if the lease does not hold it. The backend of a route is compared with the claim, elsewhere.
func (p *problems) changed(o *state.OwnObject) (c *state.Claim, part *state.Part, differs string) {
	if o.Routing != nil {
		host, hash, redirect := lease.ParseRouteName(o.Name)
		c = p.claims[state.HostName(host)]
		part = p.heldPart(c, o, func(part state.Part) bool { return lease.PathHash(part.Path) == hash })
		// The router that this program wrote may be that of another configuration, which nobody has changed.
		if redirect || part == nil || o.Routing.Takes(host, part.Path) && o.Routing.RouterIsOurs || !p.asksFor(o.Lease.Group(), c, part.Key) {
			return nil, nil, ""
		}
		return c, part, o.Routing.Differs(p.Config, host, part.Path)
	}
	if o.Kind != kinds.Service.Singular {
		return nil, nil, ""
	}
	for _, c := range p.sharing[o.SharingKey] {
		part := p.heldPart(c, o, func(part state.Part) bool {
			protocol, port := part.ProtocolPort()
			name := lease.IPServiceName(part.Service, port, protocol)
			return o.Name == name || o.Name == name+lease.SecondFamilySuffix
		})
		if part != nil && part.Key != o.Port.Key() && p.asksFor(o.Lease.Group(), c, part.Key) {
			return c, part, fmt.Sprintf("serves the port %s, not %s", state.Part{Key: o.Port.Key()}.PortText(), part.PortText())
		}
	}
	return nil, nil, ""
}

// take returns a problem of an object that serves what nobody has claimed: its lease claims it, unless the definition that the ledger keeps
// of the lease does not have it, or the object is named after something else. Then somebody has changed the object, or it is of another
// definition.
func (p *problems) take(x state.Problem, o *state.OwnObject, hold state.Hold) state.Problem {
	thing, named := hold.Thing, true
	if hold.Kind.HasPorts() {
		thing = hold.SharingKey
	}
	a, why := p.asked(o.Lease.Group()), ""
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

// heldPart returns the part of a claim that the lease of an object holds, or nil.
func (p *problems) heldPart(c *state.Claim, o *state.OwnObject, of func(state.Part) bool) *state.Part {
	if c == nil || c.Unreadable != "" || c.Deleting {
		return nil
	}
	i := slices.IndexFunc(c.Parts, func(part state.Part) bool {
		return part.Lease.Group() == o.Lease.Group() && !c.PartEnded(part, p.Now) && part.Run == "" && of(part)
	})
	if i < 0 {
		return nil
	}
	return &c.Parts[i]
}

// atWork reports whether a command is at work on a deployment group: what it writes is not read at one moment.
func (p *problems) atWork(g lease.Group) bool {
	return slices.ContainsFunc(p.Runs, func(a *state.Announcement) bool {
		return a.Nonce != p.Own && a.Names(g) && !a.Dead(p.Now, p.CrashedAfter)
	})
}
