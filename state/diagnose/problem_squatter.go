package diagnose

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/state"
)

// checkSquatters finds Services that use a claimed address and do not belong to its holder. It skips Services that this
// program wrote, which checkObject checks.
func (p *problems) checkSquatters(base state.Problem, c *state.Claim) {
	if len(c.Parts) == 0 {
		return
	}
	for _, u := range c.Squatters(p.AddressUses[c.Addr()]) {
		if p.written[string(u.UID)] && !u.External {
			continue
		}
		x := base
		x.Problem, x.Namespace, x.Lease = state.AddressSquatted, c.Parts[0].Lease.Namespace(), c.Parts[0].Lease.String()
		x.Message = fmt.Sprintf("%s, and %s holds it", u.Takes("it"), state.Holders(c))
		x.Plan = fmt.Sprintf("take the address out of %s, or delete it: it is not the holder's, and repair leaves it", u)
		x.Manual, x.Command = true, u.Edit()
		p.add(x)
	}
}
