package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// write brings the lease's objects into the cluster: the pools that its addresses need, its namespace, Akash's objects under the lease's own manager, then what serves traffic.
func (r *objects) write(ctx context.Context, desired []render.Object) error {
	if len(desired) == 0 {
		return nil
	}
	if err := r.pools.ensure(ctx, r.addresses, r.writePool); err != nil {
		return err
	}
	if err := r.makeNamespace(ctx); err != nil {
		return err
	}
	for _, stage := range kinds.Stages {
		var objects []render.Object
		for _, o := range desired {
			if slices.Contains(stage, o.Kind) {
				objects = append(objects, o)
			}
		}
		if err := r.writeAll(ctx, r.operated.leaveTheirs(objects)); err != nil {
			return err
		}
	}
	return nil
}

// writePool writes a pool, or its advertisement.
func (r *objects) writePool(ctx context.Context, o render.Object) error {
	action, err := r.writeObject(ctx, o)
	if err == nil {
		r.event(action, o.Kind.Singular, o.Namespace, o.Name, "")
	}
	return err
}

// writeAll writes objects side by side and tells of them in their order. Once one is refused no
// other write begins; those under way end, so that it is known what has been made.
func (r *objects) writeAll(ctx context.Context, objects []render.Object) error {
	actions := make([]Action, len(objects))
	group, groupCtx := parallel.WithContext(ctx)
	group.SetLimit(r.opts.Concurrency)
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
			r.event(actions[i], o.Kind.Singular, o.Namespace, o.Name, r.unchecked(o))
		}
	}
	return err
}

// makeNamespace makes the lease's namespace where it is missing. The provider makes it in the
// normal course; its labels are Akash's either way. One that is there is never written: who may change
// the labels of namespaces can pass for any tenant.
func (r *objects) makeNamespace(ctx context.Context) error {
	name := r.req.Lease.Namespace()
	alive, exists := r.snapshot.namespaces[name]
	switch {
	case exists && !alive:
		return fmt.Errorf("namespace %s of lease %s is being deleted; apply again when it is gone", name, r.req.Lease)
	case exists, r.inPlace:
		return nil
	}
	o := NamespaceOf(r.req.Lease)
	if err := r.change(r.writeOf(o, nil)); err != nil {
		return err
	}
	made, err := r.create(ctx, o)
	r.inPlace = err == nil
	if err != nil || !made {
		return err
	}
	r.event(Created, o.Kind.Singular, "", name, "")
	return nil
}

// NamespaceOf is the namespace of a lease, with the labels that Akash's provider gives it.
func NamespaceOf(id lease.ID) render.Object {
	name := id.Namespace()
	return render.Object{Kind: kinds.Namespace, Name: name, Config: corev1.Namespace(name).WithLabels(state.LeaseNamespaceLabels(id))}
}

// writeObject applies one object unless the cluster holds it already just so. One that is being deleted is waited for.
func (r *objects) writeObject(ctx context.Context, o render.Object) (action Action, err error) {
	live := r.find(o)
	for {
		if live, err = r.awaitDeletion(ctx, o, live); err != nil {
			return "", err
		}
		action, err = r.writeOver(ctx, o, live)
		if _, ok := errors.AsType[*DeletingError](err); !ok || r.opts.Wait == 0 {
			return action, err
		}
		if live, err = r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return "", err
		}
	}
}

// writeOver applies one object over what is there, unless that is just so.
func (r *objects) writeOver(ctx context.Context, o render.Object, live *unstructured.Unstructured) (Action, error) {
	o, touch := r.touchedFrom(r.wakes(r.keepTaken(o, live)), live)
	if !touch && cluster.Unchanged(o, live, r.manager(o)) {
		return Unchanged, nil
	}
	if !touch { // else nothing changes but the run's nonce
		if err := r.change(r.writeOf(o, live)); err != nil {
			return "", err
		}
	}
	action, err := r.sendRoute(ctx, o, live)
	if touch && action == Configured {
		action = Unchanged // as far as the definition goes
	}
	return action, err
}

// find is the object as it was read before the run wrote anything.
func (r *objects) find(o render.Object) *unstructured.Unstructured {
	if r.running != nil && r.running.has(o) {
		return r.running.find(o)
	}
	return r.snapshot.find(o)
}

// manager is the field manager under which the run writes an object. What the lease runs is the lease's own.
func (r *objects) manager(o render.Object) string {
	if r.running != nil && r.running.has(o) {
		return r.group.FieldManager()
	}
	return managerOf(o.Kind, r.group)
}

// sendAgain applies an object that somebody else has made since the run has read: what has been written may
// have changed nothing of it, and the run's mark may be due. It is not the run's to take back.
func (r *objects) sendAgain(ctx context.Context, o render.Object) (Action, error) {
	live, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil || live == nil {
		return Configured, err
	}
	if o, touch := r.touchedFrom(o, live); touch || !cluster.Unchanged(o, live, r.manager(o)) {
		if _, _, err = r.patch(ctx, o, r.manager(o)); err != nil {
			return "", fmt.Errorf("%s: %w", o, r.cluster.Explain(err, "patch", o.Kind.Resource()))
		}
	}
	return Configured, nil
}

// unchecked says why the server cannot judge an object in a dry run.
func (r *objects) unchecked(o render.Object) string {
	if r.cluster.Unchecked(o.Namespace) {
		return "not checked by the server: its namespace does not exist yet"
	}
	return ""
}
