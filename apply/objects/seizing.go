package objects

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// stillHolds is an error where the run's group does not hold, as it is now, what an object of another
// deployment of its owner stands for. The object was read before, and what takes it over is pinned to that:
// a transfer moves the claim first.
func (r *Objects) stillHolds(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: kind, Live: live, Group: r.Group})
	if err != nil {
		return err
	}
	for _, h := range r.SortedHolds() {
		for _, g := range grounds {
			lost := len(g.Claim.PartsOf(r.Group)) == 0 || kind == kinds.ProviderLeasedIP && g.Standing() == state.Stray
			if g.Name == h.Want.Name() && lost {
				return r.Overtaken(h)
			}
		}
	}
	return nil
}
