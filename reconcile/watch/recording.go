package watch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// betweenRecords is the least time between two records of the leases that fail.
const betweenRecords = 2 * time.Second

// recording records which leases fail, for state --problems, while this reconciler is elected: at its beginning and when that changes.
func (r *reconciler) recording(c *cluster.Cluster) manager.RunnableFunc {
	l, failed := ledger.New(c, r.opts.Command.Config.LedgerNamespace), complaints{complain: r.opts.Complain}
	return func(ctx context.Context) error {
		for {
			failed.note(r.record(ctx, l))
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(betweenRecords):
			}
			select {
			case <-ctx.Done():
				return nil
			case <-r.failing.changed:
			}
		}
	}
}

// record records the leases that fail now, those first that have failed longest.
func (r *reconciler) record(ctx context.Context, l ledger.Ledger) error {
	view, err := r.leases.Look(ctx)
	if err != nil {
		return err
	}
	by := r.failing.all()
	groups := slices.SortedFunc(maps.Keys(by), func(a, b lease.Group) int { return cmp.Or(by[a].Since.Compare(by[b].Since), a.Compare(b)) })
	all := make([]state.Failing, 0, len(groups))
	for _, g := range groups {
		f := by[g]
		one := state.Failing{Lease: g.String(), Error: reason(f.Err), Count: f.Count, Since: f.Since, Next: f.Next}
		if def := view.Definition(g); def != nil {
			one.Lease = def.Lease.String()
		}
		all = append(all, one)
	}
	return l.RecordFailing(ctx, r.opts.Set, all)
}

// reason returns the text of an error without the lease that it names.
func reason(err error) string {
	if of, ok := errors.AsType[*report.LeaseError](err); ok {
		err = of.Err
	}
	return err.Error()
}
