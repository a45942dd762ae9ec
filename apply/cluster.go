package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/render"
)

// pageSize is how many objects one LIST brings at most: one page for nearly every cluster.
const pageSize = 5000

// metaPageSize is how many metadata one LIST brings: little enough that a page does not count beside
// what is kept of a hundred thousand claims.
const metaPageSize = 500

// unwarned asks the API server for no warnings of fields that it does not know or that come twice, for
// which it would parse the body of an apply once more. A field that is not in the schema fails an apply
// all the same, and what is sent has no field twice.
const unwarned = metav1.FieldValidationIgnore

// Resources that are read or written and not rendered.
var (
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// Cluster is a connection to a cluster. It knows the kinds it works with and asks for no
// discovery documents.
type Cluster struct {
	dynamic  dynamic.Interface
	metadata metadata.Interface
	host     string
	// gate bounds the requests under way.
	gate  chan struct{}
	clock *clock
	reach *reach
}

// Connect makes clients of a REST configuration, with at most concurrency requests under way.
// client-go's own rate limit is switched off: the API server's priority and fairness, and the
// bound on concurrency, are what protects the server.
func Connect(config *rest.Config, concurrency int) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	clock, reach := &clock{}, &reach{patience: cmp.Or(config.Timeout, outage)}
	config.Wrap(clock.wrap)
	config.Wrap(reach.wrap)
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{dynamic: objects, metadata: meta, host: config.Host, gate: make(chan struct{}, max(concurrency, 1)), clock: clock, reach: reach}, nil
}

// enter waits for a place among the requests under way.
func (c *Cluster) enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.gate <- struct{}{}:
		return func() { <-c.gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// objects are the whole objects of a resource in all namespaces.
func (c *Cluster) objects(ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions) ([]*unstructured.Unstructured, error) {
	return listObjects(ctx, c, resource, namespace, opts, func(o *unstructured.Unstructured) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{o}
	})
}

// listObjects reads the whole objects of a resource and keeps what read makes of each.
func listObjects[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, read func(*unstructured.Unstructured) []T) ([]T, error) {
	var out []T
	opts.Limit = pageSize
	err := c.pages(ctx, resource, &opts, func() (metav1.ListInterface, error) {
		list, err := c.dynamic.Resource(resource).Namespace(namespace).List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			out = append(out, read(&list.Items[i])...)
		}
		return list, nil
	}, func() { out = nil })
	return out, err
}

// metas are the metadata of the objects of a resource, without their field managers.
func (c *Cluster) metas(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*metav1.ObjectMeta, error) {
	return listMetas(ctx, c, resource, namespace, metav1.ListOptions{}, func(meta *metav1.ObjectMeta) (*metav1.ObjectMeta, bool) {
		kept := *meta
		kept.ManagedFields = nil
		return &kept, true
	})
}

// listMetas reads the metadata of the objects of a resource and keeps what read makes of each: of
// the answers themselves no more than a page is held.
func listMetas[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, read func(*metav1.ObjectMeta) (T, bool)) ([]T, error) {
	var out []T
	err := eachMeta(ctx, c, resource, namespace, opts, func(meta *metav1.ObjectMeta) {
		if kept, ok := read(meta); ok {
			out = append(out, kept)
		}
	}, func() { out = nil })
	return out, err
}

// eachMeta hands over the metadata of the objects of a resource. After restart they all come again.
func eachMeta(ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, read func(*metav1.ObjectMeta), restart func()) error {
	opts.Limit = metaPageSize
	return c.pages(ctx, resource, &opts, func() (metav1.ListInterface, error) {
		list, err := c.metadata.Resource(resource).Namespace(namespace).List(ctx, opts)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			read(&list.Items[i].ObjectMeta)
		}
		return list, nil
	}, restart)
}

// pages follows continue tokens. A token that has expired (410) means that what was read is of a
// moment that is over: reading starts again.
func (c *Cluster) pages(ctx context.Context, resource schema.GroupVersionResource, opts *metav1.ListOptions, page func() (metav1.ListInterface, error), restart func()) error {
	for {
		var list metav1.ListInterface
		err := c.read(ctx, func() (err error) {
			list, err = page()
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			opts.Continue = ""
			restart()
			continue
		case err != nil:
			return c.explain(err, "list", resource)
		}
		if opts.Continue = list.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}

// MissingKindError is a resource that the cluster does not serve.
type MissingKindError struct{ Resource schema.GroupVersionResource }

func (e *MissingKindError) Error() string {
	s := fmt.Sprintf("this cluster does not serve %s", e.Resource.GroupResource())
	switch e.Resource.Group {
	case "akash.network":
		return s + "; install the resource definitions with: kubectl akash-net install"
	case "metallb.io":
		return s + "; MetalLB has to be installed before addresses can be leased (https://metallb.io)"
	case "extensions.gardener.cloud":
		return s + "; it comes with Gardener, for whose extensions dns.form gardener is (https://gardener.cloud)"
	case "externaldns.k8s.io":
		return s + "; install external-dns' resource definition, and let it look for it (--source=crd)"
	case "gateway.networking.k8s.io":
		return s + "; install the Gateway API's resource definitions, or render another target (--target ingress)"
	}
	return s
}

// explain turns an answer of the API server, or its silence, into a sentence and a next step.
func (c *Cluster) explain(err error, verb string, resource schema.GroupVersionResource) error {
	switch {
	case err == nil, isAway(err), errors.Is(err, context.Canceled):
		return err
	case isMissingKind(err):
		return &MissingKindError{Resource: resource}
	case isPolicy(err):
		return fmt.Errorf("the cluster's policy refuses to %s %s: %w", verb, resource.GroupResource(), err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("not allowed to %s %s: %w\nAsk an administrator to bind you the operator's roles (akash-net-viewer's are enough to read):\n"+
			"  kubectl create clusterrolebinding NAME --clusterrole=akash-net-operator --user=YOU\n"+
			"  kubectl -n akash-net create rolebinding NAME --role=akash-net-operator --user=YOU", verb, resource.GroupResource(), err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the cluster at %s does not know these credentials (%w); check --kubeconfig, --context and --user", c.host, err)
	case apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && !isAnswer(err):
		return fmt.Errorf("no answer from the cluster at %s: %w; check --kubeconfig and --context", c.host, err)
	}
	return fmt.Errorf("%s %s: %w", verb, resource.GroupResource(), err)
}

// isMissingKind is true for the 404 of a path that the API server does not serve, which names no
// object.
func isMissingKind(err error) bool {
	status, ok := statusOf(err)
	return ok && status.Code == 404 && (status.Details == nil || status.Details.Name == "")
}

// get reads one whole object; it is nil where there is none.
func (c *Cluster) get(ctx context.Context, kind render.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	var o *unstructured.Unstructured
	err := c.read(ctx, func() (err error) {
		o, err = c.dynamic.Resource(kind.Resource()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return o, c.explain(err, "get", kind.Resource())
}
