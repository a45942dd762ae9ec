package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Suspend lets the reconciler leave leases as they are, or go on with them. What is kept with the definition of a lease says so: a release
// ends it, and no apply does.
func Suspend(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, groups []lease.Group, suspend bool, tell func(report.Event)) error {
	l := ledger.New(c, ledgerNamespace)
	var errs []error
	for _, g := range groups {
		action := report.Resumed
		if suspend {
			action = report.Suspended
		}
		err := l.Until(ctx, func(ctx context.Context) error {
			d, err := l.Definition(ctx, g)
			switch {
			case err != nil:
				return err
			case d == nil || d.Deleting:
				return fmt.Errorf("the ledger keeps no definition of lease %s: it was never applied, or it is over", g)
			case d.Suspended == suspend:
				action = report.Unchanged
				return nil
			}
			return l.Suspend(ctx, d, suspend)
		})
		if err != nil {
			errs = append(errs, &report.LeaseError{Lease: g, Err: err})
			continue
		}
		tell(report.Event{
			Time: time.Now(), Action: action, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}, Kind: "lease", Name: g.String(),
		})
	}
	return report.Gather(errs)
}
