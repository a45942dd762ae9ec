package cluster

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
)

const ingressOne = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a
  namespace: one
  uid: u1
  resourceVersion: "7"
  labels: {app: web}
  annotations: {kept: theirs, old: ours}
  managedFields:
    - {manager: m, operation: Apply, apiVersion: networking.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:annotations": {"f:old": {}}}}}
spec: {ingressClassName: nginx}
status: {loadBalancer: {}}
`

func route(name, class string) render.Object {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": map[string]any{"ingressClassName": class}}}
	o.SetName(name)
	o.SetNamespace("one")
	return render.Object{Kind: kinds.Ingress, Namespace: "one", Name: name, Config: o}
}

// writes makes some writes, and returns what is there then.
func writes(t *testing.T, c *Cluster) map[string]string {
	t.Helper()
	ctx := t.Context()
	if meta, made, err := c.As("m").applyObject(ctx, route("a", "traefik"), metav1.PatchOptions{}); err != nil || made || meta.UID != "u1" || meta.ResourceVersion == "7" {
		t.Errorf("apply: made %v, %v, %v", made, meta, err)
	}
	if err := c.DeletePinned(ctx, kinds.Ingress, "one", "a", "u1", "7"); !IsOvertaken(err) {
		t.Errorf("a delete of what was changed since: %v", err)
	}
	if meta, made, err := c.As("m").applyObject(ctx, route("b", "nginx"), metav1.PatchOptions{}); err != nil || !made || meta.UID == "" {
		t.Errorf("apply of a new object: made %v, %v, %v", made, meta, err)
	}
	if err := c.As("m").Create(ctx, route("b", "nginx")); !IsOvertaken(err) {
		t.Errorf("what is there is made: %v", err)
	}
	if err := c.As("m").Create(ctx, route("c", "nginx")); err != nil {
		t.Errorf("what is not there cannot be made: %v", err)
	}
	there := map[string]string{}
	list, err := c.Objects(ctx, kinds.Ingress.Resource(), "", metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	metas, err := c.Metas(ctx, kinds.Ingress.Resource(), "one")
	if err != nil || len(metas) != len(list) {
		t.Errorf("%d of %d metadata, error %v", len(metas), len(list), err)
	}
	for _, o := range list {
		there[o.GetName()], _, _ = unstructured.NestedString(o.Object, "spec", "ingressClassName")
	}
	return there
}

// What a client's dry run has written is read back, and nothing of it is sent.
func TestDryRunIsReadBack(t *testing.T) {
	under, err := OfObjects(objectsOf(t, ingressOne))
	if err != nil {
		t.Fatal(err)
	}
	c := under.DryRun(DryRunClient)
	if diff := cmp.Diff(map[string]string{"a": "traefik", "b": "nginx", "c": "nginx"}, writes(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now, err := c.Get(t.Context(), kinds.Ingress, "one", "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"kept": "theirs"}, now.GetAnnotations()); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if e, ok := managed.Applied(now, "m"); !ok || !e.Owns("spec", "ingressClassName") || e.Owns("metadata") {
		t.Errorf("the manager owns %v", e)
	}
	if !plan.Unchanged(route("a", "traefik"), now, "m") {
		t.Error("what was applied differs from what is read")
	}
	patch := `{"metadata":{"resourceVersion":"` + now.GetResourceVersion() + `"},"status":{"loadBalancer":null,"seen":true}}`
	if _, err := c.Dynamic.Resource(kinds.Ingress.Resource()).Namespace("one").Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
		t.Error(err)
	}
	if now, err = c.Get(t.Context(), kinds.Ingress, "one", "a"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(map[string]any{"seen": true}), now.Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if err := c.DeletePinned(t.Context(), kinds.Ingress, "one", "a", "u1", now.GetResourceVersion()); err != nil {
		t.Error(err)
	}
	if now, err = c.Get(t.Context(), kinds.Ingress, "one", "a"); now != nil || err != nil {
		t.Errorf("what was deleted is read: %v %v", now, err)
	}
	if was, err := under.Get(t.Context(), kinds.Ingress, "one", "a"); err != nil || was.GetResourceVersion() != "7" {
		t.Errorf("the cluster itself has changed: %v %v", was, err)
	}
}

// A server's dry run sends each first write of an object as one, and no other.
func TestServerJudgesADryRun(t *testing.T) {
	for _, below := range []string{"", "/k8s/clusters/c-1"} { // the API server may be reached below a path, as Rancher's proxy does it
		t.Run(below, func(t *testing.T) { testServerJudges(t, below) })
	}
}

func testServerJudges(t *testing.T, below string) {
	t.Helper()
	var sent []string
	answers := newStore()
	for _, o := range objectsOf(t, ingressOne) {
		answers.put(kinds.Ingress.Resource().GroupResource(), listed.New(o.GetNamespace()+"/"+o.GetName(), o))
	}
	server := httptest.NewServer(http.StripPrefix(below, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			body, _ := io.ReadAll(r.Body)
			dry := r.URL.Query().Get("dryRun") == "All"
			if r.Method == http.MethodDelete { // the API server reads its options from the body alone
				dry = strings.Contains(string(body), `"dryRun":["All"]`)
			}
			sent = append(sent, fmt.Sprintf("%s %s %v", r.Method, (*store)(nil).keyOf(targetOf(r.URL.Path)), dry))
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/b") || r.Method == http.MethodPost {
				w.WriteHeader(http.StatusCreated)
			}
			_, _ = w.Write([]byte(strings.Replace(string(body), `"metadata":{`, `"metadata":{"uid":"u1","resourceVersion":"7",`, 1)))
			return
		}
		response, err := answers.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = response.Body.Close() }()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	})))
	defer server.Close()
	under, err := Connect(&rest.Config{Host: server.URL + below}, 1)
	if err != nil {
		t.Fatal(err)
	}
	c := under.DryRun(DryRunServer)
	if diff := cmp.Diff(map[string]string{"a": "traefik", "b": "nginx", "c": "nginx"}, writes(t, c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := c.DeletePinned(t.Context(), kinds.Ingress, "one", "d", "u2", "1"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"PATCH one/a true", "PATCH one/b true", "POST one/ true", "DELETE one/d true"}, sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

// Where what is there cannot be read a client's dry run does not say what would become of it.
func TestDryRunOfWhatCannotBeRead(t *testing.T) {
	for name, answer := range map[string]struct {
		code int
		body string
		want func(error) bool
	}{
		"no rights":    {http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`, apierrors.IsForbidden},
		"a fault":      {http.StatusInternalServerError, "panic", apierrors.IsInternalError},
		"no such kind": {http.StatusNotFound, "404 page not found\n", IsMissingKind},
		"no object":    {http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"details":{"name":"a"}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(answer.code)
				_, _ = w.Write([]byte(answer.body))
			}))
			defer server.Close()
			under, err := Connect(&rest.Config{Host: server.URL}, 1)
			if err != nil {
				t.Fatal(err)
			}
			_, made, err := under.DryRun(DryRunClient).As("m").applyObject(t.Context(), route("a", "nginx"), metav1.PatchOptions{})
			switch {
			case answer.want == nil && (err != nil || !made):
				t.Errorf("made %v, %v", made, err)
			case answer.want != nil && !answer.want(err):
				t.Errorf("made %v, %v", made, err)
			}
		})
	}
}
