package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
)

// CarryOut makes the changes of a plan and no others. defs are the definitions of the plan's leases, in their order.
// CarryOut returns a MovedError if the plan does not match the cluster any more. It checks that before the first write,
// and pins each write to the version on which the plan is based; if the API server rejects a write, CarryOut undoes
// those of the lease.
func (a *Applier) CarryOut(ctx context.Context, p plan.Plan, defs []*lease.Definition) error {
	if err := withoutPasswords(p); err != nil {
		return err
	}
	opts := a.Command.Options
	opts.Heal = p.Settings.Kept
	quiet := opts
	quiet.Report, quiet.Prove = nil, nil // the apply asks for proofs
	now, err := Preview(ctx, a.Command.Cluster, quiet, defs)
	refused, err := refusals(err)
	if err != nil {
		return keptMoved(err)
	}
	var moved []string
	for i, l := range p.Leases {
		moved = append(moved, l.Moved(now.Leases[i])...)
	}
	if len(moved) > 0 {
		return &report.MovedError{Moved: moved, Kept: opts.Heal}
	}
	opts.Only, opts.Refused = &now, refused // the same changes with current resource versions
	return keptMoved(New(a.Command.Cluster, opts).Apply(ctx, defs))
}

// withoutPasswords returns an error if the plan writes the data of a Secret: no plan has that data.
func withoutPasswords(p plan.Plan) error {
	for _, l := range p.Leases {
		for _, c := range l.Changes {
			data := func(f plan.Field) bool { return len(f.Path) > 0 && f.Path[0] == "data" }
			if c.Kind == kinds.Secret.Singular && (c.Action == plan.Create || c.Action == plan.Update && slices.ContainsFunc(c.Fields, data)) {
				return fmt.Errorf("the plan writes the password of %s, and no plan has passwords: "+
					"apply the definition itself, with apply -f FILE --workloads", c.ID())
			}
		}
	}
	return nil
}

// keptMoved replaces ErrChanged errors by a MovedError: the ledger keeps another definition of the lease than the plan
// has.
func keptMoved(err error) error {
	failed := report.Failures{err}
	_ = errors.As(err, &failed)
	failed = slices.Clone(failed)
	for i, e := range failed {
		if of, ok := errors.AsType[*report.LeaseError](e); ok && errors.Is(e, report.ErrChanged) {
			failed[i] = &report.MovedError{Moved: []string{"the definition that is kept for lease " + of.Lease.String()}, Kept: true}
		}
	}
	return report.Gather(failed)
}
