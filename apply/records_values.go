package apply

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
)

// renderRecords renders the records with the values that the cluster publishes. Fresh ones are read
// now; else what was read at the beginning counts, and the Gateway, which that has not.
func (r *records) renderRecords(ctx context.Context, def *lease.Definition, fresh bool) (render.DNS, error) {
	records, err := render.Records(def, r.opts.Config, r.addresses, nil)
	if err != nil || len(records.Unknown) == 0 {
		return records, err
	}
	targets, err := r.published(fresh).Targets(ctx, records.Unknown)
	if err != nil {
		return records, err
	}
	return render.Records(def, r.opts.Config, r.addresses, targets)
}

// published is the reader of where the lease's hosts are reached.
func (r *records) published(fresh bool) *published.Reader {
	return &published.Reader{
		Cluster: r.cluster, Config: r.opts.Config, Lease: r.req.Lease, Live: r.snapshot.live, Gateway: &r.snapshot.gateway, Fresh: fresh,
	}
}
