package watch

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
)

// watched answers from controller-runtime's cache (cluster.Watched).
type watched struct {
	cache cache.Cache

	mu sync.RWMutex
	// kinds are the resources that are watched, missing those that the cluster did not serve when it was asked.
	kinds   map[schema.GroupVersionResource]watching
	missing map[schema.GroupVersionResource]bool
}

// kindOf returns the kind of a resource that is watched in a namespace, or in all if that is empty.
func (w *watched) kindOf(resource schema.GroupVersionResource, namespace string) (schema.GroupVersionKind, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if of, ok := w.kinds[resource]; ok && (of.namespace == "" || of.namespace == namespace) {
		return of.object.GetObjectKind().GroupVersionKind(), nil
	}
	if w.missing[resource] {
		return schema.GroupVersionKind{}, &cluster.MissingKindError{Resource: resource}
	}
	return schema.GroupVersionKind{}, cluster.ErrUnwatched
}

// Objects returns whole objects.
func (w *watched) Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*unstructured.Unstructured, error) {
	kind, err := w.kindOf(resource, namespace)
	if err != nil {
		return nil, err
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(listOf(kind))
	if err := unwatched(w.cache.List(ctx, &list, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Metas returns metadata.
func (w *watched) Metas(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*metav1.ObjectMeta, error) {
	kind, err := w.kindOf(resource, namespace)
	if err != nil {
		return nil, err
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(listOf(kind))
	if err := unwatched(w.cache.List(ctx, &list, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	out := make([]*metav1.ObjectMeta, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i].ObjectMeta
	}
	return out, nil
}

// Meta returns the metadata of one object, nil if there is none.
func (w *watched) Meta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error) {
	kind, err := w.kindOf(resource, namespace)
	if err != nil {
		return nil, err
	}
	var o metav1.PartialObjectMetadata
	o.SetGroupVersionKind(kind)
	err = unwatched(w.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &o))
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return &o.ObjectMeta, err
}

func listOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	kind.Kind += "List"
	return kind
}

// unwatched returns cluster.ErrUnwatched for a resource without a watch.
func unwatched(err error) error {
	if _, not := errors.AsType[*cache.ErrResourceNotCached](err); not {
		return cluster.ErrUnwatched
	}
	return err
}
