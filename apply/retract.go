package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// stillMine is true for an object that the run has made and on which nobody else relies: it is the
// lease's, of the run's definition, and of what it rests on the lease holds nothing but what has the
// run's mark. A run that was taken for dead has nothing left to give back but what its lease does not hold.
func (r *objects) stillMine(ctx context.Context, m madeObject, now *unstructured.Unstructured) (bool, error) {
	if r.running != nil && r.running.has(m.object) {
		return r.running.isMine(now), nil
	}
	id, labelled := lease.IDFromLabels(now.GetLabels())
	definition := cluster.Rendered(m.object).GetAnnotations()[lease.AnnotationDefinition]
	if !labelled || id.Group() != r.group || now.GetAnnotations()[lease.AnnotationDefinition] != definition {
		return false, nil
	}
	grounds, err := readGrounds(ctx, r.ledger, owned{kind: m.object.Kind, live: now, group: r.group})
	return err == nil && !slices.ContainsFunc(grounds, func(g ground) bool {
		if r.lost { // the marks are another command's to judge
			return len(g.claim.PartsOf(r.group)) > 0
		}
		return slices.ContainsFunc(g.claim.PartsOf(r.group), func(p state.Part) bool { return p.Run != r.nonce })
	}), err
}
