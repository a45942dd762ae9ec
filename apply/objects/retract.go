package objects

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// StillMine is true for an object that the run has made and on which nobody else relies: it is the
// lease's, of the run's definition, and of what it rests on the lease holds nothing but what has the
// run's mark. A run that was taken for dead has nothing left to give back but what its lease does not hold.
func (r *Objects) StillMine(ctx context.Context, m executor.MadeObject, now *unstructured.Unstructured) (bool, error) {
	if r.Running != nil && r.Running.Has(m.Object) {
		return r.Running.IsMine(now), nil
	}
	id, labelled := lease.IDFromLabels(now.GetLabels())
	definition := cluster.Rendered(m.Object).GetAnnotations()[lease.AnnotationDefinition]
	if !labelled || id.Group() != r.Group || now.GetAnnotations()[lease.AnnotationDefinition] != definition {
		return false, nil
	}
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: m.Object.Kind, Live: now, Group: r.Group})
	return err == nil && !slices.ContainsFunc(grounds, func(g observed.Ground) bool {
		if r.HasLost() { // the marks are another command's to judge
			return len(g.Claim.PartsOf(r.Group)) > 0
		}
		return slices.ContainsFunc(g.Claim.PartsOf(r.Group), func(p state.Part) bool { return p.Run != r.Nonce })
	}), err
}
