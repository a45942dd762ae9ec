// Package cluster is a connection to an API server: requests are bounded, repeated while the server is
// away, pinned to what was read, and their answers explained. It knows nothing of leases.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// pageSize is how many objects one LIST brings at most: one page for nearly every cluster.
const pageSize = 5000

// metaPageSize is how many metadata one LIST brings: little enough that a page does not count beside
// what is kept of a hundred thousand claims.
const metaPageSize = 400

// OnePage as the limit of a LIST has all objects in one answer.
const OnePage = -1

// SkipFieldValidation asks the API server for no warnings of unknown or duplicate fields, for which it would
// parse the body of an apply once more. A field that is not in the schema fails an apply all the same, and
// what is sent has no duplicates.
const SkipFieldValidation = metav1.FieldValidationIgnore

// Resources that are read or written and not rendered.
var (
	Leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	Namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	ConfigMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// AkashResource is the resource of one of Akash's own kinds.
func AkashResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: plural}
}

// Cluster is a connection to a cluster. It knows the kinds it works with, and asks for discovery
// documents only to see all that is in a namespace (Contents).
type Cluster struct {
	// Dynamic and Metadata are the clients for whole objects and for their metadata. What is done by them is
	// wrapped in Read or Write.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
	// discovery tells which kinds the cluster serves.
	discovery *discovery.DiscoveryClient
	// Retries bound how often a lost race or an unclear answer is followed by another try.
	Retries wait.Backoff
	host    string
	// places bound the requests under way.
	places       chan struct{}
	clock        *clock
	availability *availability
	config       *rest.Config
	http         *http.Client
	// drafts are the writes of a dry run; nil where writes are kept.
	drafts *drafts
	// files is true for a cluster of objects that were read from files.
	files bool
}

// Connect makes clients of a REST configuration, with at most concurrency requests under way.
// client-go's own rate limit is switched off: the API server's priority and fairness, and the
// bound on concurrency, are what protects the server.
func Connect(config *rest.Config, concurrency int) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	clock, availability := &clock{}, &availability{patience: cmp.Or(config.Timeout, outage), backoff: outageBackoff}
	config.Wrap(clock.wrap)
	config.Wrap(availability.wrap)
	config.Wrap(noteStatus)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Retries: wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.7, Jitter: 0.5, Steps: 10}, config: config, http: client, host: config.Host, places: make(chan struct{}, max(concurrency, 1)), clock: clock, availability: availability}
	return c, c.connect(client)
}

// connect makes the clients.
func (c *Cluster) connect(client *http.Client) (err error) {
	if c.Dynamic, err = dynamic.NewForConfigAndClient(c.config, client); err != nil {
		return err
	}
	if c.Metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(c.config), client); err != nil {
		return err
	}
	c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(c.config, client)
	return err
}

type apartKey struct{}

// Apart is a context whose requests need no place among those under way. It is for what has to be said in time.
func Apart(ctx context.Context) context.Context { return context.WithValue(ctx, apartKey{}, true) }

// enter waits for a place among the requests under way.
func (c *Cluster) enter(ctx context.Context) (leave func(), err error) {
	if ctx.Value(apartKey{}) != nil {
		return func() {}, nil
	}
	select {
	case c.places <- struct{}{}:
		return func() { <-c.places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Objects are the whole objects of a resource in all namespaces.
func (c *Cluster) Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions) ([]*unstructured.Unstructured, error) {
	return ListObjects(ctx, c, resource, namespace, opts, func(o *unstructured.Unstructured) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{o}
	})
}

// ListObjects reads the whole objects of a resource and keeps what read makes of each.
func ListObjects[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, read func(*unstructured.Unstructured) []T) ([]T, error) {
	var out []T
	opts.Limit = pageSize
	err := c.pages(ctx, resource, &opts, func() (metav1.ListInterface, error) {
		list, err := c.Dynamic.Resource(resource).Namespace(namespace).List(ctx, opts)
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

// Metas are the metadata of the objects of a resource, without their field managers.
func (c *Cluster) Metas(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*metav1.ObjectMeta, error) {
	return ListMetas(ctx, c, resource, namespace, metav1.ListOptions{}, func(meta *metav1.ObjectMeta) (*metav1.ObjectMeta, bool) {
		kept := *meta
		kept.ManagedFields = nil
		return &kept, true
	})
}

// ListMetas reads the metadata of the objects of a resource and keeps what read makes of each: of
// the answers themselves no more than a page is held.
func ListMetas[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, read func(*metav1.ObjectMeta) (T, bool)) ([]T, error) {
	var out []T
	err := EachMeta(ctx, c, resource, namespace, opts, func(meta *metav1.ObjectMeta) {
		if kept, ok := read(meta); ok {
			out = append(out, kept)
		}
	}, func() { out = nil })
	return out, err
}

// EachMeta hands over the metadata of the objects of a resource, page by page unless the limit is OnePage. After restart
// they all come again.
func EachMeta(ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, read func(*metav1.ObjectMeta), restart func()) error {
	switch opts.Limit {
	case 0:
		opts.Limit = metaPageSize
	case OnePage:
		opts.Limit = 0
	}
	return c.pages(ctx, resource, &opts, func() (metav1.ListInterface, error) {
		list, err := c.Metadata.Resource(resource).Namespace(namespace).List(ctx, opts)
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
		err := c.ReadOf(ctx, resource, func() (err error) {
			list, err = page()
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			opts.Continue = ""
			restart()
			continue
		case err != nil:
			return c.Explain(err, "list", resource)
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
	case "gateway.nginx.org":
		return s + "; they come with NGINX Gateway Fabric; install it, or configure another gateway.implementation"
	case "route.openshift.io":
		return s + "; OpenShift brings them; render another target (--target ingress or httproute)"
	}
	return s
}

// Explain turns an answer of the API server, or its silence, into a sentence and a next step.
func (c *Cluster) Explain(err error, verb string, resource schema.GroupVersionResource) error {
	switch {
	case err == nil, IsAway(err), IsShut(err), errors.Is(err, context.Canceled):
		return err
	case IsMissingKind(err):
		return &MissingKindError{Resource: resource}
	case IsPolicy(err):
		return fmt.Errorf("the cluster's policy refuses to %s %s: %w", verb, resource.GroupResource(), err)
	case apierrors.IsForbidden(err) && resource == Namespaces && verb == "delete":
		return forbiddenNamespaces(err, verb, resource)
	case apierrors.IsForbidden(err) && resource.Resource == "services/status":
		return fmt.Errorf("not allowed to %s %s: %w\nAsk an administrator to bind you the role for wrong grants as well:\n"+
			"  kubectl create clusterrolebinding NAME --clusterrole=akash-net-grants --user=YOU", verb, resource.GroupResource(), err)
	case apierrors.IsForbidden(err) && ofWorkloads(verb, resource):
		return fmt.Errorf("not allowed to %s %s: %w\nAsk an administrator to bind you the role for what leases run as well (install --workloads brings it):\n"+
			"  kubectl create clusterrolebinding NAME --clusterrole=akash-net-workloads --user=YOU", verb, resource.GroupResource(), err)
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

// ofWorkloads is true for what nobody may do who may not apply what leases run.
func ofWorkloads(verb string, resource schema.GroupVersionResource) bool {
	switch resource.Resource {
	case "networkpolicies", "serviceaccounts", "roles", "rolebindings", "secrets", "statefulsets":
		return true
	case "deployments", "manifests": // those who operate leases read them
		return verb != "get" && verb != "list"
	}
	return false
}

// IsMissingKind is true for the 404 of a path that the API server does not serve, which names no
// object.
func IsMissingKind(err error) bool {
	status, ok := statusOf(err)
	return ok && status.Code == 404 && (status.Details == nil || status.Details.Name == "")
}

// Get reads one whole object; it is nil where there is none.
func (c *Cluster) Get(ctx context.Context, kind kinds.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	var o *unstructured.Unstructured
	err := c.ReadOf(ctx, kind.Resource(), func() (err error) {
		o, err = c.Dynamic.Resource(kind.Resource()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return o, c.Explain(err, "get", kind.Resource())
}
