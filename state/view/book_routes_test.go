package view

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// bookIngress returns an Ingress for hosts without marks of this program.
func bookIngress(namespace, name string, minutes int, labels map[string]string, hosts ...string) *unstructured.Unstructured {
	var rules []any
	for _, h := range hosts {
		rules = append(rules, map[string]any{"host": h})
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "spec": map[string]any{"rules": rules},
	}}
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetLabels(labels)
	o.SetCreationTimestamp(metav1.NewTime(statetest.Minute(minutes)))
	return o
}

func bookNamespace(name string, labels map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	o.SetName(name)
	o.SetLabels(labels)
	return o
}

func contentsOf(claims []*state.Claim, objects ...*unstructured.Unstructured) Contents {
	in := Contents{Claims: claims}
	for _, o := range objects {
		in.Add(o, "akash-net")
	}
	return in
}

func routeLines(b *Book) []string {
	var out []string
	for _, r := range b.Routes {
		out = append(out, fmt.Sprintf("%s %s/%s %t %s", r.Pattern(), r.Namespace, r.Name, r.Admitted, r.Reason))
	}
	return out
}

// Claims count unless they are being deleted or are unbound wildcards. An unreadable claim excludes everybody. A route
// without labels belongs to its namespace's tenant.
func TestRoutesOfClaims(t *testing.T) {
	going := claimtest.HostClaim("going.example.com", statetest.Blog, "")
	going.Deleting = true
	broken := claimtest.HostClaim("broken.example.com", statetest.Shop, "")
	broken.Unreadable = "it is not JSON"
	pending := state.HostWant{Host: "*.pending.example.com"}.Hold(statetest.Blog)
	bound := state.HostWant{Host: "*.bound.example.com"}.Hold(statetest.Blog)
	bound.Parts[0].Bound = true
	claims := []*state.Claim{
		claimtest.HostClaim("held.example.com", statetest.Shop, ""), going, broken,
		{Kind: state.Wildcard, Thing: "*.pending.example.com", Owner: statetest.Bob, Parts: pending.Parts},
		{Kind: state.Wildcard, Thing: "*.bound.example.com", Owner: statetest.Bob, Parts: bound.Parts},
		claimtest.AddressClaim("203.0.113.7", "public", statetest.Blog, claimtest.HTTPS()),
	}
	hosts := []string{"held.example.com", "going.example.com", "broken.example.com", "x.pending.example.com", "x.bound.example.com"}
	in := contentsOf(claims,
		bookIngress("shop", "shop", 2, nil, hosts...), bookNamespace("shop", statetest.Shop.Labels()),
		bookIngress("stray", "stray", 1, nil, "held.example.com", "x.pending.example.com"),
		bookSolver(bookIngress("solver", "cm-acme-http-solver-x", 0, map[string]string{"acme.cert-manager.io/http01-solver": "true"}, "going.example.com")),
	)
	got := routeLines(NewBook(config.Default(), in, SubjectRoutes))
	want := []string{
		"broken.example.com/ shop/shop false HostAlreadyClaimed",
		"going.example.com/ shop/shop true ",
		"held.example.com/ stray/stray false HostAlreadyClaimed",
		"held.example.com/ shop/shop true ",
		"x.bound.example.com/ shop/shop false HostAlreadyClaimed",
		"x.pending.example.com/ stray/stray true ",
		"x.pending.example.com/ shop/shop false HostAlreadyClaimed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.Routes[0].HasLease {
		t.Error("the book has written into what it was computed from")
	}
}

func TestRoutesSelectAndChanges(t *testing.T) {
	cfg := config.Default()
	shop := bookIngress(statetest.Shop.Namespace(), "shop", 1, statetest.Shop.Labels(), "shop.example.com")
	blog := bookIngress("b", "blog", 2, map[string]string{"tier": "web"}, "blog.example.com")
	rival := bookIngress("c", "rival", 3, map[string]string{"tier": "web"}, "shop.example.com")
	book := func(objects ...*unstructured.Unstructured) *Book {
		return NewBook(cfg, contentsOf(nil, objects...), SubjectRoutes)
	}

	selected := book(shop, blog, rival)
	if r := selected.Routes[1]; r.Owner != statetest.Alice || r.Lease != statetest.Shop.String() {
		t.Errorf("the lease's route is shown as %+v", r)
	}
	selected.Select(labels.SelectorFromSet(labels.Set{"tier": "web"}), "c")
	if diff := cmp.Diff([]string{"shop.example.com/ c/rival false HostAlreadyClaimed"}, routeLines(selected)); diff != "" {
		t.Errorf("selected (-want +got):\n%s", diff)
	}
	byLease := book(shop, blog, rival)
	byLease.Select(labels.SelectorFromSet(labels.Set{lease.LabelOwner: statetest.Alice}), "")
	if diff := cmp.Diff([]string{"shop.example.com/ " + shop.GetNamespace() + "/shop true "}, routeLines(byLease)); diff != "" {
		t.Errorf("selected by owner (-want +got):\n%s", diff)
	}

	changes := book(blog, rival).Changes(book(shop, blog, rival))
	want := []string{"shop.example.com/ c/rival true ", "shop.example.com/ " + shop.GetNamespace() + "/shop false Released"}
	if diff := cmp.Diff(want, routeLines(changes)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if !book(shop).Changes(book(shop)).Empty() || book(shop).Empty() {
		t.Error("a book without changes has some, or one with a route is empty")
	}
}

// A route that a wildcard rule refuses names the older route of the same tenant as kind namespace/name.
func TestRouteMessageNamesOlderRoute(t *testing.T) {
	cfg := config.Default()
	cfg.Hosts.Wildcards = true
	for host, want := range map[string]string{
		"www.example.com": "ingress a/first has host www.example.com",
		"*.example.com":   "wildcard ingress a/first has host *.example.com, blocking *.example.com",
	} {
		older, younger := bookIngress("a", "first", 1, nil, host), bookIngress("a", "second", 2, nil, host)
		routes := NewBook(cfg, contentsOf(nil, older, younger), SubjectRoutes).Routes
		if len(routes) != 2 || routes[1].Message != want {
			t.Errorf("%s: %+v, want the second refused with %q", host, routes, want)
		}
	}
}

// bookSolver turns an Ingress into one of cert-manager's solvers.
func bookSolver(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "acme.cert-manager.io/v1", Kind: "Challenge"}})
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for _, rule := range rules {
		_ = unstructured.SetNestedSlice(rule.(map[string]any), []any{map[string]any{"path": "/.well-known/acme-challenge/x"}}, "http", "paths")
	}
	_ = unstructured.SetNestedSlice(o.Object, rules, "spec", "rules")
	return o
}

func TestPatternOfRoute(t *testing.T) {
	for name, tt := range map[string]struct {
		row  RouteRow
		want string
	}{
		"a host and a path":                 {RouteRow{Kind: "Ingress", Host: "www.example.com", Path: "/api"}, "www.example.com/api"},
		"a wildcard of an Ingress":          {RouteRow{Kind: "Ingress", Host: "*.example.com", Path: "/", Wildcard: true}, "*.example.com/"},
		"a Route with a wildcard policy":    {RouteRow{Kind: "Route", Host: "www.example.com", Wildcard: true}, "*.example.com"},
		"a Route without a wildcard policy": {RouteRow{Kind: "Route", Host: "www.example.com"}, "www.example.com"},
	} {
		if got := tt.row.Pattern(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	b := &Book{Routes: []RouteRow{{Name: "a", Shard: "red"}, {Name: "b", Shard: "blue"}, {Name: "c"}}}
	if b.SelectShard("blue"); len(b.Routes) != 1 || b.Routes[0].Name != "b" {
		t.Errorf("shard blue has %+v", b.Routes)
	}
}
