package diagnose

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// lacks returns what Akash's hostname operator does not find for a ProviderHost, or "".
func (p *problems) lacks(o *state.OwnObject) string {
	if p.Lacks == nil || o.Kind != kinds.ProviderHost.Singular || len(o.Uses) == 0 {
		return ""
	}
	return p.Lacks(o.Lease, o.Uses[0].Service, o.Uses[0].Port)
}

// checkManifest finds a ProviderHost at which Akash's hostname operator stops. It may be deleted while nothing serves its
// host.
func (p *problems) checkManifest(base state.Problem, o *state.OwnObject) {
	lacks := p.lacks(o)
	if lacks == "" {
		return
	}
	host := o.Uses[0].Host
	base.Problem, base.Thing = state.OperatorStops, host
	base.Message = fmt.Sprintf("%s is there, and its lease has %s: Akash's hostname operator stops at it for all tenants, "+
		"and ignores the lease from then on", o, lacks)
	base.Plan = "let the tenant send the manifest to Akash's provider, and restart the operator"
	base.Manual, base.Command = true, "kubectl -n akash-services rollout restart deployment operator-hostname"
	c := p.claims[state.HostName(host)]
	part := c.Part(state.RouteKey("/"))
	served := slices.ContainsFunc(p.Uses[host], func(u state.Use) bool { return u.Kind != kinds.ProviderHost.Singular })
	if o.Ours && !o.Shared && !served && part != nil && part.Lease.Group() == o.Lease.Group() && part.Run == "" {
		base.Plan += fmt.Sprintf("; or delete %s, and where it is delivered from: the claim stays", o)
		base.Mend = state.DeleteObjects{Delete: []state.ObjectRef{o.ObjectRef}, Unserved: true, Reserve: partOf(c, part)}
		base = base.ByName()
	}
	p.add(base)
}
