package diagnose

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/state"
)

// addForeignKey adds a Service that uses an address which nobody has claimed, with the sharing key of another owner or with
// none: no claim of its lease can be for that.
func (p *problems) addForeignKey(base state.Problem, o *state.OwnObject, u state.Use) {
	base.Problem = state.AddressSquatted
	base.Message = fmt.Sprintf("%s, with the sharing key %q, which is not one of its owner", u.Takes("it"), u.SharingKey)
	base.Plan = fmt.Sprintf("take the address out of %s, or delete it: nobody has claimed it, and repair leaves it", o)
	base.Manual, base.Command = true, u.Edit()
	p.add(base)
}

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
