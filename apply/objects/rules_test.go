package objects

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The message of a timeout names each Service, its addresses, and who uses these.
func TestMissingGrants(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	const end = " (see: kubectl -n ns describe service "
	for name, c := range map[string]struct {
		waiting   map[string][]netip.Addr
		squatters map[netip.Addr][]string
		want      []string
	}{
		"no Service waits": {nil, nil, nil},
		"in pool mode a Service waits for any address": {
			map[string][]netip.Addr{"a": nil}, nil, []string{"service ns/a to be granted an address by MetalLB" + end + "a)"}},
		"a Service waits for two addresses": {
			map[string][]netip.Addr{"a": {one, two}}, nil,
			[]string{"service ns/a to be granted 192.0.2.1, 2001:db8::1 by MetalLB" + end + "a)"}},
		"others use the addresses": {
			map[string][]netip.Addr{"a": {one, two}}, map[netip.Addr][]string{one: {"x has it"}, two: {"y has it"}},
			[]string{"service ns/a to be granted 192.0.2.1, 2001:db8::1 by MetalLB: x has it, y has it" + end + "a)"}},
		"Services are sorted": {
			map[string][]netip.Addr{"b": {one}, "a": {one}}, nil,
			[]string{"service ns/a to be granted 192.0.2.1 by MetalLB" + end + "a)", "service ns/b to be granted 192.0.2.1 by MetalLB" + end + "b)"}},
	} {
		if diff := cmp.Diff(c.want, missingGrants("ns", c.waiting, c.squatters)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// An annotation is added to a copy: the rendered object is rendered once and compared with several versions.
func TestAnnotate(t *testing.T) {
	o := render.Object{Kind: kinds.Ingress, Namespace: "ns", Name: "a", Config: ot.Ingress(ot.Next, shop, "/")}
	before := o.Config.(*unstructured.Unstructured).DeepCopy()
	out := annotate(annotate(o, "one", "1"), "two", "2")
	annotations := out.Config.(*unstructured.Unstructured).GetAnnotations()
	if annotations["one"] != "1" || annotations["two"] != "2" {
		t.Errorf("annotations %v", annotations)
	}
	if diff := cmp.Diff(before, o.Config); diff != "" {
		t.Errorf("the rendered object has changed (-before +after):\n%s", diff)
	}
	if out.Kind != o.Kind || out.Namespace != o.Namespace || out.Name != o.Name {
		t.Errorf("another object: %s", out)
	}
}

// A Service strays by its port, a route by a path that the run holds or a host of which its group holds nothing.
func TestStrays(t *testing.T) {
	both := ot.Host(ot.Shop, shop, "/old")
	both.Parts = append(both.Parts, ot.Host(ot.Next, shop, "/").Parts...)
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		claim  *state.Claim
		want   bool
	}{
		"a route of a group that holds nothing of the host": {ot.Ingress(ot.Shop, shop, "/x"), ot.Host(ot.Next, shop), true},
		"a route of a path that its group holds":            {ot.Ingress(ot.Shop, shop, "/old"), both, false},
		"a route of a path that the run holds":              {ot.Ingress(ot.Shop, shop, "/"), both, true},
		"a Service of a port that the run holds":            {ot.Service(ot.Shop, 443, address), ot.Address(ot.Next, address, 443), true},
		"a Service of another port":                         {ot.Service(ot.Shop, 22, address), ot.Address(ot.Next, address, 443), false},
	} {
		r := work(command.Options{}, []*state.Claim{c.claim})
		holds := r.SortedHolds()
		if len(holds) != 1 {
			t.Fatalf("%s: %d holds", name, len(holds))
		}
		if got := strays(ot.Owned(c.object), holds[0]); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
