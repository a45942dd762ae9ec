package cluster

import (
	"context"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// followBackoff spaces the restarts of a watch.
var followBackoff = wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 8, Cap: 10 * time.Second}

// Follow passes the objects of a resource to see: first all that exist, then each that is created or modified. When a
// watch ends it lists all again; whole is true for all. It returns when the context ends, see fails, or the objects cannot be listed.
func (c *Cluster) Follow(
	ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	see func(found []*unstructured.Unstructured, whole bool) error,
) error {
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
			if !is || e.Type != watch.Added && e.Type != watch.Modified {
				continue
			}
			seen = true
			if err := see([]*unstructured.Unstructured{o}, false); err != nil {
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
