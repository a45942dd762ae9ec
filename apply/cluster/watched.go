package cluster

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Watched has objects as watches keep them up to date. What it returns belongs to all who ask: nobody changes it. All of its methods
// return ErrUnwatched for a resource of which it has nothing, and a MissingKindError for one that the cluster does not serve.
type Watched interface {
	// Objects returns whole objects, Metas the metadata of objects, in all namespaces if namespace is empty. The metadata of one
	// resource is that of one moment.
	Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*unstructured.Unstructured, error)
	Metas(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*metav1.ObjectMeta, error)
	// Meta returns the metadata of one object, nil if there is none.
	Meta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error)
}

// ErrUnwatched says that a resource is not watched.
var ErrUnwatched = errors.New("it is not watched")

// Watching returns the same connection for a command that may begin with what is watched (see Early).
func (c *Cluster) Watching(w Watched) *Cluster {
	out := *c
	out.watched, out.memory = w, &Memory{by: map[types.UID]remembered{}}
	return &out
}

type earlyKey struct{}

// Early returns a context for what a command reads before it is announced. It may be a moment old: whatever the command writes by it
// is pinned, and what it gives up it reads again. So a command that has watches sends no request for it.
func Early(ctx context.Context) context.Context { return context.WithValue(ctx, earlyKey{}, true) }

// early returns what is watched, nil if the request has to be sent.
func (c *Cluster) early(ctx context.Context) Watched {
	if c.watched == nil || ctx.Value(earlyKey{}) == nil {
		return nil
	}
	return c.watched
}

// IsEarly reports whether what is read is answered from what is watched, as far as that goes.
func (c *Cluster) IsEarly(ctx context.Context) bool { return c.early(ctx) != nil }

// earlyObjects lists whole objects from what is watched, or from files.
func (c *Cluster) earlyObjects(
	ctx context.Context, resource schema.GroupVersionResource, namespace, selector string,
) ([]*unstructured.Unstructured, error) {
	w := c.early(ctx)
	if f, ok := c.fromFiles(); w == nil && ok {
		return f.list(resource, namespace, selector)
	}
	if w == nil {
		return nil, ErrUnwatched
	}
	all, err := w.Objects(ctx, resource, namespace)
	return chosen(all, err, selector, (*unstructured.Unstructured).GetLabels)
}

// earlyMetas lists metadata from what is watched, or from files.
func (c *Cluster) earlyMetas(
	ctx context.Context, resource schema.GroupVersionResource, namespace, selector string,
) ([]*metav1.ObjectMeta, error) {
	w := c.early(ctx)
	if f, ok := c.fromFiles(); w == nil && ok {
		whole, err := f.list(resource, namespace, selector)
		return metasOf(whole), err
	}
	if w == nil {
		return nil, ErrUnwatched
	}
	all, err := w.Metas(ctx, resource, namespace)
	if errors.Is(err, ErrUnwatched) { // it may be watched whole
		var whole []*unstructured.Unstructured
		whole, err = w.Objects(ctx, resource, namespace)
		all = metasOf(whole)
	}
	return chosen(all, err, selector, (*metav1.ObjectMeta).GetLabels)
}

func metasOf(whole []*unstructured.Unstructured) []*metav1.ObjectMeta {
	all := make([]*metav1.ObjectMeta, len(whole))
	for i, o := range whole {
		all[i] = metaOf(o)
	}
	return all
}

// metaOf returns the metadata of an object.
func metaOf(o *unstructured.Unstructured) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(), UID: o.GetUID(),
		ResourceVersion: o.GetResourceVersion(), Generation: o.GetGeneration(), CreationTimestamp: o.GetCreationTimestamp(),
		DeletionTimestamp: o.GetDeletionTimestamp(), Finalizers: o.GetFinalizers(), OwnerReferences: o.GetOwnerReferences(), ManagedFields: o.GetManagedFields(),
	}
}

// chosen returns the objects that a label selector selects.
func chosen[T any](all []T, err error, selector string, labelsOf func(T) map[string]string) ([]T, error) {
	if err != nil || selector == "" {
		return all, err
	}
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool { return !parsed.Matches(labels.Set(labelsOf(o))) }), nil
}

// EarlyMeta returns the metadata of one object from what is watched, nil if there is none.
func (c *Cluster) EarlyMeta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error) {
	w := c.early(ctx)
	if w == nil {
		return nil, ErrUnwatched
	}
	return w.Meta(ctx, resource, namespace, name)
}
