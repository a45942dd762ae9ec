package apply

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// KeptDefinitions are the definitions with which deployment groups were last applied, in their order, as far as the
// ledger keeps them. The error is also that of one that cannot be understood.
func KeptDefinitions(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, groups []lease.Group) ([]*lease.Definition, error) {
	found, err := readDefinitions(ctx, ledger.New(c, ledgerNamespace), groups)
	if err != nil {
		return nil, err
	}
	var defs []*lease.Definition
	for _, g := range groups {
		d := found[kept.Name(g)]
		if d == nil {
			continue
		}
		def, err := d.Decode()
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
	}
	return defs, nil
}
