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
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Write writes the pools of the lease's addresses, its namespace, and its objects stage by stage: Akash's objects
// first, then those that serve traffic.
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
	for _, stage := range kinds.Stages {
		var objects []render.Object
		for _, o := range desired {
			if slices.Contains(stage, o.Kind) {
				objects = append(objects, o)
			}
		}
		rest, err := r.Operated.LeaveTheirs(objects)
		if err == nil {
			err = r.WriteAll(ctx, rest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WritePool writes a pool or its advertisement.
func (r *Objects) WritePool(ctx context.Context, o render.Object) error {
	action, err := r.writeObject(ctx, o)
	if err == nil {
		r.Event(action, o.Kind.Singular, o.Namespace, o.Name, "")
	}
	return err
}

// WriteAll writes objects in parallel and reports them in order. After an error it starts no further write, but lets
// running ones finish, so that the run knows what it has created.
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

// MakeNamespace creates the lease's namespace, with Akash's labels, if it does not exist. Usually Akash's provider
// creates it. It never changes an existing namespace: whoever may change the labels of namespaces can act as any
// tenant.
func (r *Objects) MakeNamespace(ctx context.Context) error {
	name := r.Request.Lease.Namespace()
	alive, exists := r.Snapshot.Namespaces[name]
	switch {
	case exists && !alive:
		return fmt.Errorf("namespace %s of lease %s is being deleted; apply again when it is gone", name, r.Request.Lease)
	case exists, r.namespaceCreated:
		return nil
	}
	o := NamespaceOf(r.Request.Lease)
	if err := r.Change(r.WriteOf(o, nil)); err != nil {
		return err
	}
	made, err := r.Create(ctx, o)
	r.namespaceCreated = err == nil
	if err != nil || !made {
		return err
	}
	r.Event(report.Created, o.Kind.Singular, "", name, "")
	return nil
}

// NamespaceOf returns the namespace of a lease, with the labels that Akash's provider gives it.
func NamespaceOf(id lease.ID) render.Object {
	name := id.Namespace()
	return render.Object{Kind: kinds.Namespace, Name: name, Config: corev1.Namespace(name).WithLabels(state.LeaseNamespaceLabels(id))}
}

// writeObject applies an object unless the live one is as wanted. If that is being deleted, it waits until it is gone.
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

// writeOver applies an object over the live one, which may be nil, unless that is as wanted.
func (r *Objects) writeOver(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	o, touch := r.TouchedFrom(r.requestDeploy(r.KeepTaken(o, live)), live)
	if !touch && cluster.Unchanged(o, live, r.Manager(o)) {
		return report.Unchanged, nil
	}
	if !touch { // otherwise only the run's nonce changes
		if err := r.Change(r.WriteOf(o, live)); err != nil {
			return "", err
		}
	}
	action, err := r.sendRoute(ctx, o, live)
	if touch && action == report.Configured {
		action = report.Unchanged // the nonce is no change of the definition
	}
	return action, err
}

// Find returns the object as it was read before the run's first write, nil if there was none. Pools are as they were before
// any lease of the command wrote.
func (r *Objects) Find(o render.Object) *unstructured.Unstructured {
	if slices.Contains(kinds.Pools, o.Kind) {
		return r.Pools.Find(o)
	}
	return r.Snapshot.Find(o)
}

// Manager returns the field manager under which the run applies an object.
func (r *Objects) Manager(o render.Object) string {
	return observed.ManagerOf(o.Kind, r.Group)
}

// SendAgain applies an object again that somebody else has created since the run read: the first apply may have changed
// nothing, and the object may need the run's nonce. The run does not undo it.
func (r *Objects) SendAgain(ctx context.Context, o render.Object) (report.Action, error) {
	live, err := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return "", err
	}
	now, touch := r.TouchedFrom(o, live)
	if !touch && cluster.Unchanged(now, live, r.Manager(o)) {
		return report.Configured, nil
	}
	_, _, err = r.PatchOver(cluster.Anew(ctx), now, live)
	if cluster.IsOwned(err) {
		_, err = r.Refused(ctx, now, err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", o, r.Cluster.Explain(err, "patch", o.Kind.Resource()))
	}
	return report.Configured, nil
}

// Unchecked returns the reason why the API server cannot check an object in a dry run, if there is one.
func (r *Objects) Unchecked(o render.Object) string {
	if r.Cluster.Unchecked(o.Namespace) {
		return "not checked by the server: its namespace does not exist yet"
	}
	return ""
}
