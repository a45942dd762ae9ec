package show

import (
	"bytes"
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// isDefinitions reports whether to print the definitions of leases instead of rows: named leases as documents, unless the state of their
// workloads is asked for. "apply" reads the output.
func (f *stateFlags) isDefinitions() bool {
	return (f.print.Output == "yaml" || f.print.Output == "json") && !f.workloads.value && len(f.rows.things) > 0 && slices.Equal(f.subjects, []view.Subject{view.SubjectLeases})
}

// showDefinitions prints the definitions that the leases were last applied with.
func (f *stateFlags) showDefinitions(
	ctx context.Context, c *session.Session, from *cluster.Cluster, cfg *config.ProviderConfig,
) error {
	var groups []lease.Group
	for _, t := range f.rows.things {
		groups = append(groups, t.Group)
	}
	defs, err := observed.KeptDefinitions(ctx, from, cfg.LedgerNamespace, groups)
	if err != nil {
		return err
	}
	defs = slices.DeleteFunc(defs, func(d *lease.Definition) bool {
		return f.rows.namespace != "" && d.Lease.Namespace() != f.rows.namespace
	})
	var out bytes.Buffer
	if err := printing.Definitions(&out, defs, input.Encode, f.print.Output); err != nil {
		return err
	}
	if _, err := out.WriteTo(c.Out); err != nil || f.rows.ignoreMissing {
		return err
	}
	why := ": apply keeps it; the lease's row is printed with -o wide"
	if f.rows.namespace != "" {
		why = " for a lease of namespace " + f.rows.namespace
	}
	return flags.MissingThings(f.rows.things, func(t thing.Thing) bool {
		return !slices.ContainsFunc(defs, func(d *lease.Definition) bool { return d.Lease.Group() == t.Group })
	}, "no definition of %s is kept%s", why)
}
