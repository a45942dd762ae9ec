package reading

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
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

// telling tells what has changed since it was asked last.
type telling struct {
	told
	next  []cluster.Change
	claim *metav1.ObjectMeta
}

func (w *telling) Meta(_ context.Context, _ schema.GroupVersionResource, _, name string) (*metav1.ObjectMeta, error) {
	if name == w.claim.Name {
		return w.claim, nil
	}
	return nil, fmt.Errorf("asked for %s", name)
}

func (w *telling) Changes(context.Context) ([]cluster.Change, error) {
	next := w.next
	w.next = nil
	return next, nil
}

// The marks of a command count while it is announced, in whatever order watches tell of both, and for the command itself also afterwards. A
// claim without one that counts is the same for all commands, which take no time for it.
func TestMarksOfRuns(t *testing.T) {
	const nonce = "aaaaaaaaaaaaa"
	c, err := cluster.Connect(&rest.Config{Host: "http://nobody"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	watch := &telling{}
	c = c.Watching(watch)
	ctx := cluster.Early(t.Context())
	meta := func(name, version string, labels, annotations map[string]string) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version, Labels: labels, Annotations: annotations}
	}
	tell := func(name string, now *metav1.ObjectMeta) {
		watch.next = append(watch.next, cluster.Change{Resource: cluster.Leases, Namespace: "akash-net", Name: name, Meta: now})
	}
	of := map[string]string{state.LabelKind: "host", state.LabelOwner: ot.Shop.Owner}
	claim := func(version, run string) *metav1.ObjectMeta {
		part := fmt.Sprintf(`{"lease":%q,"path":"/","run":%q}`, ot.Shop, run)
		return meta("a.example.com", version, of, map[string]string{state.AnnotationLedger: state.LedgerVersion, state.RouteKey("/"): part})
	}
	own := ledger.New(c, "akash-net")
	own.Runs.Own(nonce)
	seen := func(l ledger.Ledger) *state.Claim {
		t.Helper()
		s, err := Read(ctx, c, l, Reading{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Claim("a.example.com")
	}
	counts := func(when string, forOthers, forItself bool) {
		t.Helper()
		if got := seen(ledger.New(c, "akash-net")); got.Marked() != forOthers {
			t.Errorf("%s: others see the mark: %t", when, got.Marked())
		}
		if got := seen(own); got.Marked() != forItself {
			t.Errorf("%s: it sees its mark: %t", when, got.Marked())
		}
	}
	announcement := state.AnnouncementName(nonce)
	tell("a.example.com", claim("1", nonce))
	counts("no announcement yet", false, true)
	if a, b := seen(ledger.New(c, "akash-net")), seen(ledger.New(c, "akash-net")); a != b {
		t.Error("a claim whose command has ended is copied for each command")
	}
	watch.claim = claim("1", nonce)
	other := ledger.New(c, "akash-net")
	_ = seen(other)
	if again, err := other.Get(ctx, watch.claim.Name); err != nil || again.Marked() {
		t.Errorf("the claim is read once more: %v, %v", again, err)
	}
	tell(announcement, meta(announcement, "2", nil, map[string]string{state.AnnotationGroups: ot.Shop.Group().String()}))
	counts("announced", true, true)
	tell(announcement, nil)
	counts("ended", false, true)
	tell("a.example.com", claim("3", ""))
	counts("without marks", false, false)
	tell("a.example.com", nil)
	if got := seen(own); got != nil {
		t.Errorf("gone, it is %v", got)
	}
}
