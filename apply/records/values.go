package records

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
)

// RenderRecords renders the records with the values that the cluster publishes. Fresh ones are read
// now; else what was read at the beginning counts, and the Gateway, which that has not.
func (r *Records) RenderRecords(ctx context.Context, def *lease.Definition, fresh bool) (render.DNS, error) {
	records, err := render.Records(def, r.Options.Config, r.Addresses, nil)
	if err != nil || len(records.Unknown) == 0 {
		return records, err
	}
	targets, err := r.Published(fresh).Targets(ctx, records.Unknown)
	if err != nil {
		return records, err
	}
	return render.Records(def, r.Options.Config, r.Addresses, targets)
}

// Published is the reader of where the lease's hosts are reached.
func (r *Records) Published(fresh bool) *published.Reader {
	return &published.Reader{
		Cluster: r.Cluster, Config: r.Options.Config, Lease: r.Request.Lease, Live: r.Snapshot.Live, Gateway: &r.Snapshot.Gateway, Fresh: fresh,
	}
}
