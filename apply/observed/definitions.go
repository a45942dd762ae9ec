package observed

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// FewDefinitions is how many kept definitions are read one by one rather than by one LIST.
const FewDefinitions = 16

// readDefinitions reads the definitions that are kept for deployment groups, by the names of their objects.
func readDefinitions(ctx context.Context, l ledger.Ledger, groups []lease.Group) (map[string]*kept.Definition, error) {
	found := map[string]*kept.Definition{}
	if len(groups) > FewDefinitions {
		names, owner := map[string]bool{}, groups[0].Owner
		for _, g := range groups {
			names[kept.Name(g)] = true
			if g.Owner != owner {
				owner = "" // of all
			}
		}
		return listDefinitions(ctx, l, owner, func(name string) bool { return names[name] })
	}
	read := make([]*kept.Definition, len(groups))
	work, ctx := parallel.WithContext(ctx)
	for i, g := range groups {
		work.Go(func() (err error) {
			read[i], err = ReadDefinition(ctx, l, g)
			return err
		})
	}
	err := work.Wait()
	for _, d := range read {
		if d != nil {
			found[d.Name] = d
		}
	}
	return found, err
}

// ReadDefinition reads the definition that is kept for a deployment group, and again where the answer does not tell; it is
// nil where there is none.
func ReadDefinition(ctx context.Context, l ledger.Ledger, g lease.Group) (d *kept.Definition, err error) {
	err = UntilKept(ctx, l, g, func(ctx context.Context) (err error) {
		d, err = l.Definition(ctx, g)
		return err
	})
	return d, err
}

func listDefinitions(ctx context.Context, l ledger.Ledger, owner string, want func(name string) bool) (map[string]*kept.Definition, error) {
	found := map[string]*kept.Definition{}
	list, err := l.Definitions(ctx, owner, want)
	for _, d := range list {
		found[d.Name] = d
	}
	return found, err
}

// UntilKept tries again while a write of the definition loses races or gets no answer.
func UntilKept(ctx context.Context, l ledger.Ledger, g lease.Group, try func(context.Context) error) error {
	var why error
	err := l.Retrying(ctx, func(ctx context.Context) (bool, error) {
		why = try(ctx)
		return ledger.Retry(why)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = cmp.Or(why, err)
	}
	if err != nil {
		return fmt.Errorf("the definition of lease %s in the ledger: %w", g, err)
	}
	return nil
}

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
