package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// OfObjects returns a cluster that contains the given objects. It answers GET and LIST for every kind, and returns an
// object in the version in which it was given.
func OfObjects(objects []*unstructured.Unstructured) (*Cluster, error) {
	files := make([]File, len(objects))
	for i, o := range objects {
		if err := kinds.CheckMetadata(o); err != nil {
			return nil, err
		}
		files[i] = File{o.GroupVersionKind(), listed.New(o.GetNamespace()+"/"+o.GetName(), o)}
	}
	return OfFiles(files)
}

// File is an object of a file.
type File struct {
	Kind   schema.GroupVersionKind
	Object *listed.Object
}

// OfFiles is OfObjects of objects that may not be decoded yet.
func OfFiles(objects []File) (*Cluster, error) {
	files := newStore()
	for _, o := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(o.Kind)
		if o.Kind.GroupKind() == kinds.Gateway.GroupKind() {
			resource = kinds.Gateway.Resource() // the guess is "gatewaies"
		}
		files.put(resource.GroupResource(), o.Object)
	}
	c, err := Connect(&rest.Config{Host: "http://objects", Transport: files}, 8)
	if err == nil {
		c.Cache.files = files
	}
	return c, err
}

// RoundTrip answers a request as the API server would.
func (s *store) RoundTrip(r *http.Request) (*http.Response, error) {
	t := targetOf(r.URL.Path)
	if r.Method != http.MethodGet {
		return refuse(r, apierrors.NewMethodNotSupported(t.GroupResource, strings.ToLower(r.Method)))
	}
	if t.name == "" {
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			return nil, err
		}
		return respond(r, http.StatusOK, s.answerList(t.GroupResource, t.namespace, selector, isBare(r)))
	}
	return t.answer(r, http.StatusOK, s.get(t.GroupResource, s.keyOf(t)))
}

// target is the object or resource that a request names.
type target struct {
	schema.GroupResource
	namespace, name, subresource string
}

// targetOf parses a path: /api/VERSION/… or /apis/GROUP/VERSION/…, with or without a namespace.
func targetOf(path string) (t target) {
	rest := append(strings.Split(strings.Trim(path, "/"), "/"), "", "", "", "", "")
	if rest[0] == "apis" {
		t.Group, rest = rest[1], rest[1:]
	}
	if rest = rest[2:]; rest[0] == Namespaces.Resource && rest[2] != "" {
		t.namespace, rest = rest[1], rest[2:]
	}
	t.Resource, t.name, t.subresource = rest[0], rest[1], rest[2]
	return t
}

// answer responds with an object, or with a 404 if there is none.
func (t target) answer(r *http.Request, code int, o *listed.Object) (*http.Response, error) {
	if o == nil || o.Whole() == nil {
		return refuse(r, apierrors.NewNotFound(t.GroupResource, t.name))
	}
	return respond(r, code, shownAs(o.Whole(), isBare(r)))
}

// isBare reports whether a request accepts only metadata.
func isBare(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
}

func (s *store) answerList(resource schema.GroupResource, namespace string, selector labels.Selector, bare bool) map[string]any {
	list := map[string]any{"kind": "List", "apiVersion": "v1"}
	if bare {
		list = map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": metav1.SchemeGroupVersion.String()}
	}
	items := []any{}
	for _, o := range s.list(resource, namespace, selector, nothing) {
		items = append(items, shownAs(o.Look(), bare))
	}
	list["metadata"], list["items"] = map[string]any{}, items
	return list
}

// shownAs returns the whole object, or only its metadata.
func shownAs(o *unstructured.Unstructured, bare bool) map[string]any {
	if !bare {
		return o.Object
	}
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": metav1.SchemeGroupVersion.String(), "metadata": o.Object["metadata"]}
}

// refuse responds with an error.
func refuse(r *http.Request, err *apierrors.StatusError) (*http.Response, error) {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	return respond(r, int(status.Code), status)
}

func respond(r *http.Request, code int, body any) (*http.Response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(text)), ContentLength: int64(len(text)),
	}, nil
}

// contentsPage is how many objects of one resource Contents lists: a namespace with more is not empty.
const contentsPage = 50

// derived are resources whose objects Kubernetes derives from others, and events.
var derived = []string{"events", "endpoints", "endpointslices.discovery.k8s.io", "events.events.k8s.io", "pods.metrics.k8s.io"}

// usual are the objects that Kubernetes and OpenShift create in every namespace.
var usual = map[string][]string{
	"serviceaccounts":                        {"default", "builder", "deployer"},
	"configmaps":                             {"kube-root-ca.crt", "openshift-service-ca.crt"},
	"rolebindings.rbac.authorization.k8s.io": {"system:deployers", "system:image-builders", "system:image-pullers"},
}

// Contents returns the sorted names of the objects in a namespace, such as "configmap/settings". It leaves out what
// Kubernetes creates in every namespace, and what the caller does not count. It looks at every kind that the server
// serves, and fails if it cannot list one of them.
func (c *Cluster) Contents(
	ctx context.Context, namespace string, uncounted func(resource schema.GroupResource, labels map[string]string) bool,
) ([]string, error) {
	resources, err := c.namespaced(ctx)
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(resources))
	group, ctx := parallel.WithContext(ctx)
	for i, r := range resources {
		group.Go(func() (err error) {
			found[i], err = c.contentsOf(ctx, r, namespace, uncounted)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	names := slices.Concat(found...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// listable is a resource whose objects can be listed, with its singular name.
type listable struct {
	schema.GroupVersionResource
	singular string
}

// namespaced returns the namespaced resources that can be listed, each once, in the server's preferred version.
func (c *Cluster) namespaced(ctx context.Context) ([]listable, error) {
	var lists []*metav1.APIResourceList
	err := c.Read(ctx, func() (err error) {
		lists, err = discovery.ServerPreferredNamespacedResourcesWithContext(ctx, c.discovery)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the kinds that this cluster serves cannot be listed: %w", err)
	}
	var out []listable
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			resource := version.WithResource(r.Name)
			if !slices.Contains(derived, resource.GroupResource().String()) {
				out = append(out, listable{resource, strings.ToLower(r.Kind)})
			}
		}
	}
	return out, nil
}

// contentsOf returns the names of the counted objects of one resource in a namespace.
func (c *Cluster) contentsOf(
	ctx context.Context, r listable, namespace string, uncounted func(schema.GroupResource, map[string]string) bool,
) (names []string, _ error) {
	var page *metav1.PartialObjectMetadataList
	err := c.ReadOf(ctx, r.GroupVersionResource, func() (err error) {
		page, err = c.Metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: contentsPage})
		return err
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, forbiddenNamespaces(err, "list", r.GroupVersionResource)
	case apierrors.IsMethodNotSupported(err) || IsMissingKind(err): // the kind was removed since discovery
		return nil, nil
	case err != nil:
		return nil, c.Explain(err, "list", r.GroupVersionResource)
	}
	for i := range page.Items {
		if m := &page.Items[i].ObjectMeta; !isUsual(r.GroupResource(), m) && !uncounted(r.GroupResource(), m.Labels) {
			names = append(names, r.singular+"/"+m.Name)
		}
	}
	if page.Continue != "" {
		names = append(names, "more "+r.Resource)
	}
	return names, nil
}

// isUsual reports whether Kubernetes or OpenShift creates the object in every namespace, or it is a token of such a
// ServiceAccount.
func isUsual(resource schema.GroupResource, m *metav1.ObjectMeta) bool {
	if resource.String() == "secrets" {
		return slices.Contains(usual["serviceaccounts"], m.Annotations["kubernetes.io/service-account.name"])
	}
	return slices.Contains(usual[resource.String()], m.Name)
}
