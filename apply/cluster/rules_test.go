package cluster

import (
	"errors"
	"net"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// status is an answer of the API server, or of something before it.
func status(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Message: message}}
}

// A read is repeated if there was no answer, or one that says only that the server is away. A write is repeated only if
// it certainly had no effect.
func TestOutages(t *testing.T) {
	for name, tt := range map[string]struct {
		err            error
		silent, unsent bool
	}{
		"success":                   {nil, false, false},
		"no connection":             {&net.OpError{Op: "dial", Err: errors.New("refused")}, true, true},
		"a connection that broke":   {&net.OpError{Op: "read", Err: errors.New("reset")}, true, false},
		"too many requests":         {status(http.StatusTooManyRequests, ""), true, true},
		"no backend":                {status(http.StatusBadGateway, ""), true, false},
		"unavailable":               {status(http.StatusServiceUnavailable, ""), true, false},
		"a gateway's timeout":       {status(http.StatusGatewayTimeout, ""), true, false},
		"a server that is starting": {status(http.StatusInternalServerError, "the server is starting"), true, false},
		"no address yet":            {status(http.StatusUnprocessableEntity, "spec.clusterIPs: failed to allocate IP: allocator not ready"), true, true},
		"no address at all":         {status(http.StatusUnprocessableEntity, "spec.clusterIPs: failed to allocate IP: range is full"), false, false},
		"a fault of the server":     {status(http.StatusInternalServerError, "panic"), false, false},
		"a refusal":                 {status(http.StatusForbidden, ""), false, false},
		"no object":                 {status(http.StatusNotFound, ""), false, false},
	} {
		if isSilent(tt.err) != tt.silent || isUnsent(tt.err) != tt.unsent {
			t.Errorf("%s: silent %t, unsent %t", name, isSilent(tt.err), isUnsent(tt.err))
		}
	}
}

// Only a resource that an APIService may serve can be away alone.
func TestIsBehind(t *testing.T) {
	away := status(http.StatusServiceUnavailable, "")
	for name, tt := range map[string]struct {
		resource schema.GroupVersionResource
		err      error
		want     bool
	}{
		"a resource of an APIService":  {AkashResource("manifests"), away, true},
		"a resource of the API server": {Namespaces, away, false},
		"any resource":                 {schema.GroupVersionResource{}, away, false},
		"too many requests":            {AkashResource("manifests"), status(http.StatusTooManyRequests, ""), false},
		"no answer":                    {AkashResource("manifests"), errors.New("reset"), false},
	} {
		if got := isBehind(tt.resource, tt.err); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Those who operate leases read Manifests; only those who apply workloads write them, or see Deployments.
func TestOfWorkloads(t *testing.T) {
	for _, tt := range []struct {
		verb, resource string
		want           bool
	}{
		{"get", "deployments", true}, {"list", "manifests", false}, {"patch", "deployments", true}, {"delete", "manifests", true},
		{"list", "secrets", true}, {"get", "statefulsets", true}, {"patch", "ingresses", false}, {"patch", "services", false},
	} {
		if got := ofWorkloads(tt.verb, schema.GroupVersionResource{Resource: tt.resource}); got != tt.want {
			t.Errorf("%s %s: %t", tt.verb, tt.resource, got)
		}
	}
}

// A path names a group, a namespace, a resource, an object and a subresource, as far as it goes.
func TestTargetOf(t *testing.T) {
	of := func(group, resource, namespace, name, subresource string) target {
		return target{schema.GroupResource{Group: group, Resource: resource}, namespace, name, subresource}
	}
	for path, want := range map[string]target{
		"/api/v1/services":                                                   of("", "services", "", "", ""),
		"/api/v1/namespaces":                                                 of("", "namespaces", "", "", ""),
		"/api/v1/namespaces/one":                                             of("", "namespaces", "", "one", ""),
		"/api/v1/namespaces/one/services":                                    of("", "services", "one", "", ""),
		"/api/v1/namespaces/one/services/web/status":                         of("", "services", "one", "web", "status"),
		"/apis/networking.k8s.io/v1/namespaces/one/ingresses/a":              of("networking.k8s.io", "ingresses", "one", "a", ""),
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/akash-net-operator": of("rbac.authorization.k8s.io", "clusterroles", "", "akash-net-operator", ""),
	} {
		if got := targetOf(path); got != want {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

// A list is decoded from protobuf and from JSON, whatever the answer calls it.
func TestDecodeList(t *testing.T) {
	pods := corev1.PodList{Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
	raw, err := pods.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: "Pods"}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{
		"protobuf": append([]byte("k8s\x00"), envelope...),
		"JSON":     []byte(`{"kind":"List","items":[{"metadata":{"name":"a"}}]}`),
	} {
		var got corev1.PodList
		if err := decodeList(body, &got); err != nil || len(got.Items) != 1 || got.Items[0].Name != "a" {
			t.Errorf("%s: %v, %v", name, got.Items, err)
		}
	}
	for name, body := range map[string]string{"an envelope": "k8s\x00\x00", "a list": "k8s\x00\x12\x02\x12\x09", "JSON": "<html>"} {
		if err := decodeList([]byte(body), &corev1.PodList{}); err == nil {
			t.Errorf("%s that is broken is read", name)
		}
	}
}

// A merge patch is pinned to the object that was read, and keeps what else the patch says of the metadata.
func TestMergePinned(t *testing.T) {
	c, err := OfObjects(objectsOf(t, ingressOne))
	if err != nil {
		t.Fatal(err)
	}
	c = c.DryRun(DryRunClient)
	live, err := c.Get(t.Context(), kinds.Ingress, "one", "a")
	if err != nil {
		t.Fatal(err)
	}
	patch := func(value any) map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"old": value}}}
	}
	if err := c.MergePinned(t.Context(), kinds.Ingress, live, patch("new"), "m"); err != nil {
		t.Fatal(err)
	}
	now, err := c.Get(t.Context(), kinds.Ingress, "one", "a")
	if err != nil || now.GetAnnotations()["old"] != "new" || now.GetAnnotations()["kept"] != "theirs" {
		t.Errorf("it has %v, %v", now.GetAnnotations(), err)
	}
	if err := c.MergePinned(t.Context(), kinds.Ingress, live, patch(nil), "m"); !IsOvertaken(err) {
		t.Errorf("an object that has changed is patched: %v", err)
	}
	other := &unstructured.Unstructured{}
	other.SetNamespace("one")
	other.SetName("a")
	other.SetUID("another")
	if err := c.MergePinned(t.Context(), kinds.Ingress, other, patch(nil), "m"); !IsOvertaken(err) {
		t.Errorf("another object is patched: %v", err)
	}
}
