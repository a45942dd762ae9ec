package cluster

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/akash-net/kubectl-akash-net/lease/listed"
)

// followBackoff spaces the restarts of a watch.
var followBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 10 * time.Second}

// Follow passes the objects of a resource to see: first all that exist, then each that is created or modified, and none for one that is
// deleted. When a watch ends it lists all again; whole is true for all. It returns when the context ends, see fails, or the objects cannot be listed or
// watched, such as those of files (ErrUnwatched).
func (c *Cluster) Follow(
	ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	see func(found []*unstructured.Unstructured, whole bool) error,
) error {
	if c.Cache.files != nil {
		return ErrUnwatched
	}
	client := c.Dynamic.Resource(resource).Namespace(namespace)
	backoff := followBackoff
	for {
		var list *unstructured.UnstructuredList
		err := c.ReadOf(ctx, resource, func() (err error) {
			list, err = client.List(ctx, opts)
			return err
		})
		if err != nil {
			return c.Explain(err, "list", resource)
		}
		all := make([]*unstructured.Unstructured, len(list.Items))
		for i := range list.Items {
			all[i] = &list.Items[i]
		}
		if err := see(all, true); err != nil {
			return err
		}
		from := opts
		from.ResourceVersion = list.GetResourceVersion()
		changes, err := client.Watch(ctx, from)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && isAnswer(err):
			return c.Explain(err, "watch", resource)
		case err == nil:
			seen, err := eachChange(ctx, changes, see)
			if err != nil {
				return err
			}
			if seen {
				backoff = followBackoff
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(backoff.Step()):
		}
	}
}

// eachChange passes the changes of a watch to see until the watch ends. It reports whether there were any.
func eachChange(
	ctx context.Context, changes watch.Interface, see func(found []*unstructured.Unstructured, whole bool) error,
) (seen bool, err error) {
	defer changes.Stop()
	for {
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case e, more := <-changes.ResultChan():
			if !more || e.Type == watch.Error {
				return seen, nil
			}
			o, is := e.Object.(*unstructured.Unstructured)
			if !is || e.Type == watch.Bookmark {
				continue
			}
			seen = true
			found := []*unstructured.Unstructured{o}
			if e.Type == watch.Deleted {
				found = nil
			}
			if err := see(found, false); err != nil {
				return seen, err
			}
		}
	}
}

// PodLog opens the log of a container. It does not count against the bound on concurrency: a followed log has no end.
func (c *Cluster) PodLog(ctx context.Context, namespace, pod string, opts *corev1.PodLogOptions) (io.ReadCloser, error) {
	return c.discovery.RESTClient().Get().AbsPath("/api/v1/namespaces", namespace, "pods", pod, "log").
		SpecificallyVersionedParams(opts, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).Stream(ctx)
}

// Watched has objects as watches keep them up to date. What it returns belongs to all who ask: nobody changes it. All of its methods
// return ErrUnwatched for a resource of which it has nothing, and a kinds.MissingError for one that the cluster does not serve.
type Watched interface {
	// Objects returns whole objects, Metas the metadata of objects, in all namespaces if namespace is empty. The metadata of one
	// resource is that of one moment.
	Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*unstructured.Unstructured, error)
	Metas(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*metav1.ObjectMeta, error)
	// Meta returns the metadata of one object, nil if there is none.
	Meta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error)
	// Changes returns each object that has changed since it was called last, as it is: at first all that are watched.
	Changes(ctx context.Context) ([]Change, error)
	// Has returns nil for a resource that is watched in all namespaces.
	Has(resource schema.GroupVersionResource) error
}

// Change is an object that has changed. Of a resource of which only metadata is watched, it has only that. It has none if it is gone.
type Change struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
	Object          *unstructured.Unstructured
	Meta            *metav1.ObjectMeta
}

// ErrUnwatched says that a resource is not watched.
var ErrUnwatched = errors.New("it is not watched")

// Watching returns the same connection for a command that may begin with what is watched (see Early).
func (c *Cluster) Watching(w Watched) *Cluster {
	out := *c
	out.Cache.watched, out.Cache.Memory = w, listed.NewMemory()
	return &out
}

type earlyKey struct{}

// Early returns a context for what a command reads before it is announced. It may be a moment old: whatever the command writes by it
// is pinned, and what it gives up it reads again. So a command that has watches sends no request for it.
func Early(ctx context.Context) context.Context { return context.WithValue(ctx, earlyKey{}, true) }

// Cache answers what is read early by what is watched. For a cluster that is in files it answers everything, by them and by what a dry
// run has written.
type Cache struct {
	watched Watched
	// Memory remembers what was made of objects that are watched; nil for a command that lists.
	Memory *listed.Memory
	// files are the objects that were read from files, nil for a cluster that is in none; written are those of a dry run, nil outside of one.
	files, written *store
}

// early returns what is watched, nil if the request has to be sent.
func (c Cache) early(ctx context.Context) Watched {
	if c.watched == nil || ctx.Value(earlyKey{}) == nil {
		return nil
	}
	return c.watched
}

// Changes returns what has changed in what is watched since it was called last: one reader of the process calls it.
func (c Cache) Changes(ctx context.Context) ([]Change, error) { return c.watched.Changes(ctx) }

// Has returns nil for a resource that is watched in all namespaces, and else ErrUnwatched, or a kinds.MissingError.
func (c Cache) Has(resource schema.GroupVersionResource) error { return c.watched.Has(resource) }

// IsEarly reports whether what is read is answered from what is watched, as far as that goes.
func (c Cache) IsEarly(ctx context.Context) bool { return c.early(ctx) != nil }

// objects lists whole objects from what is watched, or from files.
func (c Cache) objects(ctx context.Context, resource schema.GroupVersionResource, namespace, selector string) ([]*listed.Object, error) {
	w := c.early(ctx)
	if w == nil && c.files != nil {
		return c.filed(resource, namespace, selector)
	}
	if w == nil {
		return nil, ErrUnwatched
	}
	all, err := w.Objects(ctx, resource, namespace)
	all, err = chosen(all, err, selector, func(o *unstructured.Unstructured) labels.Labels {
		of, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "labels")
		in, _ := of.(map[string]any)
		return labelsIn(in)
	})
	return listed.Of(all), err
}

// metas lists metadata from what is watched, or from files.
func (c Cache) metas(ctx context.Context, resource schema.GroupVersionResource, namespace, selector string) ([]*metav1.ObjectMeta, error) {
	w := c.early(ctx)
	if w == nil && c.files != nil {
		found, err := c.filed(resource, namespace, selector)
		all := make([]*metav1.ObjectMeta, len(found))
		for i, o := range found {
			all[i] = metaOf(o.Look())
		}
		return all, err
	}
	if w == nil {
		return nil, ErrUnwatched
	}
	all, err := w.Metas(ctx, resource, namespace)
	if errors.Is(err, ErrUnwatched) { // it may be watched whole
		var whole []*unstructured.Unstructured
		whole, err = w.Objects(ctx, resource, namespace)
		for _, o := range whole {
			all = append(all, metaOf(o))
		}
	}
	return chosen(all, err, selector, func(o *metav1.ObjectMeta) labels.Labels { return labels.Set(o.Labels) })
}

// filed lists the objects of files below the writes of a dry run.
func (c Cache) filed(resource schema.GroupVersionResource, namespace, selector string) ([]*listed.Object, error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	of := resource.GroupResource()
	if c.written == nil {
		return c.files.list(of, namespace, parsed, nothing), nil
	}
	below := c.files.list(of, namespace, parsed, func(key string) bool { return c.written.get(of, key) != nil })
	return append(below, c.written.list(of, namespace, parsed, nothing)...), nil
}

// Meta returns the metadata of one object from what is watched, nil if there is none.
func (c Cache) Meta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error) {
	w := c.early(ctx)
	if w == nil {
		return nil, ErrUnwatched
	}
	return w.Meta(ctx, resource, namespace, name)
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
func chosen[T any](all []T, err error, selector string, labelsOf func(T) labels.Labels) ([]T, error) {
	if err != nil || selector == "" {
		return all, err
	}
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(o T) bool { return !parsed.Matches(labelsOf(o)) }), nil
}

// labelsIn are the labels of an object as they are in it (labels.Labels): nothing is copied.
type labelsIn map[string]any

// Has reports whether there is a label.
func (l labelsIn) Has(label string) bool {
	_, has := l[label]
	return has
}

// Get returns the value of a label.
func (l labelsIn) Get(label string) string {
	value, _ := l[label].(string)
	return value
}

// Lookup returns the value of a label, and whether there is one.
func (l labelsIn) Lookup(label string) (value string, has bool) { return l.Get(label), l.Has(label) }
