package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// madeObject is an object that a run has created.
type madeObject struct {
	object          render.Object
	uid             types.UID
	resourceVersion string
}

// retract deletes the objects that this run has created, as it has written them. The errors are of those
// that it could not delete.
func (r *run) retract(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(r.made) {
		if err := r.retractOne(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", m.object, err))
		}
	}
	r.made = nil
	return errors.Join(errs...)
}

// retractOne deletes an object as the run has written it. One that somebody has written since goes only
// while nobody else relies on it, and one that serves for another lease since a transfer stays.
func (r *run) retractOne(ctx context.Context, m madeObject) error {
	o, version := m.object, m.resourceVersion
	made := owned{kind: o.Kind, live: cluster.Rendered(o), group: r.group}
	made.live.SetUID(m.uid)
	unsure := r.unsure[o.String()]
	err := r.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		if going, err := r.keepForOthers(ctx, []owned{made}); err != nil || len(going) == 0 {
			return err == nil, err
		}
		if !unsure {
			err := r.cluster.DeletePinned(ctx, o.Kind, o.Namespace, o.Name, m.uid, version)
			if err == nil {
				r.unmakes(o.Kind)
				r.event(Deleted, o.Kind.Singular, o.Namespace, o.Name, "taken back")
				return true, nil
			}
			if !cluster.IsOvertaken(err) && (!cluster.IsUnclear(err) || ctx.Err() != nil) {
				return false, err
			}
		}
		unsure = false
		now, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if now == nil || err != nil || now.GetUID() != m.uid {
			r.unmakes(o.Kind)
			return err == nil, err
		}
		version = now.GetResourceVersion()
		mine, err := r.stillMine(ctx, m, now)
		if err == nil && !mine {
			r.event(Left, o.Kind.Singular, o.Namespace, o.Name, "somebody else relies on it by now")
		}
		return !mine, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("it changes faster than it can be deleted")
	}
	return err
}

// stillMine is true for an object that the run has made and on which nobody else relies: it is the
// lease's, of the run's definition, and of what it rests on the lease holds nothing but what has the
// run's mark, or is as the run has left it.
func (r *run) stillMine(ctx context.Context, m madeObject, now *unstructured.Unstructured) (bool, error) {
	id, labelled := lease.IDFromLabels(now.GetLabels())
	definition := cluster.Rendered(m.object).GetAnnotations()[lease.AnnotationDefinition]
	if !labelled || id.Group() != r.group || now.GetAnnotations()[lease.AnnotationDefinition] != definition {
		return false, nil
	}
	grounds, err := readGrounds(ctx, r.ledger, owned{kind: m.object.Kind, live: now, group: r.group})
	return err == nil && !slices.ContainsFunc(grounds, func(g ground) bool {
		return !r.leftAs(g.claim) && slices.ContainsFunc(g.claim.PartsOf(r.group), func(p state.Part) bool { return p.Run != r.nonce })
	}), err
}

// leftAs is true for a claim that is as the run has left it when it took its mark away.
func (r *run) leftAs(c *state.Claim) bool {
	if c == nil {
		return false
	}
	h := r.holds[c.Name()]
	return h != nil && h.settled != nil && h.settled.ResourceVersion == c.ResourceVersion
}
