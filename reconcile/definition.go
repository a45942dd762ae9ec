package reconcile

import "github.com/akash-net/kubectl-akash-net/lease"

// Definition returns the definition of a deployment group: what a source says, else what the ledger keeps; nil if neither is known.
func (v *View) Definition(g lease.Group) *lease.Definition {
	if by := v.named(g); len(by) > 0 {
		return by[0].Definitions[g]
	}
	return v.kept[g].Definition
}
