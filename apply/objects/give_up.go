package objects

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Loses handles the LostError of a run that another command has taken for dead; it returns any other error unchanged.
// It deletes the objects that the run has created for things that its lease does not hold any more, because the other
// command may have given them up before the run's write. It undoes nothing else.
func (r *Objects) Loses(ctx context.Context, why error) error {
	if _, lost := errors.AsType[*turn.LostError](why); !lost {
		return why
	}
	r.Lose()
	return errors.Join(why, r.Retract(cluster.WithGate(ctx, nil), func(render.Object) bool { return true }))
}

// StillMine reports whether nobody else relies on an object that the run has created: it belongs to the lease and to
// the run's definition, and all parts that the lease holds and the object serves have the run's mark. For a run that was
// taken for dead, the lease must hold no such part at all.
func (r *Objects) StillMine(ctx context.Context, m executor.MadeObject, now *unstructured.Unstructured) (bool, error) {
	id, labelled := lease.IDFromLabels(now.GetLabels())
	definition := cluster.Rendered(m.Object).GetAnnotations()[lease.AnnotationDefinition]
	if !labelled || id.Group() != r.Group || now.GetAnnotations()[lease.AnnotationDefinition] != definition {
		return false, nil
	}
	o := observed.Owned{Kind: m.Object.Kind, Live: now, Group: r.Group}
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, o)
	if len(grounds) == 0 && r.HasLost() { // it accompanies a route: the other command has touched it if it relies on it
		return m.IsUnwritten(now), err
	}
	return err == nil && !slices.ContainsFunc(grounds, func(g observed.Ground) bool {
		return slices.ContainsFunc(g.Claim.PartsOf(r.Group), func(p state.Part) bool {
			// If the run has lost, the other command decides on the marks.
			return observed.StandsFor(o, g.Claim, p) && (r.HasLost() || p.Run != r.Nonce)
		})
	}), err
}
