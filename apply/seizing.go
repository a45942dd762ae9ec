package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// stillHolds is an error where the run's group does not hold, as it is now, what an object of another
// deployment of its owner stands for. The object was read before, and what takes it over is pinned to that:
// a transfer moves the claim first.
func (r *objects) stillHolds(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	grounds, err := readGrounds(ctx, r.ledger, owned{kind: kind, live: live, group: r.group})
	if err != nil {
		return err
	}
	for _, h := range r.sortedHolds() {
		for _, g := range grounds {
			lost := len(g.claim.PartsOf(r.group)) == 0 || kind == kinds.ProviderLeasedIP && g.standing() == state.Stray
			if g.name == h.want.Name() && lost {
				return r.overtaken(h)
			}
		}
	}
	return nil
}
