package apply

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
	"github.com/akash-net/kubectl-akash-net/render"
)

// patch applies an object. Where the answer leaves open whether it took effect the object is read, and what is
// not there as it was sent is sent again: else what it made would stay behind unknown.
// Made is true where the object was not there before, as far as the answers tell.
func (r *run) patch(ctx context.Context, o render.Object) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	return r.patchAs(ctx, o, r.manager(o))
}

// patchAs is patch under a field manager.
func (r *run) patchAs(ctx context.Context, o render.Object, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	again := false
	pinned := r.pinned(o)
	tried := r.ledger.Retrying(ctx, func(context.Context) (bool, error) {
		meta, made, err = r.cluster.Patch(ctx, pinned, manager)
		if again && !made { // what is there may be what the first request has made
			made = true
			r.mayBeOthers(o)
		}
		if again = true; r.only == nil {
			pinned = o
		}
		done := err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil
		if !done {
			now, failed := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
			switch {
			case cluster.IsAway(failed):
				err, done = failed, true
			case failed == nil && cluster.Unchanged(o, now, manager):
				done, made = true, true
				r.mayBeOthers(o)
				meta, err = metaOf(now)
			}
		}
		return done, nil
	})
	return meta, made, cmp.Or(err, tried)
}

// mayBeOthers notes an object of which no answer says who has made it.
func (r *run) mayBeOthers(o render.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsure[o.String()] = true
}

// metaOf is the metadata of an object, as the answer to a write has it.
func metaOf(o *unstructured.Unstructured) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	return meta, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, meta)
}

// create makes an object unless somebody else has made it. Where the answer leaves open whether it took
// effect it is sent again, and what is there then counts as made.
func (r *run) create(ctx context.Context, o render.Object) (made bool, err error) {
	unclear := false
	tried := r.ledger.Retrying(ctx, func(context.Context) (bool, error) {
		err = r.cluster.Create(ctx, o, r.manager(o))
		made = err == nil || unclear && apierrors.IsAlreadyExists(err)
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		unclear = unclear || cluster.IsUnclear(err)
		return err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil, nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", o, r.cluster.Explain(err, "create", o.Kind.Resource()))
	}
	return made, cmp.Or(err, tried)
}

// seize applies an object by force, pinned to what was read. Where the answer leaves open whether it
// took effect, the object is looked at.
func (r *run) seize(ctx context.Context, o render.Object, live *unstructured.Unstructured) error {
	return r.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		err := r.cluster.Seize(ctx, o, r.manager(o), live)
		if err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil {
			return err == nil, err
		}
		now, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		return err == nil && now != nil && cluster.Unchanged(o, now, r.manager(o)), err
	})
}

// pinOf is the resource version to which the write of an object is pinned. Where there is none it is one that
// no object has: the write then makes the object, and fails on one that is there.
func pinOf(live *unstructured.Unstructured) string {
	if live == nil {
		return cluster.Unwritten
	}
	return live.GetResourceVersion()
}

// pinned is the object with the resource version that its write is pinned to, if it is to any. A run that
// carries out a plan pins every object to what was read, but for records, which may be made anew.
func (r *run) pinned(o render.Object) render.Object {
	pin := r.pins[o.String()]
	if r.only != nil && !slices.Contains(kinds.Records, o.Kind) {
		pin = pinOf(r.snapshot.find(o))
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
