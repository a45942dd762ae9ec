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

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// What answers mean, which rights need a role of workloads, and what a path names: testdata/rules.txt.
//
//	answer    CODE [REASON] [field=FIELD] [owner=MANAGER] [| MESSAGE] of the API server, or of something before it; or an error of the network. A
//	          read is repeated if it was silent, a write only if it certainly was unsent; of a claim the answer may say that a field is owned by
//	          another manager, that it was overtaken, or nothing clear
//	behind    RESOURCE ANSWER: only a resource that an APIService may serve can be away alone
//	workloads VERB RESOURCE: those who operate leases read Manifests; only those who apply workloads write them, or see Deployments
//	path      as far as it goes
//	explain   [reading] VERB RESOURCE | ANSWER: each way in which a cluster refuses gets a sentence and a next step, that to a command which only
//	          reads another one
func TestRules(t *testing.T) {
	answerOf := func(text string) error {
		text, message, _ := strings.Cut(text, " | ")
		words := strings.Fields(text)
		for name, err := range map[string]error{
			"success": nil, "reset": errors.New("connection reset by peer"),
			"dial": &net.OpError{Op: "dial", Err: errors.New("refused")}, "read": &net.OpError{Op: "read", Err: errors.New("reset")},
			"refused": &url.Error{Op: "Get", URL: "https://cluster", Err: syscall.ECONNREFUSED},
		} {
			if words[0] == name {
				return err
			}
		}
		s := metav1.Status{Status: metav1.StatusFailure, Message: message, Details: &metav1.StatusDetails{Name: shop}}
		if _, err := fmt.Sscan(words[0], &s.Code); err != nil {
			t.Fatal(err)
		}
		for _, word := range words[1:] {
			switch name, value, cause := strings.Cut(word, "="); {
			case !cause:
				s.Reason = metav1.StatusReason(word)
			case name == "field":
				s.Details.Causes = append(s.Details.Causes, metav1.StatusCause{Field: value})
			default:
				s.Details.Causes = append(s.Details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Message: fmt.Sprintf("conflict with %q: .spec.holderIdentity", value)})
			}
		}
		return fmt.Errorf("host: %w", &apierrors.StatusError{ErrStatus: s})
	}
	resources := map[string]schema.GroupVersionResource{"": {}, "manifests": AkashResource("manifests"), "namespaces": Namespaces}
	for _, k := range []kinds.Kind{kinds.Ingress, kinds.ProviderHost, kinds.IPAddressPool, kinds.HTTPRoute} {
		resources[k.Plural] = k.Resource()
	}
	golden.Rules{
		"answer": func(line string) string {
			err := answerOf(line)
			var is []string
			for _, one := range []struct {
				name string
				is   func(error) bool
			}{{"silent", isSilent}, {"unsent", isUnsent}, {"owned", IsOwned}, {"overtaken", IsOvertaken}, {"unclear", IsUnclear}} {
				if one.is(err) {
					is = append(is, one.name)
				}
			}
			return strings.Join(is, " ")
		},
		"behind": func(line string) string {
			resource, text, _ := strings.Cut(line, " ")
			return fmt.Sprint(isBehind(resources[strings.Trim(resource, "-")], answerOf(text)))
		},
		"workloads": func(line string) string {
			verb, resource, _ := strings.Cut(line, " ")
			return fmt.Sprint(ofWorkloads(verb, schema.GroupVersionResource{Resource: resource}))
		},
		"path": func(line string) string {
			of := targetOf(line)
			return fmt.Sprintf("%s namespace=%s name=%s subresource=%s", of.GroupResource, of.namespace, of.name, of.subresource)
		},
		"explain": func(line string) string {
			text, answer, _ := strings.Cut(line, " | ")
			text, reads := strings.CutPrefix(text, "reading ")
			verb, resource, _ := strings.Cut(text, " ")
			err := error(apierrors.NewGenericServerResponse(http.StatusNotFound, verb, resources[resource].GroupResource(), "", "404 page not found", 0, true))
			if answer != "no such page" {
				err = answerOf(answer)
			}
			said := (&Cluster{host: "https://cluster", Reads: reads}).Explain(err, verb, resources[resource])
			return fmt.Sprintf("%v (a kind is missing: %t)", said, IsMissingKind(said))
		},
	}.Check(t, "testdata/rules.txt")
}

const shop = "shop.example.com"

// answer is an answer of the API server, as kube-apiserver 1.36 gives it.
func answer(code int32, reason metav1.StatusReason, causes ...metav1.StatusCause) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Details: &metav1.StatusDetails{Name: shop, Causes: causes},
	}}
}

// A list is decoded from protobuf and from JSON, whatever the answer calls it; the token for the next page is found without that.
func TestDecodeList(t *testing.T) {
	pods := corev1.PodList{ListMeta: metav1.ListMeta{Continue: "next"}, Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}
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
		"JSON":     []byte(`{"kind":"List","metadata":{"continue":"next"},"items":[{"metadata":{"name":"a"}}]}`),
	} {
		var got corev1.PodList
		if err := decodeList(body, &got); err != nil || len(got.Items) != 1 || got.Items[0].Name != "a" {
			t.Errorf("%s: %v, %v", name, got.Items, err)
		}
		if next, err := continueOf(body); err != nil || next != "next" {
			t.Errorf("%s: the next page is %q, %v", name, next, err)
		}
	}
	for name, body := range map[string]string{"an envelope": "k8s\x00\x00", "nothing": "k8s\x00", "a list": "k8s\x00\x12\x02\x12\x09", "JSON": "<html>"} {
		if err := decodeList([]byte(body), &corev1.PodList{}); err == nil {
			t.Errorf("%s that is broken is read", name)
		}
		if _, err := continueOf([]byte(body)); err == nil {
			t.Errorf("the next page of %s that is broken is found", name)
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
	if err := c.As("m").MergePinned(t.Context(), kinds.Ingress, live, patch("new")); err != nil {
		t.Fatal(err)
	}
	now, err := c.Get(t.Context(), kinds.Ingress, "one", "a")
	if err != nil || now.GetAnnotations()["old"] != "new" || now.GetAnnotations()["kept"] != "theirs" {
		t.Errorf("it has %v, %v", now.GetAnnotations(), err)
	}
	if err := c.As("m").MergePinned(t.Context(), kinds.Ingress, live, patch(nil)); !IsOvertaken(err) {
		t.Errorf("an object that has changed is patched: %v", err)
	}
	other := &unstructured.Unstructured{}
	other.SetNamespace("one")
	other.SetName("a")
	other.SetUID("another")
	if err := c.As("m").MergePinned(t.Context(), kinds.Ingress, other, patch(nil)); !IsOvertaken(err) {
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
