package execute

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// put applies an object over the one that was seen, after its manager has taken over fields of others.
func (l *loop) put(ctx context.Context, r engine.Request, answer *engine.Answer) (err error) {
	if r.Anew {
		ctx = cluster.Anew(ctx)
	}
	over := r.Over
	if r.Taken != nil {
		if over, err = l.command.Cluster.SetManagers(ctx, r.Apply.Kind, r.Taken, lease.FieldManager); err != nil {
			return l.refused(err, "patch", r.Apply.Kind, answer)
		}
	}
	meta, made, err := l.command.Cluster.ApplyOver(ctx, r.Apply, r.Manager, over, r.Force)
	if err != nil {
		return l.refused(err, "patch", r.Apply.Kind, answer)
	}
	answer.Live, answer.Made = applied(r.Apply, meta), made
	return nil
}

// refused tells what an error says of an object.
func (l *loop) refused(err error, verb string, kind kinds.Kind, answer *engine.Answer) error {
	answer.Unclear = cluster.IsUnclear(err)
	answer.Stale = answer.Unclear || cluster.IsOvertaken(err)
	if answer.Owned = cluster.IsOwned(err); answer.Owned {
		answer.Managers = cluster.Owners(err)
		return err
	}
	return l.command.Cluster.Explain(err, verb, kind.Resource())
}

// applied returns an object as it was sent, with the metadata of the answer.
func applied(o render.Object, meta *metav1.PartialObjectMetadata) *unstructured.Unstructured {
	live := render.Rendered(o)
	live.SetUID(meta.UID)
	live.SetResourceVersion(meta.ResourceVersion)
	live.SetGeneration(meta.Generation)
	live.SetLabels(meta.Labels)
	live.SetAnnotations(meta.Annotations)
	live.SetManagedFields(meta.ManagedFields)
	live.SetFinalizers(meta.Finalizers)
	live.SetDeletionTimestamp(meta.DeletionTimestamp)
	live.SetCreationTimestamp(meta.CreationTimestamp)
	return live
}

// check sends an apply, or a create, as a dry run. Webhooks that know no dry runs say nothing.
func (l *loop) check(ctx context.Context, r engine.Request, answer *engine.Answer) error {
	c := l.command.Cluster
	verb, ask := "patch", func() error { return c.Refusal(ctx, r.Apply, r.Manager, r.Over, r.Taken) }
	if r.Makes {
		verb, ask = "create", func() error { return c.CreateRefusal(ctx, r.Apply, r.Manager) }
	}
	err := ask()
	switch {
	case err == nil, apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
		return nil
	case r.Apply.Kind == kinds.RoleBinding && apierrors.IsNotFound(err): // its Role, by which it is judged, is written before it
		return nil
	}
	return l.refused(err, verb, r.Apply.Kind, answer)
}

// create creates an object; made is false if it exists already. After an answer that does not tell whether it took effect, the
// request is sent again, and an object that exists then counts as created.
func (l *loop) create(ctx context.Context, r engine.Request) (made bool, err error) {
	c, unclear := l.command.Cluster, false
	tried := c.Retry(ctx, func(ctx context.Context) (bool, error) {
		err = c.Create(ctx, r.Apply, r.Manager)
		made = err == nil || unclear && apierrors.IsAlreadyExists(err)
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		unclear = unclear || cluster.IsUnclear(err)
		return err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil, nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", r.Apply, c.Explain(err, "create", r.Apply.Kind.Resource()))
	}
	return made, cmp.Or(err, tried)
}

// touch changes the resource version of an object of another deployment that stays as it is. It does nothing to an object that is gone,
// or that another deployment has got.
func (l *loop) touch(ctx context.Context, o engine.Object, mark string) error {
	c := l.command.Cluster
	err := c.Rewrite(ctx, o.Kind, o.Live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		if !state.SameTenant(o.Live, now) {
			return nil, nil //nolint:nilnil // the transfer has given it to the new lease
		}
		return func(ctx context.Context) error {
			return c.Annotate(ctx, o.Kind, now, lease.AnnotationTaken, mark, observed.ManagerOf(o.Kind, o.Group))
		}, nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
