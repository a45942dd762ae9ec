package observed_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// A claim that is replaced or gone is found by nothing that it had before; who has the former snapshot sees no change.
func TestWithClaim(t *testing.T) {
	host := ot.Host(ot.Shop, "shop.example.com")
	s := ot.Snapshot([]*state.Claim{host, ot.Address(ot.Shop, "203.0.113.7", 80)})
	if len(s.Claims.Of(ot.Key(ot.Shop))) != 1 || len(s.List()) != 2 {
		t.Fatalf("claims %v", s.List())
	}
	before := s
	s = s.WithClaim(host.Name(), ot.Host(ot.Next, "shop.example.com"))
	if got := s.Claims.On("shop.example.com"); len(got) != 1 || !slices.Contains(got[0].Groups(), ot.Next.Group()) {
		t.Errorf("its holders are %v", got)
	}
	s = s.WithClaim(host.Name(), nil)
	if got := s.Claims.On("shop.example.com"); len(got) != 0 || len(s.List()) != 1 || s.Claim(host.Name()) != nil {
		t.Errorf("a claim that is gone is found: %v", got)
	}
	if got := before.Claims.On("shop.example.com"); len(got) != 1 || before.Claim(host.Name()) != host {
		t.Errorf("the former snapshot has %v", got)
	}
}

// What an object may serve is by the claims of the snapshot that is asked.
func TestNearWithClaim(t *testing.T) {
	address := ot.Address(ot.Shop, "203.0.113.7", 80)
	before := ot.Snapshot(nil, ot.Ours(ot.ProviderLeasedIP(ot.Shop, 80)))
	near := func(s *observed.Snapshot) []string { return s.Written.Of(ot.Shop.Group())[0].Near }
	if got := near(before); len(got) > 0 {
		t.Errorf("without a claim it may serve %v", got)
	}
	after := before.WithClaim(address.Name(), address)
	if got := near(after); !slices.Equal(got, []string{address.Name()}) || len(near(before)) > 0 {
		t.Errorf("it may serve %v, and before %v", got, near(before))
	}
}

// An object that is read again is found in its place and in its order; who has the former snapshot sees no change.
func TestWith(t *testing.T) {
	route := func(host, spec string) *unstructured.Unstructured {
		return ot.Object(kinds.Ingress, ot.Shop, host, map[string]any{"is": spec})
	}
	namespace := ot.Shop.Namespace()
	before := ot.Snapshot(nil, route("b.example.com", "old"), route("c.example.com", "old"))
	after := before.With(kinds.Ingress, namespace, "c.example.com", route("c.example.com", "new")).
		With(kinds.Ingress, namespace, "b.example.com", nil).
		With(kinds.Ingress, namespace, "d.example.com", route("d.example.com", "new"))
	names := func(s *observed.Snapshot) (out []string) {
		for o := range s.Of(kinds.Ingress) {
			is, _, _ := unstructured.NestedString(o.Object, "spec", "is")
			if at := s.At(kinds.Ingress, namespace, o.GetName()); at != o {
				t.Errorf("%s is read as %v", o.GetName(), at)
			}
			out = append(out, o.GetName()+" "+is)
		}
		return out
	}
	if got, want := names(after), []string{"c.example.com new", "d.example.com new"}; !slices.Equal(got, want) || after.At(kinds.Ingress, namespace, "b.example.com") != nil {
		t.Errorf("now there are %q", got)
	}
	if got, want := names(before), []string{"b.example.com old", "c.example.com old"}; !slices.Equal(got, want) {
		t.Errorf("the former snapshot has %q", got)
	}
}

// A route's host has the reports on all routes of it.
func TestReports(t *testing.T) {
	accepted := ot.HTTPRoute(ot.Shop, "shop.example.com", "/")
	accepted.Object["status"] = map[string]any{"parents": []any{map[string]any{
		"parentRef": map[string]any{"name": "shared", "namespace": "gateways"}, "controllerName": "example.net/controller",
		"conditions": []any{map[string]any{"type": "Accepted", "status": "True"}},
	}}}
	s := ot.Snapshot(nil, accepted, ot.HTTPRoute(ot.Shop, "www.example.com", "/"))
	got := s.Reports(state.Routers{})
	if len(got["shop.example.com"]) != 1 || len(got["www.example.com"]) != 0 {
		t.Errorf("reports %v", got)
	}
	if !s.Reported(kinds.HTTPRoute, "parents") || s.Reported(kinds.TLSRoute, "parents") {
		t.Error("the kinds that are reported on are wrong")
	}
}

// The object of a rendered one is of its kind, unless Akash's hostname operator makes it: then it is an Ingress or an HTTPRoute.
func TestMade(t *testing.T) {
	const host = "shop.example.com"
	ingress, route := ot.Ingress(ot.Shop, host, "/"), ot.HTTPRoute(ot.Shop, host, "/")
	unknown := ot.Ingress(ot.Shop, host, "/")
	unknown.SetLabels(nil)
	for name, tt := range map[string]struct {
		rendered, live *unstructured.Unstructured
		hostname       bool
		want           bool
	}{
		"we make it":                   {ingress, ingress, false, true},
		"there is another kind":        {ingress, route, false, false},
		"the operator makes it":        {ingress, ingress, true, true},
		"in the other kind":            {ingress, route, true, true},
		"the operator knows it not":    {unknown, route, true, false},
		"a Service is nothing else":    {ot.Service(ot.Shop, 80, ""), ot.Service(ot.Shop, 80, ""), true, true},
		"there is no object of it":     {ot.Service(ot.Shop, 80, ""), ingress, true, false},
		"a record is not of operators": {ot.ProviderHost(ot.Shop, host), ot.ProviderHost(ot.Shop, host), true, true},
	} {
		s := ot.Snapshot(nil, tt.live)
		s.Operators = observed.Operators{Hostname: tt.hostname, IP: tt.hostname}
		if got := s.Made(rendered(tt.rendered)); (got != nil) != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Of two uses of a host the first by namespace and name is the first, in whichever order they were read: it is the one that is named.
func TestUsesAreInOneOrder(t *testing.T) {
	t.Parallel()
	route := func(namespace, name string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{map[string]any{
			"host": "a.example.com", "http": map[string]any{"paths": []any{map[string]any{"path": "/"}}},
		}}}}}
		o.SetGroupVersionKind(kinds.Ingress.GroupVersionKind)
		o.SetNamespace(namespace)
		o.SetName(name)
		return o
	}
	s := observed.NewSnapshot()
	s.Index(map[string][]*listed.Object{kinds.Ingress.Plural: listed.Of([]*unstructured.Unstructured{route("b", "x"), route("a", "y"), route("a", "x")})})
	got := ""
	for _, u := range s.HostUses.At("a.example.com") {
		got += fmt.Sprintf("%s/%s ", u.Namespace, u.Name)
	}
	if want := "a/x a/y b/x "; got != want {
		t.Errorf("the uses are %q, want %q", got, want)
	}
}

// What an object uses is what it says as it was read last: a newer reading of an object of a snapshot is looked at anew.
func TestUsesOfANewerReading(t *testing.T) {
	t.Parallel()
	host := func(name string) *state.Claim {
		return &state.Claim{Kind: state.Host, Thing: name, Owner: ot.Shop.Owner, Parts: []state.Part{{Key: state.RouteKey("/"), Lease: ot.Shop, Path: "/", Service: "web", Port: 80}}}
	}
	was, is := host("was.example.com"), host("is.example.com")
	s := ot.Snapshot([]*state.Claim{was}, ot.Ours(ot.Ingress(ot.Shop, was.Thing, "/")))
	o := s.Written.Of(ot.Shop.Group())[0]
	if !o.StandsFor(was, was.Parts[0]) || o.StandsFor(is, is.Parts[0]) {
		t.Error("as it was read it stands for another claim")
	}
	o.Live = ot.Ingress(ot.Shop, is.Thing, "/")
	if o.StandsFor(was, was.Parts[0]) || !o.StandsFor(is, is.Parts[0]) {
		t.Error("as it was read again it stands for what it served before")
	}
}

// Only hosts that have a ProviderHost are warned of: not paths and wildcards, and nothing while no operator runs.
func TestWarnings(t *testing.T) {
	r := state.Request{Lease: statetest.Shop, Hosts: []state.HostWant{
		{Host: "shop.example.com", Path: "/", Service: "web", Port: 80, At: lease.Place{File: "f", Line: 3, Column: 5}},
		{Host: "shop.example.com", Path: "/v1", Service: "api", Port: 80},
		{Host: "*.example.com", Path: "/", Service: "web", Port: 80},
	}}
	const want = "f:3:5: shop.example.com: lease "
	if got := (observed.Manifests{}).Warnings(r); len(got) != 1 || got.Failed() || got[0].Error()[:len(want)] != want {
		t.Errorf("got %v", got)
	}
	if got := (observed.Manifests{statetest.Shop.Namespace(): manifest("web", 1, 80, 80, true)}).Warnings(r); len(got) != 0 {
		t.Errorf("got %v, and the operator finds it", got)
	}
	if got := observed.Manifests(nil).Warnings(r); len(got) != 0 {
		t.Errorf("got %v, and no operator runs", got)
	}
}
