package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Write brings the lease's objects into the cluster: the pools that its addresses need, its namespace, Akash's objects under the lease's own manager, then what serves traffic.
func (r *Objects) Write(ctx context.Context, desired []render.Object) error {
	if len(desired) == 0 {
		return nil
	}
	if err := r.Pools.Ensure(ctx, r.Addresses, r); err != nil {
		return err
	}
	if err := r.MakeNamespace(ctx); err != nil {
		return err
	}
	if err := r.lookAgain(ctx, desired); err != nil {
		return err
	}
	for _, stage := range kinds.Stages {
		var objects []render.Object
		for _, o := range desired {
			if slices.Contains(stage, o.Kind) {
				objects = append(objects, o)
			}
		}
		if err := r.WriteAll(ctx, r.Operated.LeaveTheirs(objects)); err != nil {
			return err
		}
	}
	return nil
}

// WritePool writes a pool, or its advertisement.
func (r *Objects) WritePool(ctx context.Context, o render.Object) error {
	action, err := r.writeObject(ctx, o)
	if err == nil {
		r.Event(action, o.Kind.Singular, o.Namespace, o.Name, "")
	}
	return err
}

// NeedPool notes in the plan that the lease needs a pool, or its advertisement, which was written for another.
func (r *Objects) NeedPool(o render.Object) error {
	live := r.Find(o)
	o, touch := r.TouchedFrom(o, live)
	if touch || cluster.Unchanged(o, live, r.Manager(o)) {
		return nil
	}
	return r.Change(r.WriteOf(o, live))
}

// WriteAll writes objects side by side and tells of them in their order. Once one is refused no
// other write begins; those under way end, so that it is known what has been made.
func (r *Objects) WriteAll(ctx context.Context, objects []render.Object) error {
	actions := make([]report.Action, len(objects))
	group, groupCtx := parallel.WithContext(ctx)
	group.SetLimit(r.Options.Concurrency)
	for i, o := range objects {
		group.Go(func() (err error) {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			actions[i], err = r.writeObject(ctx, o)
			return err
		})
	}
	err := group.Wait()
	for i, o := range objects {
		if actions[i] != "" {
			r.Event(actions[i], o.Kind.Singular, o.Namespace, o.Name, r.Unchecked(o))
		}
	}
	return err
}

// MakeNamespace makes the lease's namespace where it is missing. The provider makes it in the
// normal course; its labels are Akash's either way. One that is there is never written: who may change
// the labels of namespaces can pass for any tenant.
func (r *Objects) MakeNamespace(ctx context.Context) error {
	name := r.Request.Lease.Namespace()
	alive, exists := r.Snapshot.Namespaces[name]
	switch {
	case exists && !alive:
		return fmt.Errorf("namespace %s of lease %s is being deleted; apply again when it is gone", name, r.Request.Lease)
	case exists, r.inPlace:
		return nil
	}
	o := NamespaceOf(r.Request.Lease)
	if err := r.Change(r.WriteOf(o, nil)); err != nil {
		return err
	}
	made, err := r.Create(ctx, o)
	r.inPlace = err == nil
	if err != nil || !made {
		return err
	}
	r.Event(report.Created, o.Kind.Singular, "", name, "")
	return nil
}

// NamespaceOf is the namespace of a lease, with the labels that Akash's provider gives it.
func NamespaceOf(id lease.ID) render.Object {
	name := id.Namespace()
	return render.Object{Kind: kinds.Namespace, Name: name, Config: corev1.Namespace(name).WithLabels(state.LeaseNamespaceLabels(id))}
}

// writeObject applies one object unless the cluster holds it already just so. One that is being deleted is waited for.
func (r *Objects) writeObject(ctx context.Context, o render.Object) (action report.Action, err error) {
	live := r.Find(o)
	for {
		if live, err = r.AwaitDeletion(ctx, o, live); err != nil {
			return "", err
		}
		action, err = r.writeOver(ctx, o, live)
		if _, ok := errors.AsType[*report.DeletingError](err); !ok || r.Options.Wait == 0 {
			return action, err
		}
		if live, err = r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return "", err
		}
	}
}

// writeOver applies one object over what is there, unless that is just so.
func (r *Objects) writeOver(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	o, touch := r.TouchedFrom(r.wakes(r.KeepTaken(o, live)), live)
	if !touch && cluster.Unchanged(o, live, r.Manager(o)) {
		return report.Unchanged, nil
	}
	if !touch { // else nothing changes but the run's nonce
		if err := r.Change(r.WriteOf(o, live)); err != nil {
			return "", err
		}
	}
	action, err := r.sendRoute(ctx, o, live)
	if touch && action == report.Configured {
		action = report.Unchanged // as far as the definition goes
	}
	return action, err
}

// lookAgain reads the objects of a lease that comes after others which asked for the same: these may have deleted or made some.
func (r *Objects) lookAgain(ctx context.Context, desired []render.Object) (err error) {
	if !r.Late {
		return nil
	}
	r.again = map[string]*unstructured.Unstructured{}
	for _, o := range desired {
		if r.again[o.String()], err = r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return err
		}
	}
	return nil
}

// Find is the object as it was read before the run wrote anything. Pools are as they were before any lease of the command.
func (r *Objects) Find(o render.Object) *unstructured.Unstructured {
	if slices.Contains(kinds.Pools, o.Kind) {
		return r.Pools.Find(o)
	}
	if live, read := r.again[o.String()]; read {
		return live
	}
	if r.Running != nil && r.Running.Has(o) {
		return r.Running.Find(o)
	}
	return r.Snapshot.Find(o)
}

// Manager is the field manager under which the run writes an object. What the lease runs is the lease's own.
func (r *Objects) Manager(o render.Object) string {
	if r.Running != nil && r.Running.Has(o) {
		return r.Group.FieldManager()
	}
	return observed.ManagerOf(o.Kind, r.Group)
}

// SendAgain applies an object that somebody else has made since the run has read: what has been written may
// have changed nothing of it, and the run's mark may be due. It is not the run's to take back.
func (r *Objects) SendAgain(ctx context.Context, o render.Object) (report.Action, error) {
	live, err := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil || live == nil {
		return report.Configured, err
	}
	if o, touch := r.TouchedFrom(o, live); touch || !cluster.Unchanged(o, live, r.Manager(o)) {
		if _, _, err = r.Patch(ctx, o, r.Manager(o)); err != nil {
			return "", fmt.Errorf("%s: %w", o, r.Cluster.Explain(err, "patch", o.Kind.Resource()))
		}
	}
	return report.Configured, nil
}

// Unchecked says why the server cannot judge an object in a dry run.
func (r *Objects) Unchecked(o render.Object) string {
	if r.Cluster.Unchecked(o.Namespace) {
		return "not checked by the server: its namespace does not exist yet"
	}
	return ""
}
