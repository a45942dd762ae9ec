package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
)

// MovedError says that the cluster is not as it was when a plan was made. Lease is the zero ID where it was
// found before anything was written; otherwise what was written for the lease was taken back.
type MovedError struct {
	Lease lease.ID
	// Moved are the objects and things that have changed, or would be changed otherwise.
	Moved []string
	// Kept is true for a plan of definitions that the ledger keeps.
	Kept bool
}

func (e *MovedError) Error() string {
	of := "-f FILE"
	if e.Kept {
		of = "LEASE"
	}
	return "the plan is out of date: " + strings.Join(e.Moved, ", ") + " changed since it was made, or would be changed otherwise. Make a new plan with: kubectl akash-net diff " + of + " -o json"
}

// CarryOut makes the changes of a plan and no others. Where anything that the plan rests on has moved since it
// was made, the error is a MovedError: nothing is written where that shows before the first write; each
// write is pinned to what the plan rests on, and one that is refused undoes the lease's.
// The definitions are those of the plan's leases, in their order.
func (a *Applier) CarryOut(ctx context.Context, p plan.Plan, defs []*lease.Definition) error {
	if err := withoutPasswords(p); err != nil {
		return err
	}
	opts := a.opts
	opts.heal = p.Settings.Kept
	now, err := Plan(ctx, a.cluster, opts, defs)
	if err != nil {
		return keptMoved(err)
	}
	var moved []string
	for i, l := range p.Leases {
		moved = append(moved, l.Moved(now.Leases[i])...)
	}
	if len(moved) > 0 {
		return &MovedError{Moved: moved, Kept: opts.heal}
	}
	opts.Only = &now // the same changes, of what is there now
	return keptMoved(New(a.cluster, opts).Apply(ctx, defs))
}

// withoutPasswords refuses a plan that would write what a Secret holds: no plan has it.
func withoutPasswords(p plan.Plan) error {
	for _, l := range p.Leases {
		for _, c := range l.Changes {
			data := func(f plan.Field) bool { return f.Path[0] == "data" }
			if c.Kind == kinds.Secret.Singular && (c.Action == plan.Create || c.Action == plan.Update && slices.ContainsFunc(c.Fields, data)) {
				return fmt.Errorf("the plan writes the password of %s, and no plan has passwords: apply the definition itself, with apply -f FILE --workloads", c.ID())
			}
		}
	}
	return nil
}

// keptMoved says by a MovedError of which leases the ledger keeps another definition by now than the plan has.
func keptMoved(err error) error {
	failed := Failures{err}
	_ = errors.As(err, &failed)
	failed = slices.Clone(failed)
	for i, e := range failed {
		if of, ok := errors.AsType[*LeaseError](e); ok && errors.Is(e, errChanged) {
			failed[i] = &MovedError{Moved: []string{"the definition that is kept for lease " + of.Lease.String()}, Kept: true}
		}
	}
	return failures(failed)
}

// changesOf are the changes that a run on a lease may make; nil where it may make any.
func (o Options) changesOf(id lease.ID) []plan.Change {
	if o.Only == nil {
		return nil
	}
	for _, l := range o.Only.Leases {
		if l.Lease == id.String() {
			return append([]plan.Change{}, l.Changes...)
		}
	}
	return []plan.Change{}
}
