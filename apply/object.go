package apply

import (
	"cmp"
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/render"
)

// patch applies an object. Where the answer leaves open whether it took effect it is sent again, when
// the server answers a read: else what it made would stay behind unknown.
func (r *run) patch(ctx context.Context, o render.Object) (meta *metav1.PartialObjectMetadata, err error) {
	tried := wait.ExponentialBackoffWithContext(ctx, retries, func(context.Context) (bool, error) {
		meta, err = r.cluster.patch(ctx, o, r.manager(o), r.opts.DryRun == DryRunServer)
		done := err == nil || !isUnclear(err) || ctx.Err() != nil
		if !done {
			if _, gone := r.cluster.get(ctx, o.Kind, o.Namespace, o.Name); isAway(gone) {
				err, done = gone, true
			}
		}
		return done, nil
	})
	return meta, cmp.Or(err, tried)
}

// patch applies an object without force.
func (c *Cluster) patch(ctx context.Context, o render.Object, manager string, dryRun bool) (*metav1.PartialObjectMetadata, error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	opts := metav1.PatchOptions{FieldManager: manager, FieldValidation: unwarned}
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	var meta *metav1.PartialObjectMetadata
	err = c.write(ctx, func(write context.Context) (err error) {
		meta, err = c.metadata.Resource(o.Kind.Resource()).Namespace(o.Namespace).Patch(write, o.Name, types.ApplyPatchType, body, opts)
		return err
	})
	return meta, err
}

// seize applies an object by force, pinned to what was read. Where the answer leaves open whether it
// took effect, the object is looked at.
func (r *run) seize(ctx context.Context, o render.Object, live *unstructured.Unstructured) error {
	return wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		err := r.cluster.seize(ctx, o, r.manager(o), live)
		if err == nil || !isUnclear(err) || ctx.Err() != nil {
			return err == nil, err
		}
		now, err := r.cluster.get(ctx, o.Kind, o.Namespace, o.Name)
		return err == nil && now != nil && unchanged(o, now, r.manager(o)), err
	})
}

// seize applies an object by force, pinned to what was read.
func (c *Cluster) seize(ctx context.Context, o render.Object, manager string, live *unstructured.Unstructured) error {
	pinned := rendered(o)
	pinned.SetUID(live.GetUID())
	pinned.SetResourceVersion(live.GetResourceVersion())
	body, err := pinned.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	return c.write(ctx, func(write context.Context) error {
		_, err := c.metadata.Resource(o.Kind.Resource()).Namespace(o.Namespace).Patch(write, o.Name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: unwarned})
		return err
	})
}

// deletePinned deletes an object that is the very one that was read. It is done when there is no
// such object any more.
func (c *Cluster) deletePinned(ctx context.Context, kind render.Kind, namespace, name string, uid types.UID, resourceVersion string, dryRun bool) error {
	pin := &metav1.Preconditions{UID: &uid}
	if resourceVersion != "" {
		pin.ResourceVersion = &resourceVersion
	}
	opts := metav1.DeleteOptions{Preconditions: pin}
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	err := c.write(ctx, func(write context.Context) error {
		return c.metadata.Resource(kind.Resource()).Namespace(namespace).Delete(write, name, opts)
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
