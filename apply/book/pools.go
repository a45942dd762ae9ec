package book

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// ReadPools reads MetalLB's pools and the addresses that it has assigned, without the claims.
func ReadPools(ctx context.Context, c *cluster.Cluster) (view.Contents, error) {
	r := bookReader{cluster: c}
	group, ctx := parallel.WithContext(ctx)
	for _, kind := range bookKinds([]view.Subject{view.SubjectPools}) {
		group.Go(func() error { return r.list(ctx, kind) })
	}
	err := group.Wait()
	return r.contents, err
}
