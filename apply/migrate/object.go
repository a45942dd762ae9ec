package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// madeObject is an object as the migration has created it. unsure is true if somebody else may have: the answer was lost.
type madeObject struct {
	object observed.Owned
	unsure bool
}

// touched returns an object as it is applied over the live one, which may be nil. touch is true if that is as wanted, and has to
// be written nevertheless.
func (m *leaseMigration) touched(t *marks, o render.Object, live *unstructured.Unstructured) (_ render.Object, touch bool) {
	o = observed.KeepsTaken(records.Prepared(o, live, m.x.Cluster.Now()), live, lease.FieldManager)
	if live == nil || !t.touches(o, m.x.Group) || !cluster.Unchanged(o, live, lease.FieldManager) {
		return o, false
	}
	return observed.Touched(o, t.run), true
}

// put applies an object over the one that was read, nil for none, unless that is as wanted. One that is being deleted is made
// anew once it is gone. If the object has changed it is read again, unless only what was read may be written over.
func (m *leaseMigration) put(ctx context.Context, t *marks, o render.Object, read *unstructured.Unstructured, only bool) (report.Action, error) {
	over := read
	if read != nil && read.GetDeletionTimestamp() != nil {
		over = nil
	}
	for range executor.Looks {
		live, err := m.x.AwaitDeletion(ctx, o, read)
		if err != nil {
			return "", err
		}
		if !only {
			over = live
		}
		now, touch := m.touched(t, o, live)
		if !touch && cluster.Unchanged(now, live, lease.FieldManager) {
			return report.Unchanged, nil
		}
		meta, unsure, err := m.send(ctx, now, over)
		overtaken := cluster.IsOvertaken(err) && !only
		switch {
		case overtaken:
		case err != nil:
			return "", m.refused(ctx, now, err)
		case meta.DeletionTimestamp == nil || !m.x.Cluster.Waits():
			return m.wrote(now, over, meta, touch, unsure), nil
		case m.x.Options.Wait == 0:
			return "", &report.DeletingError{Object: o, Finalizers: meta.Finalizers}
		}
		if read, err = m.x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return "", err
		}
		if overtaken {
			ctx = cluster.Anew(ctx)
		}
	}
	return "", fmt.Errorf("%s: %w", o, cluster.ErrMoving)
}

// wrote returns what a write has done, and remembers an object that it has created.
func (m *leaseMigration) wrote(o render.Object, over *unstructured.Unstructured, meta *metav1.PartialObjectMetadata, touch, unsure bool) report.Action {
	switch {
	case over == nil:
		made := cluster.Rendered(o)
		made.SetUID(meta.UID)
		made.SetResourceVersion(meta.ResourceVersion)
		m.made = append(m.made, madeObject{observed.Owned{Kind: o.Kind, Live: made, Group: m.x.Group}, unsure})
		return report.Created
	case touch || meta.ResourceVersion == over.GetResourceVersion():
		return report.Unchanged
	}
	return report.Configured
}

// send applies an object pinned to the one that was seen, nil for none: a command that was taken for crashed, and goes on, must
// not write over what its successor has written, nor make what that has deleted. If the answer does not tell whether the apply
// took effect, send reads the object, and sends the apply again unless the object is as wanted; unsure is true then.
func (m *leaseMigration) send(ctx context.Context, o render.Object, over *unstructured.Unstructured) (meta *metav1.PartialObjectMetadata, unsure bool, err error) {
	tried := m.x.Cluster.Retry(ctx, func(context.Context) (bool, error) {
		meta, _, err = m.x.Cluster.ApplyOver(ctx, o, lease.FieldManager, over, false)
		if open := cluster.IsUnclear(err) || unsure && cluster.IsOvertaken(err); err == nil || !open || ctx.Err() != nil {
			return true, nil //nolint:nilerr // the error is that of send
		}
		unsure = true
		now, failed := m.x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		switch {
		case cluster.IsAway(failed):
			err = failed
			return true, nil
		case failed != nil:
			return false, nil //nolint:nilerr // it is read again
		case cluster.Unchanged(o, now, lease.FieldManager):
			meta = &metav1.PartialObjectMetadata{}
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(now.Object, meta)
			return true, nil
		case cluster.IsOvertaken(err): // somebody else has written it
			return true, nil
		}
		ctx = cluster.Anew(ctx)
		return false, nil
	})
	return meta, unsure, cmp.Or(err, tried)
}

// refused returns the error of an apply that was refused.
func (m *leaseMigration) refused(ctx context.Context, o render.Object, err error) error {
	if !cluster.IsOwned(err) {
		return fmt.Errorf("%s: %w", o, m.x.Cluster.Explain(err, "patch", o.Kind.Resource()))
	}
	conflict := &report.ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	if now, unread := m.x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); unread == nil && now != nil {
		conflict.Differs = !plan.Contains(now.Object, cluster.Rendered(o).Object)
	}
	return conflict
}

// undoRoute deletes what the migration has created for a route. A command that another one has taken for crashed deletes all that
// it has created for things that the lease does not hold any more, because the other one may have given them up before the write.
func (m *leaseMigration) undoRoute(ctx context.Context, t *marks, c *crossing) error {
	err := m.takeBack(ctx, t, func(made observed.Owned) bool {
		return slices.ContainsFunc(c.objects, func(o render.Object) bool { return o.Kind == made.Kind && o.Name == made.Live.GetName() })
	}, false)
	if lost, ok := errors.AsType[*turn.LostError](err); ok {
		return errors.Join(lost, m.takeBack(cluster.WithGate(ctx, nil), t, func(observed.Owned) bool { return true }, true))
	}
	return err
}

// takeBack deletes the chosen objects among those that the migration has created, the last one first, unless somebody else relies
// on them. The error joins those of objects that could not be deleted.
func (m *leaseMigration) takeBack(ctx context.Context, t *marks, chosen func(observed.Owned) bool, lost bool) error {
	ctx, cancel := executor.UndoContext(ctx)
	defer cancel()
	var errs []error
	var stay []madeObject
	for _, made := range slices.Backward(m.made) {
		err := error(nil)
		isChosen := chosen(made.object)
		if isChosen {
			err = m.takeBackOne(ctx, t, made, lost)
		}
		if err != nil {
			o := cluster.Applicable(made.object.Kind, made.object.Live)
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", o, executor.UndoError(ctx, err)))
		}
		if err != nil || !isChosen {
			stay = append(stay, made)
		}
	}
	slices.Reverse(stay)
	m.made = stay
	return errors.Join(errs...)
}

// takeBackOne deletes an object that the migration has created. If somebody may have written it since, takeBackOne deletes it only
// if nobody else relies on it; it keeps an object that serves another lease since a transfer.
func (m *leaseMigration) takeBackOne(ctx context.Context, t *marks, made madeObject, lost bool) (err error) {
	o := made.object
	namespace, name := o.Live.GetNamespace(), o.Live.GetName()
	first := o.Live
	if made.unsure {
		if first, err = m.x.Cluster.Get(ctx, o.Kind, namespace, name); err != nil || first == nil || first.GetUID() != o.Live.GetUID() {
			return err
		}
	}
	deleted, err := m.x.Cluster.Remove(ctx, o.Kind, first, func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if another, err := m.servesAnother(ctx, o); another || err != nil {
			return false, err
		}
		if now == o.Live && !lost {
			return true, nil
		}
		unneeded, err := m.isUnneeded(ctx, t, o, now, lost)
		if err == nil && !unneeded {
			m.x.Event(report.Left, o.Kind.Singular, namespace, name, "somebody else relies on it by now")
		}
		return unneeded, err
	})
	if deleted != nil {
		m.x.Event(report.Deleted, o.Kind.Singular, namespace, name, "taken back")
	}
	return err
}

// servesAnother reports whether an object serves another lease since a transfer: the next apply of that lease deletes it. It reads
// the claims, because the transfer may be newer than what was read.
func (m *leaseMigration) servesAnother(ctx context.Context, o observed.Owned) (bool, error) {
	for _, name := range m.x.Snapshot.ClaimsNear(o) {
		claim, err := observed.ReadClaim(ctx, m.x.Ledger, name)
		if err != nil {
			return false, err
		}
		for _, p := range claim.FormerOf(o.Group) {
			if observed.StandsFor(o, claim, p) {
				m.x.Event(report.Left, o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(),
					fmt.Sprintf("it is kept for lease %s until that is applied", p.Lease.Group()))
				return true, nil
			}
		}
	}
	return false, nil
}

// isUnneeded reports whether nobody else relies on an object that the migration has created: it belongs to the lease as it was
// written, and all parts that the lease holds and the object serves have the migration's mark. For a command that was taken for
// crashed, the lease must hold no such part at all: the other command decides on the marks.
func (m *leaseMigration) isUnneeded(ctx context.Context, t *marks, made observed.Owned, now *unstructured.Unstructured, lost bool) (bool, error) {
	id, labelled := lease.IDFromLabels(now.GetLabels())
	if !labelled || id.Group() != made.Group || now.GetAnnotations()[lease.AnnotationDefinition] != made.Live.GetAnnotations()[lease.AnnotationDefinition] {
		return false, nil
	}
	o := observed.Owned{Kind: made.Kind, Live: now, Group: made.Group}
	grounds, err := observed.ReadGrounds(ctx, m.x.Ledger, o)
	if len(grounds) == 0 && lost { // it accompanies a route: the other command has touched it if it relies on it
		return now.GetResourceVersion() == made.Live.GetResourceVersion(), err
	}
	return err == nil && !slices.ContainsFunc(grounds, func(g observed.Ground) bool {
		return slices.ContainsFunc(g.Claim.PartsOf(made.Group), func(p state.Part) bool {
			return observed.StandsFor(o, g.Claim, p) && (lost || p.Run == "" || p.Run != t.run)
		})
	}), err
}
