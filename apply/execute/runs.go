package execute

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// readRuns reads what a deployment group runs, and which of its leases have reservations of their own.
func (l *loop) readRuns(ctx context.Context, one *Lease, s *observed.Snapshot, answer *engine.Answer) error {
	c, g := l.command, one.X.Group
	live, err := workloads.Beside(ctx, c.Cluster, c.Options.Config, g, "")
	if err != nil {
		return err
	}
	if one.Unmarked, err = workloads.FindUnmarked(ctx, c.Cluster, c.Options.Config, g, s.NamespacesOf(g), live); err != nil {
		return err
	}
	maps.Copy(live, one.Unmarked.Ours)
	leased, err := l.leased()
	if err != nil {
		return err
	}
	answer.Runs = engine.Runs{Objects: map[string][]engine.Object{}, Reserved: leased[g]}
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if live[name].Goes(g) && !c.Cluster.Waits() {
			continue // a dry run takes for gone what is being deleted
		}
		for _, o := range live[name].Of(g) {
			id, _ := lease.IDFromLabels(o.Live.GetLabels())
			answer.Runs.Objects[name] = append(answer.Runs.Objects[name], engine.Object{Kind: o.Kind, Live: o.Live, Group: g, Lease: id, Ours: true, Runs: true})
		}
	}
	return nil
}

// reserved reads which leases have taken over the reservations of their orders, for the leases of a transaction: once for each
// reading of everything.
func (l *loop) reserved(ctx context.Context, groups []lease.Group) func() (map[lease.Group][]lease.ID, error) {
	return sync.OnceValues(func() (map[lease.Group][]lease.ID, error) {
		return observed.ReservedBy(ctx, l.command.Ledger, observed.OnlyOwner(groups))
	})
}

// unreserve gives up the reservation of a lease.
func (l *loop) unreserve(ctx context.Context, one *Lease, id lease.ID) error {
	found, err := reservation.Release(ctx, l.command.Cluster, l.command.Options.Config, id)
	if found {
		one.X.Event(report.Released, report.KindOrder, "", id.Order().String(), "")
	}
	return err
}
