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

// SendObject sends one object and says what became of it.
func (x *Executor) SendObject(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	action := report.Configured
	if live == nil {
		action = report.Created
	}
	meta, made, err := x.Patch(ctx, o, x.By.Manager(o))
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
	case meta.UID != live.GetUID(): // it had gone meanwhile
		action = report.Created
	}
	if !shared(o.Kind) {
		x.wroteObject(o, live, action, meta)
	}
	return action, nil
}

// wroteObject notes what is to be taken back where the work fails.
func (x *Executor) wroteObject(o render.Object, live *unstructured.Unstructured, action report.Action, meta *metav1.PartialObjectMetadata) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch action {
	case report.Created:
		x.made = append(x.made, MadeObject{Object: o, uid: meta.UID, resourceVersion: meta.ResourceVersion})
	case report.Configured:
		x.altered = append(x.altered, alteredObject{object: o, before: live, answer: meta})
	}
}

// shared is true for what others may rely on as soon as it is there: it is not taken back.
func shared(kind kinds.Kind) bool {
	return kind == kinds.Namespace || slices.Contains(kinds.Pools, kind)
}

// Patch applies an object. Where the answer leaves open whether it took effect the object is read, and what is
// not there as it was sent is sent again: else what it made would stay behind unknown.
// Made is true where the object was not there before, as far as the answers tell.
func (x *Executor) Patch(ctx context.Context, o render.Object, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	again := false
	pinned := x.pinned(o)
	tried := x.Cluster.Retry(ctx, func(context.Context) (bool, error) {
		meta, made, err = x.Cluster.Patch(ctx, pinned, manager)
		if again && !made { // what is there may be what the first request has made
			made = true
			x.mayBeOthers(o)
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
				x.mayBeOthers(o)
				meta, err = metaOf(now)
			}
		}
		return done, nil
	})
	return meta, made, cmp.Or(err, tried)
}

// mayBeOthers notes an object of which no answer says who has made it.
func (x *Executor) mayBeOthers(o render.Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.unsure[o.String()] = true
}

// metaOf is the metadata of an object, as the answer to a write has it.
func metaOf(o *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	return meta, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, meta)
}

// Create makes an object unless somebody else has made it. Where the answer leaves open whether it took
// effect it is sent again, and what is there then counts as made.
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

// Seize applies an object by force, pinned to what was read. Where the answer leaves open whether it
// took effect, the object is looked at.
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

// PinOf is the resource version to which the write of an object is pinned. Where there is none, or one that goes, it is
// one that no object has: the write then makes the object, and fails on one that is there.
func PinOf(live *unstructured.Unstructured) string {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return cluster.Unwritten
	}
	return live.GetResourceVersion()
}

// pinned is the object with the resource version that its write is pinned to, if it is to any. A run that
// carries out a plan pins every object to what was read, but for records, which may be made anew.
func (x *Executor) pinned(o render.Object) render.Object {
	pin := x.pins[o.String()]
	if x.Only != nil && !slices.Contains(kinds.Records, o.Kind) {
		pin = PinOf(x.By.Find(o))
		if own := cluster.Rendered(o).GetResourceVersion(); own != "" {
			pin = own
		}
	}
	if pin == "" {
		return o
	}
	body := cluster.Rendered(o)
	body.SetResourceVersion(pin)
	return render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body}
}

// patchMoved sends an object again of which a write was refused because somebody has written it since it was read, as
// long as the plan holds: controllers write its status.
func (x *Executor) patchMoved(ctx context.Context, o render.Object) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	for range Looks {
		live, err := x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if err != nil {
			return nil, false, err
		}
		if err := x.Change(x.WriteOf(o, live)); err != nil {
			return nil, false, err
		}
		body := cluster.Rendered(o)
		body.SetResourceVersion(PinOf(live))
		meta, made, err = x.Patch(ctx, render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body}, x.By.Manager(o))
		if !cluster.IsOvertaken(err) {
			return meta, made, err
		}
	}
	return nil, false, x.moved(plan.Change{Kind: o.Kind.Singular, Namespace: o.Namespace, Name: o.Name})
}
