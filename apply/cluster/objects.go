package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
)

// OfObjects is a cluster that holds the given objects and no others. It answers GET and LIST; it serves every
// kind, and an object in whichever version it is given.
func OfObjects(objects []*unstructured.Unstructured) (*Cluster, error) {
	held := heldObjects{}
	for _, o := range objects {
		text, err := json.Marshal(o.Object["metadata"])
		if err == nil {
			err = utiljson.Unmarshal(text, &metav1.ObjectMeta{}) // as the clients do
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: metadata: %w", o.GetKind(), o.GetName(), err)
		}
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		held[resource.GroupResource()] = append(held[resource.GroupResource()], o)
	}
	return Connect(&rest.Config{Host: "http://objects", Transport: held}, 8)
}

// heldObjects are the objects of a cluster, by what they are called in the API's paths.
type heldObjects map[schema.GroupResource][]*unstructured.Unstructured

// RoundTrip answers a request as the API server would.
func (h heldObjects) RoundTrip(r *http.Request) (*http.Response, error) {
	resource, namespace, name := asked(r.URL.Path)
	bare := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
	if r.Method != http.MethodGet {
		return respond(r, http.StatusMethodNotAllowed, refusal(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, resource, name))
	}
	if name == "" {
		selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
		if err != nil {
			return nil, err
		}
		return respond(r, http.StatusOK, h.list(resource, namespace, selector, bare))
	}
	for _, o := range h[resource] {
		if o.GetName() == name && within(o, namespace) {
			return respond(r, http.StatusOK, shownAs(o, bare))
		}
	}
	return respond(r, http.StatusNotFound, refusal(http.StatusNotFound, metav1.StatusReasonNotFound, resource, name))
}

// asked is what the path of a request names: /api/VERSION/… or /apis/GROUP/VERSION/…, with or without a namespace.
func asked(path string) (resource schema.GroupResource, namespace, name string) {
	rest := append(strings.Split(strings.Trim(path, "/"), "/"), "", "", "", "")
	if rest[0] == "apis" {
		resource.Group, rest = rest[1], rest[1:]
	}
	if rest = rest[2:]; rest[0] == Namespaces.Resource && rest[2] != "" {
		namespace, rest = rest[1], rest[2:]
	}
	resource.Resource = rest[0]
	return resource, namespace, rest[1]
}

func (h heldObjects) list(resource schema.GroupResource, namespace string, selector labels.Selector, bare bool) map[string]any {
	list := map[string]any{"kind": "List", "apiVersion": "v1"}
	if bare {
		list = map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": metav1.SchemeGroupVersion.String()}
	}
	items := []any{}
	for _, o := range h[resource] {
		if within(o, namespace) && selector.Matches(labels.Set(o.GetLabels())) {
			items = append(items, shownAs(o, bare))
		}
	}
	list["metadata"], list["items"] = map[string]any{}, items
	return list
}

// within is true for an object of a namespace. One that names none counts in every namespace.
func within(o *unstructured.Unstructured, namespace string) bool {
	return namespace == "" || o.GetNamespace() == "" || o.GetNamespace() == namespace
}

// shownAs is the whole object, or its metadata.
func shownAs(o *unstructured.Unstructured, bare bool) map[string]any {
	if !bare {
		return o.Object
	}
	return map[string]any{"kind": "PartialObjectMetadata", "apiVersion": metav1.SchemeGroupVersion.String(), "metadata": o.Object["metadata"]}
}

func refusal(code int32, reason metav1.StatusReason, resource schema.GroupResource, name string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: code, Reason: reason,
		Message: strings.TrimSpace(fmt.Sprintf("%s %s: %s", resource, name, reason)),
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource, Name: name},
	}
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
