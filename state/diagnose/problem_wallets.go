package diagnose

import (
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkWallets finds an object for Akash's operators whose owner or provider they cannot decode. No deployment of the chain
// has such a wallet. A lease with one is released by a selector, because its name is refused on the command line.
func (p *problems) checkWallets(base state.Problem, o *state.OwnObject) {
	if o.WrongWallet == "" {
		return
	}
	base = fill(base, state.WrongWallet, o.WrongWallet+"; Akash's operator stops for all tenants when it starts, and no chain has this lease",
		"delete it", nil)
	base.Manual, base.Command = true, fmt.Sprintf("kubectl -n %s delete %s.akash.network %s", o.Namespace, o.Kind, o.Name)
	if o.Ours {
		g := o.Lease.Group()
		base.Plan = "release its lease"
		base.Command = fmt.Sprintf("kubectl akash-net release -l %s=%s,%s=%d,%s=%d", lease.LabelOwner, g.Owner,
			lease.LabelDSeq, g.DSeq, lease.LabelGSeq, g.GSeq)
	}
	p.add(base)
}
