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
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// SendObject applies an object over the live one, which may be nil, and returns what it has done.
func (x *Executor) SendObject(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	action := report.Configured
	if live == nil {
		action = report.Created
	}
	meta, made, err := x.PatchOver(ctx, o, live)
	switch {
	case x.Only != nil && (cluster.IsOvertaken(err) || cluster.IsOwned(err)):
		meta, made, err = x.patchMoved(ctx, o)
	case live == nil && x.pins[o.String()] == Pin{} && cluster.IsOvertaken(err):
		return x.By.SendAgain(ctx, o)
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

// PatchOver applies an object over the live one, which may be nil, pinned to it: a command that was taken for crashed,
// and goes on, must not write over what its successor has written, nor make what that has deleted. If the object has
// changed, PatchOver reads it again, and the next attempt asks whether the command was taken for crashed. An object that
// somebody has made where there was none is the caller's to decide on: the error is that of a stale write.
func (x *Executor) PatchOver(ctx context.Context, o render.Object, live *unstructured.Unstructured) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	manager := x.By.Manager(o)
	if pin := x.pinOf(o); pin != (Pin{}) {
		return x.patch(ctx, o, pin, true, manager)
	}
	for range Looks {
		meta, made, err = x.patch(ctx, o, versionOf(live), false, manager)
		if live == nil || !cluster.IsOvertaken(err) {
			return meta, made, err
		}
		if live, err = x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return nil, false, err
		}
		ctx = cluster.Anew(ctx)
	}
	return nil, false, fmt.Errorf("%s: %w", o, cluster.ErrMoving)
}

// Patch applies an object that has its pin already. One without a pin is made, if there is none.
func (x *Executor) Patch(ctx context.Context, o render.Object, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	pin := x.pinOf(o)
	if body := cluster.Rendered(o); pin == (Pin{}) {
		pin = Pin{body.GetUID(), body.GetResourceVersion()}
	}
	if pin == (Pin{}) {
		pin = versionOf(nil)
	}
	return x.patch(ctx, o, pin, true, manager)
}

// patch sends an apply. If the answer does not tell whether it took effect, patch reads the object: otherwise the run
// would not know of an object that it has created. It sends the apply again unless the object is as wanted: with the
// same pin if that is strict, and otherwise pinned to what was read. made is true if the object did not exist before, or
// if a lost answer may have created it.
func (x *Executor) patch(ctx context.Context, o render.Object, pin Pin, strict bool, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	again := false
	tried := x.Cluster.Retry(ctx, func(context.Context) (bool, error) {
		meta, made, err = x.Cluster.Patch(ctx, pin.on(o), manager)
		if again && !made { // the first request may have created the object
			made = true
			x.noteUnsure(o)
		}
		if open := cluster.IsUnclear(err) || again && cluster.IsOvertaken(err); err == nil || !open || ctx.Err() != nil {
			return true, nil //nolint:nilerr // the error is that of patch
		}
		again = true
		now, failed := x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		switch {
		case cluster.IsAway(failed):
			err = failed
			return true, nil
		case failed != nil:
			return false, nil //nolint:nilerr // it is read again
		case cluster.Unchanged(o, now, manager):
			made = true
			x.noteUnsure(o)
			meta, err = metaOf(now)
			return true, nil
		case cluster.IsOvertaken(err): // somebody else has written it
			return true, nil
		}
		if !strict {
			pin = versionOf(now)
		}
		ctx = cluster.Anew(ctx)
		return false, nil
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
		meta, made, err = x.patch(cluster.Anew(ctx), o, PinOf(live), true, x.By.Manager(o))
		if !cluster.IsOvertaken(err) {
			return meta, made, err
		}
	}
	return nil, false, x.moved(plan.Change{Kind: o.Kind.Singular, Namespace: o.Namespace, Name: o.Name})
}
