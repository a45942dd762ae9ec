package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

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

// The API server's time follows the answers: also after its clock was set, forward or back, and with several API servers whose clocks
// differ. What the client's own clock says does not matter.
func TestServerClock(t *testing.T) {
	type answer struct{ at, says time.Duration }
	minutes := func(from, to int, ahead time.Duration) (all []answer) {
		for s := 60 * from; s < 60*to; s += 10 {
			all = append(all, answer{time.Duration(s) * time.Second, time.Duration(s)*time.Second + ahead})
		}
		return all
	}
	server := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		answers []answer
		want    time.Duration
	}{
		"one answer":                             {minutes(0, 1, time.Hour)[:1], time.Hour},
		"an answer that is late":                 {append(minutes(0, 3, 0), answer{181 * time.Second, 120 * time.Second}), 0},
		"the clock was set forward":              {append(minutes(0, 3, 0), minutes(3, 4, time.Hour)...), time.Hour},
		"it was set back a moment ago":           {append(minutes(0, 3, time.Hour), minutes(3, 4, 0)...), time.Hour},
		"it was set back":                        {append(minutes(0, 3, time.Hour), minutes(3, 5, 0)...), 0},
		"it was set back, nobody asked for long": {append(minutes(0, 3, time.Hour), minutes(600, 601, 0)...), 0},
		"the other API server is behind": {func() (all []answer) {
			for i, a := range minutes(0, 10, 0) {
				if i%2 == 1 {
					a.says -= time.Hour
				}
				all = append(all, a)
			}
			return all
		}(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			var c clock
			var last time.Time
			for _, a := range tt.answers {
				last = began.Add(a.at)
				c.see(server.Add(a.says), last, last)
			}
			now := c.server.Add(last.Sub(c.seen))
			if off := now.Sub(server.Add(last.Sub(began) + tt.want)).Round(time.Second); off != 0 {
				t.Errorf("the time is off by %s", off)
			}
		})
	}
}

// The server wrote the date, in whole seconds, between request and answer: only that is known of the difference between the clocks.
func TestBehind(t *testing.T) {
	c := &Cluster{clock: &clock{}}
	if _, _, ok := c.Behind(); ok {
		t.Error("before an answer the difference is known")
	}
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	c.clock.see(now.Add(time.Minute), now.Add(-2*time.Second), now)
	least, most, ok := c.Behind()
	if !ok || least != time.Minute || most != time.Minute+3*time.Second {
		t.Errorf("this clock is %s to %s behind (%v), want 1m0s to 1m3s", least, most, ok)
	}
}

// Each way in which a cluster refuses gets a sentence and a next step.
func TestRefusalsAreExplained(t *testing.T) {
	resource := kinds.Ingress.Resource()
	missing := func(group, plural string) error {
		return apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{Group: group, Resource: plural}, "", "404 page not found", 0, true)
	}
	tests := []struct {
		name     string
		err      error
		resource schema.GroupVersionResource
		want     []string
	}{
		{"not allowed", apierrors.NewForbidden(resource.GroupResource(), "shop", errors.New("no")), resource, []string{"not allowed to patch ingresses.networking.k8s.io", "kubectl create clusterrolebinding", "akash-net-operator"}},
		{"not known", apierrors.NewUnauthorized("who?"), resource, []string{"https://cluster", "does not know these credentials", "--kubeconfig"}},
		{"not there", &url.Error{Op: "Get", URL: "https://cluster", Err: syscall.ECONNREFUSED}, resource, []string{"no answer from the cluster at https://cluster", "connection refused", "--kubeconfig", "--context"}},
		{"Akash's definitions", missing("akash.network", "providerhosts"), kinds.ProviderHost.Resource(), []string{"does not serve providerhosts.akash.network", "kubectl akash-net install"}},
		{"MetalLB's definitions", missing("metallb.io", "ipaddresspools"), kinds.IPAddressPool.Resource(), []string{"does not serve ipaddresspools.metallb.io", "MetalLB has to be installed"}},
		{"the Gateway API's definitions", missing("gateway.networking.k8s.io", "httproutes"), kinds.HTTPRoute.Resource(), []string{"does not serve httproutes.gateway.networking.k8s.io", "--target ingress"}},
		{"anything else", apierrors.NewTooManyRequests("wait", 1), resource, []string{"patch ingresses.networking.k8s.io: "}},
	}
	c := &Cluster{host: "https://cluster"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := c.Explain(tt.err, "patch", tt.resource).Error()
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in: %s", want, got)
				}
			}
		})
	}
	if err := c.Explain(nil, "patch", resource); err != nil {
		t.Errorf("no error is explained as %v", err)
	}
	notFound := apierrors.NewNotFound(resource.GroupResource(), "shop")
	if _, ok := errors.AsType[*MissingKindError](c.Explain(notFound, "get", resource)); ok {
		t.Error("an object that is missing is taken for a kind that is missing")
	}
}

// answer is an answer of the API server, as kube-apiserver 1.36 gives it.
func answer(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Details: &metav1.StatusDetails{Name: "shop.example.com", Causes: causes},
	}}
}

// What an answer means for a claim decides between giving up, reading again, and failing.
func TestAnswers(t *testing.T) {
	theirs := metav1.StatusCause{
		Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "akash-net/akash1x/1/1": .spec.holderIdentity`, Field: ".spec.holderIdentity",
	}
	tests := []struct {
		name                      string
		err                       error
		owned, overtaken, unclear bool
	}{
		{"a field of another manager", answer(409, metav1.StatusReasonConflict, theirs), true, false, false},
		{"an old resourceVersion", answer(409, metav1.StatusReasonConflict), false, true, false},
		{"a create of what exists", answer(409, metav1.StatusReasonAlreadyExists), false, true, false},
		{"another uid", answer(422, metav1.StatusReasonInvalid, metav1.StatusCause{Field: "metadata.uid"}), false, true, false},
		{"another value refused", answer(422, metav1.StatusReasonInvalid, metav1.StatusCause{Field: "spec.holderIdentity"}), false, false, false},
		{"a right that is missing", answer(403, metav1.StatusReasonForbidden), false, false, false},
		{"a server in trouble", answer(503, metav1.StatusReasonServiceUnavailable), false, false, true},
		{"managed fields of a dropped version", answer(500, ""), false, false, true},
		{"no answer", errors.New("connection reset by peer"), false, false, true},
		{"a conflict in a wrapping", fmt.Errorf("host: %w", answer(409, metav1.StatusReasonConflict)), false, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if IsOwned(tt.err) != tt.owned || IsOvertaken(tt.err) != tt.overtaken || IsUnclear(tt.err) != tt.unclear {
				t.Errorf("owned %v, overtaken %v, unclear %v; want %v, %v, %v",
					IsOwned(tt.err), IsOvertaken(tt.err), IsUnclear(tt.err), tt.owned, tt.overtaken, tt.unclear)
			}
		})
	}
}

// A conflict names its managers, each once, whether or not the API server adds when they wrote.
func TestOwnersOfAConflict(t *testing.T) {
	cause := func(message string) metav1.StatusCause {
		return metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: message}
	}
	err := answer(409, metav1.StatusReasonConflict,
		cause(`conflict with "kubectl-edit" using networking.k8s.io/v1 at 2026-11-20T10:00:00Z`),
		cause(`conflict with "akash-net/akash1x/1/1"`),
		cause(`conflict with "kubectl-edit" using networking.k8s.io/v1 at 2026-11-20T10:00:00Z`),
	)
	if got, want := Owners(err), []string{"kubectl-edit", "akash-net/akash1x/1/1"}; !slices.Equal(got, want) {
		t.Errorf("owners %q, want %q", got, want)
	}
	if got := Owners(errors.New("no answer")); got != nil {
		t.Errorf("owners of no answer: %q", got)
	}
}

// A write that a gate refuses is shut off; one that an interrupt ends while it asks is only interrupted, and can be undone.
func TestGate(t *testing.T) {
	lost := errors.New("lost")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		gate error
		shut bool
	}{
		"an open gate":                            {t.Context(), nil, false},
		"a shut gate":                             {t.Context(), lost, true},
		"a shut gate, and an interrupt":           {interrupted, lost, true},
		"an interrupt while it asks":              {interrupted, context.Canceled, false},
		"the end of something else while it asks": {t.Context(), context.Canceled, true},
	} {
		err := (&Cluster{}).ask(WithGate(tt.ctx, func(context.Context, bool) (time.Time, error) { return time.Time{}, tt.gate }))
		if !errors.Is(err, tt.gate) || IsShut(err) != tt.shut {
			t.Errorf("%s: %v, shut %t", name, err, IsShut(err))
		}
	}
}

// The body of an apply is valid YAML with the same content, whatever characters its strings have.
func TestAsYAML(t *testing.T) {
	text := "a\u009bb\u007f\u0085\ufeff\ufffe\uffff é \U0001f600"
	body, err := json.Marshal(map[string]string{"a": text})
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(body, &map[string]string{}); err == nil {
		t.Error("the body needs no escape")
	}
	var got map[string]string
	if err := yaml.Unmarshal(AsYAML(body), &got); err != nil || got["a"] != text {
		t.Errorf("%q, %v", got["a"], err)
	}
}
