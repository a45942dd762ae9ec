package reservation

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Lost returns the names of the reservations that no longer fit the cluster, given all reservations and all claims. It reads
// nodes and pods only if something is bound, and returns nil if the user may not.
func Lost(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, all []*reserved.Claim, claims []*state.Claim,
) (map[string]bool, error) {
	if !slices.ContainsFunc(all, func(c *reserved.Claim) bool { return c.Bound != nil }) {
		return nil, nil
	}
	names, err := lost(ctx, c, cfg, all, claims, c.Now())
	if apierrors.IsForbidden(err) || cluster.IsMissingKind(err) {
		return nil, nil
	}
	return names, err
}

// lost returns the names of the reservations that no longer fit the cluster, and have not ended by then.
func lost(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, all []*reserved.Claim, claims []*state.Claim, now time.Time,
) (map[string]bool, error) {
	var fold observed.Fold
	pools, err := readCluster(ctx, c, cfg, &fold, true)
	if err != nil {
		return nil, err
	}
	usage := fold.Usage().WithLeases(leasesOf(claims))
	room := capacity.Room{Cluster: fold.Capacity().Cluster(), Addresses: addressRoom(cfg, pools, claims)}
	return reserved.Lost(all, room, now, func(c *reserved.Claim) inventory.Hold {
		return usage.Beyond(c.Order.String(), c.Bound.Hold)
	}), nil
}
