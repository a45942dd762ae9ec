package reading

import (
	"context"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/sim"
)

// told is what watches tell once.
type told []cluster.Change

func (told) Objects(context.Context, schema.GroupVersionResource, string) ([]*unstructured.Unstructured, error) {
	return nil, cluster.ErrUnwatched
}

func (told) Metas(context.Context, schema.GroupVersionResource, string) ([]*metav1.ObjectMeta, error) {
	return nil, cluster.ErrUnwatched
}

func (told) Meta(context.Context, schema.GroupVersionResource, string, string) (*metav1.ObjectMeta, error) {
	return nil, cluster.ErrUnwatched
}
func (w told) Changes(context.Context) ([]cluster.Change, error) { return w, nil }
func (told) Has(schema.GroupVersionResource) error               { return nil }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// While a command asks for Gateways, to which a route of somebody else is attached, others take what is watched.
func TestNoRequestWhileOthersWait(t *testing.T) {
	server, err := sim.New()
	if err == nil {
		err = server.ServeAll()
	}
	if err != nil {
		t.Fatal(err)
	}
	var w *Watched
	asked := map[string]bool{}
	c, err := cluster.Connect(&rest.Config{Host: "http://sim", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		parts := strings.Split(r.URL.Path, "/")
		if asked[parts[len(parts)-1]] = true; !w.mu.TryLock() {
			t.Errorf("%s: others wait", r.URL.Path)
			return server.RoundTrip(r)
		}
		w.mu.Unlock()
		return server.RoundTrip(r)
	})}, 1)
	if err != nil {
		t.Fatal(err)
	}
	route := ot.Object(kinds.HTTPRoute, ot.Shop, "theirs", map[string]any{"parentRefs": []any{map[string]any{"name": "public", "kind": "Gateway"}}})
	c = c.Watching(told{{Resource: kinds.HTTPRoute.Resource(), Namespace: route.GetNamespace(), Name: route.GetName(), Object: route}})
	ctx := cluster.Early(t.Context())
	w = WatchedBy(ctx, c)
	if _, err := Read(ctx, c, ledger.New(c, "akash-net"), Reading{}); err != nil {
		t.Fatal(err)
	}
	if !asked["gateways"] {
		t.Errorf("asked for %v", asked)
	}
}
