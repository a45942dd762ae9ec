package executor

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// SendObject applies an object over the live one, which may be nil, and returns what it has done.
func (x *Executor) SendObject(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	action := report.Configured
	if live == nil {
		action = report.Created
	}
	meta, made, err := x.patchOver(ctx, o, live)
	if x.Only != nil && (cluster.IsOvertaken(err) || cluster.IsOwned(err)) {
		meta, made, err = x.patchMoved(ctx, o)
	}
	if err == nil && !made && (live == nil || meta.UID != live.GetUID()) {
		return x.By.SendAgain(ctx, o)
	}
	if cluster.IsOwned(err) {
		var taken bool
		if taken, err = x.By.Refused(ctx, o, err); err != nil {
			return "", err
		}
		if taken {
			return report.Configured, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", o, x.Cluster.Explain(err, "patch", o.Kind.Resource()))
	}
	if meta.DeletionTimestamp != nil && x.Cluster.Waits() {
		return "", &report.DeletingError{Object: o, Finalizers: meta.Finalizers}
	}
	switch {
	case live == nil:
	case meta.ResourceVersion == live.GetResourceVersion():
		return report.Unchanged, nil
	case meta.UID != live.GetUID(): // it was deleted meanwhile
		action = report.Created
	}
	if o.Kind != kinds.Namespace && !slices.Contains(kinds.Pools, o.Kind) { // others rely on these at once: they are not undone
		x.remember(o, live, action, meta)
	}
	return action, nil
}

// remember records a write that is undone if the run fails.
func (x *Executor) remember(o render.Object, live *unstructured.Unstructured, action report.Action, meta *metav1.PartialObjectMetadata) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch action {
	case report.Created:
		x.made = append(x.made, MadeObject{Object: o, uid: meta.UID, resourceVersion: meta.ResourceVersion})
	case report.Configured:
		x.altered = append(x.altered, alteredObject{object: o, before: live, answer: meta})
	}
}

// patchOver applies an object over the live one, which may be nil, pinned to its version: a command that was taken for
// crashed, and goes on, must not write over what its successor has written. If the object has changed, patchOver reads
// it again; before its next write the command asks whether it was taken for crashed (turn.Turn).
func (x *Executor) patchOver(ctx context.Context, o render.Object, live *unstructured.Unstructured) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	manager := x.By.Manager(o)
	if live == nil || x.pinOf(o) != "" {
		return x.Patch(ctx, o, manager)
	}
	for range Looks {
		meta, made, err = x.patch(ctx, o, pinTo(o, live.GetResourceVersion()), manager)
		if !cluster.IsOvertaken(err) {
			return meta, made, err
		}
		if live, err = x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return nil, false, err
		}
		if live == nil {
			break
		}
	}
	return x.patch(ctx, o, o, manager)
}

// Patch applies an object. If the answer does not tell whether the write took effect, it reads the object, and applies
// it again unless it is as wanted: otherwise the run would not know of an object that it has created. made is true if
// the object did not exist before, or if a lost answer may have created it.
func (x *Executor) Patch(ctx context.Context, o render.Object, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	return x.patch(ctx, o, x.pinned(o), manager)
}

// patch is Patch with the object as it is sent first: pinned, or as it is.
func (x *Executor) patch(ctx context.Context, o, pinned render.Object, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	again := false
	tried := x.Cluster.Retry(ctx, func(context.Context) (bool, error) {
		meta, made, err = x.Cluster.Patch(ctx, pinned, manager)
		if again && !made { // the first request may have created the object
			made = true
			x.noteUnsure(o)
		}
		if again = true; x.Only == nil {
			pinned = o
		}
		done := err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil
		if !done {
			now, failed := x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
			switch {
			case cluster.IsAway(failed):
				err, done = failed, true
			case failed == nil && cluster.Unchanged(o, now, manager):
				done, made = true, true
				x.noteUnsure(o)
				meta, err = metaOf(now)
			}
		}
		return done, nil
	})
	return meta, made, cmp.Or(err, tried)
}

// noteUnsure remembers an object that either this run or somebody else has created.
func (x *Executor) noteUnsure(o render.Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unsure[o.String()] = true
}

// metaOf returns the metadata of an object in the form of an answer to a write.
func metaOf(o *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	return meta, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, meta)
}

// Create creates an object; made is false if it exists already. If the answer does not tell whether the write took
// effect, it sends the request again, and counts an object that exists then as created.
func (x *Executor) Create(ctx context.Context, o render.Object) (made bool, err error) {
	unclear := false
	tried := x.Cluster.Retry(ctx, func(context.Context) (bool, error) {
		err = x.Cluster.Create(ctx, o, x.By.Manager(o))
		made = err == nil || unclear && apierrors.IsAlreadyExists(err)
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		unclear = unclear || cluster.IsUnclear(err)
		return err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil, nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", o, x.Cluster.Explain(err, "create", o.Kind.Resource()))
	}
	return made, cmp.Or(err, tried)
}

// Seize applies an object by force, pinned to the version that was read. If the answer does not tell whether the write
// took effect, it reads the object.
func (x *Executor) Seize(ctx context.Context, o render.Object, live *unstructured.Unstructured) error {
	return x.Cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		err := x.Cluster.Seize(ctx, o, x.By.Manager(o), live)
		if err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil {
			return err == nil, err
		}
		now, err := x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		return err == nil && now != nil && cluster.Unchanged(o, now, x.By.Manager(o)), err
	})
}

// PinOf returns the resource version to which the write of an object is pinned. If there is no live object, or it is
// being deleted, it returns a version that no object has: the write then creates the object, and fails if one exists.
func PinOf(live *unstructured.Unstructured) string {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return cluster.Unwritten
	}
	return live.GetResourceVersion()
}

// pinOf returns the resource version to which a write of the object must be pinned, or "". A run that carries out a plan
// pins every object to the version that was read, except DNS records, which it may delete and create.
func (x *Executor) pinOf(o render.Object) string {
	if x.Only == nil || slices.Contains(kinds.Records, o.Kind) {
		return x.pins[o.String()]
	}
	return cmp.Or(cluster.Rendered(o).GetResourceVersion(), PinOf(x.By.Find(o)))
}

// pinned returns the object with the resource version to which its write must be pinned, if any.
func (x *Executor) pinned(o render.Object) render.Object {
	if pin := x.pinOf(o); pin != "" {
		return pinTo(o, pin)
	}
	return o
}

// pinTo returns the object with a resource version.
func pinTo(o render.Object, version string) render.Object {
	body := cluster.Rendered(o)
	body.SetResourceVersion(version)
	o.Config = body
	return o
}

// patchMoved applies an object again after the API server has refused a pinned write. It reads the object and checks
// that the change is still the one of the plan: controllers write the status of objects.
func (x *Executor) patchMoved(ctx context.Context, o render.Object) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	for range Looks {
		live, err := x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if err != nil {
			return nil, false, err
		}
		if err := x.Change(x.WriteOf(o, live)); err != nil {
			return nil, false, err
		}
		meta, made, err = x.Patch(ctx, pinTo(o, PinOf(live)), x.By.Manager(o))
		if !cluster.IsOvertaken(err) {
			return meta, made, err
		}
	}
	return nil, false, x.moved(plan.Change{Kind: o.Kind.Singular, Namespace: o.Namespace, Name: o.Name})
}
