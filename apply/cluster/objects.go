package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// OfObjects returns a cluster that contains the given objects. It answers GET and LIST for every kind, and returns an
// object in the version in which it was given.
func OfObjects(objects []*unstructured.Unstructured) (*Cluster, error) {
	files := newShelves()
	for _, o := range objects {
		if err := kinds.CheckMetadata(o); err != nil {
			return nil, err
		}
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		if o.GroupVersionKind().GroupKind() == kinds.Gateway.GroupKind() {
			resource = kinds.Gateway.Resource() // the guess is "gatewaies"
		}
		files.put(resource.GroupResource(), o.GetNamespace()+"/"+o.GetName(), o)
	}
	c, err := Connect(&rest.Config{Host: "http://objects", Transport: files}, 8)
	if err == nil {
		c.files = files
	}
	return c, err
}

// RoundTrip answers a request as the API server would.
func (s *shelves) RoundTrip(r *http.Request) (*http.Response, error) {
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
	return t.answer(r, http.StatusOK, s.get(t.GroupResource, t.namespace, t.name))
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

func (t target) key() string { return t.namespace + "/" + t.name }

// answer responds with an object, or with a 404 for nil.
func (t target) answer(r *http.Request, code int, o *unstructured.Unstructured) (*http.Response, error) {
	if o == nil {
		return refuse(r, apierrors.NewNotFound(t.GroupResource, t.name))
	}
	return respond(r, code, shownAs(o, isBare(r)))
}

// isBare reports whether a request accepts only metadata.
func isBare(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
}

func (s *shelves) answerList(resource schema.GroupResource, namespace string, selector labels.Selector, bare bool) map[string]any {
	list := map[string]any{"kind": "List", "apiVersion": "v1"}
	if bare {
		list = map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": metav1.SchemeGroupVersion.String()}
	}
	items := []any{}
	for _, o := range s.list(resource, namespace, selector, func(string) bool { return false }) {
		items = append(items, shownAs(o, bare))
	}
	list["metadata"], list["items"] = map[string]any{}, items
	return list
}

// within reports whether an object is in a namespace. An object without one counts in every namespace.
func within(o *unstructured.Unstructured, namespace string) bool {
	return namespace == "" || o.GetNamespace() == "" || o.GetNamespace() == namespace
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
