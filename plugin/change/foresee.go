package change

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/examination"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/workload"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/examine"
)

// foresight says, at the end of the dry run of a lease, what the command would wait for that is not there. A dry run assumes that its
// writes have the effects which the command would wait for.
type foresight struct {
	// waited are the kinds of written objects for which the command waits.
	waited []kinds.Kind
	next   func(report.Event)
	// seen reads what serves such objects; it returns nil if that fails, and then nothing is said of it.
	seen    func() *examine.Seen
	written map[lease.ID][]kinds.Kind
}

// foresee returns the foresight of a dry run of which next reports the events. routes are the kinds of routes for which the command
// waits.
func foresee(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, next func(report.Event), routes ...kinds.Kind) *foresight {
	return &foresight{
		waited: append(slices.Clone(routes), kinds.Service), next: next, written: map[lease.ID][]kinds.Kind{},
		seen: sync.OnceValue(func() *examine.Seen {
			seen, err := examination.ReadServing(ctx, c, cfg)
			if err != nil {
				return nil
			}
			return seen
		}),
	}
}

// report reports an event.
func (f *foresight) report(e report.Event) {
	switch e.Action {
	case report.Created, report.Configured:
		if k := kinds.Of(e.Kind); slices.Contains(f.waited, k) && (k != kinds.Service || workload.IsLeasedPort(e.Name)) {
			f.written[e.Lease] = append(f.written[e.Lease], k)
		}
	case report.Failed:
		delete(f.written, e.Lease)
	case report.Done:
		if s := e.Summary; s != nil {
			with := *s
			with.Lacks, with.Doubts = f.lacks(e.Lease)
			e.Summary = &with
		}
		delete(f.written, e.Lease)
	}
	f.next(e)
}

func (f *foresight) lacks(id lease.ID) (lacks, doubts []string) {
	if len(f.written[id]) == 0 {
		return nil, nil
	}
	if seen := f.seen(); seen != nil {
		return seen.Lacks(f.written[id])
	}
	return nil, nil
}

// end reports what is not there for leases without a last event.
func (f *foresight) end() {
	for id := range f.written {
		if lacks, _ := f.lacks(id); len(lacks) > 0 {
			f.next(report.Event{
				Time: time.Now(), Action: report.Done, Lease: id, Kind: "lease", Name: id.String(), Message: "applied", Summary: &report.Summary{Lacks: lacks},
			})
		}
	}
}
