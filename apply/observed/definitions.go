package observed

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// FewDefinitions is up to how many stored definitions are read by GET rather than by one LIST.
const FewDefinitions = 16

// readDefinitions reads the definitions stored for deployment groups, by object name.
func readDefinitions(ctx context.Context, l ledger.Ledger, groups []lease.Group) (map[string]*kept.Definition, error) {
	if len(groups) > FewDefinitions {
		names := sets.New[string]()
		for _, g := range groups {
			names.Insert(kept.Name(g))
		}
		return listDefinitions(ctx, l, OnlyOwner(groups), names.Has)
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
	return byName(slices.DeleteFunc(read, func(d *kept.Definition) bool { return d == nil })), err
}

// ReadDefinition reads the definition stored for a deployment group, and retries unclear answers. It returns nil if
// there is none.
func ReadDefinition(ctx context.Context, l ledger.Ledger, g lease.Group) (d *kept.Definition, err error) {
	err = UntilKept(ctx, l, g, func(ctx context.Context) (err error) {
		d, err = l.Definition(ctx, g)
		return err
	})
	return d, err
}

func listDefinitions(
	ctx context.Context, l ledger.Ledger, owner string, want func(name string) bool,
) (map[string]*kept.Definition, error) {
	list, err := l.Definitions(ctx, owner, want)
	return byName(list), err
}

func byName(definitions []*kept.Definition) map[string]*kept.Definition {
	found := map[string]*kept.Definition{}
	for _, d := range definitions {
		found[d.Name] = d
	}
	return found
}

// UntilKept retries an operation on a stored definition while it loses races or its effect is unclear.
func UntilKept(ctx context.Context, l ledger.Ledger, g lease.Group, try func(context.Context) error) error {
	if err := l.Until(ctx, try); err != nil {
		return fmt.Errorf("the definition of lease %s in the ledger: %w", g, err)
	}
	return nil
}

// KeptDefinitions returns the definitions with which deployment groups were last applied, in the order of the groups.
// It leaves out groups without a stored definition, and fails if one cannot be decoded.
func KeptDefinitions(
	ctx context.Context, c *cluster.Cluster, ledgerNamespace string, groups []lease.Group,
) ([]*lease.Definition, error) {
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
