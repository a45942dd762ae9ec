package published

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// objects are objects of one kind.
type objects []*unstructured.Unstructured

func (list objects) At(_ kinds.Kind, namespace, name string) *unstructured.Unstructured {
	for _, o := range list {
		if o.GetNamespace() == namespace && o.GetName() == name {
			return o
		}
	}
	return nil
}

func (list objects) Of(kinds.Kind) iter.Seq[*unstructured.Unstructured] { return slices.Values(list) }

// A Route's status names the router that serves it.
func TestRouteTarget(t *testing.T) {
	id := lease.ID{Owner: "akash1owner", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	u := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"ingress": []any{
		map[string]any{"host": "shop.example.com", "routerCanonicalHostname": "router-default.apps.example.net"},
	}}}}
	u.SetNamespace(id.Namespace())
	u.SetName("shop.example.com")
	r := Reader{Lease: id, Live: objects{u}}
	target, err := r.Target(t.Context(), render.UnknownHost{Host: lease.Host{Name: "shop.example.com"}, Source: config.FromStatus, Target: config.TargetRoute})
	if err != nil || target.Host != "router-default.apps.example.net" {
		t.Errorf("got %v, %v", target, err)
	}
}

// Where Ingresses of a class agree, their status says where one is reached that has none yet.
func TestIngressTarget(t *testing.T) {
	id := lease.ID{Owner: "akash1owner", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	ingress := func(namespace, name, class string, entries ...any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ingressClassName": class}, "status": map[string]any{"loadBalancer": map[string]any{"ingress": entries}}}}
		u.SetNamespace(namespace)
		u.SetName(name)
		return u
	}
	address := func(a string) any { return map[string]any{"ip": a} }
	class := config.Default().Ingress.ClassName
	for name, c := range map[string]struct {
		live []*unstructured.Unstructured
		want string
	}{
		"none":               {nil, ""},
		"its own":            {[]*unstructured.Unstructured{ingress(id.Namespace(), "shop.example.com", class, address("192.0.2.2"), address("192.0.2.1")), ingress("a", "a", class, address("192.0.2.9"))}, "192.0.2.1,192.0.2.2"},
		"others agree":       {[]*unstructured.Unstructured{ingress(id.Namespace(), "shop.example.com", class), ingress("a", "a", class, address("192.0.2.9")), ingress("b", "b", class, address("192.0.2.9"))}, "192.0.2.9"},
		"others do not":      {[]*unstructured.Unstructured{ingress("a", "a", class, address("192.0.2.9")), ingress("b", "b", class, address("192.0.2.8"))}, ""},
		"of another class":   {[]*unstructured.Unstructured{ingress("a", "a", "other", address("192.0.2.9"))}, ""},
		"a host name":        {[]*unstructured.Unstructured{ingress("a", "a", class, map[string]any{"hostname": "LB.example.net"})}, "lb.example.net"},
		"addresses go first": {[]*unstructured.Unstructured{ingress("a", "a", class, map[string]any{"hostname": "lb.example.net"}, address("192.0.2.9"))}, "192.0.2.9"},
	} {
		r := Reader{Config: config.Default(), Lease: id, Live: objects(c.live)}
		target, err := r.ingressTarget(t.Context(), "shop.example.com")
		var values []string
		for _, rec := range target.Records("x.y", 0) {
			values = append(values, rec.Values...)
		}
		if got := strings.Join(values, ","); err != nil || got != c.want {
			t.Errorf("%s: got %q (%v), want %q", name, got, err, c.want)
		}
	}
}
