package published_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// The addresses of an endpoint are those that MetalLB has assigned to the lease's own Services of it, read again if asked.
func TestGranted(t *testing.T) {
	live := []*unstructured.Unstructured{
		ot.Service(ot.Shop, 80, "", "203.0.113.7"), ot.Service(ot.Next, 81, "", "203.0.113.8"), ot.Service(ot.Blog, 80, "", "203.0.113.9"),
	}
	c, err := cluster.OfObjects([]*unstructured.Unstructured{ot.Service(ot.Shop, 80, "", "203.0.113.10")})
	if err != nil {
		t.Fatal(err)
	}
	reader := func(fresh bool) *published.Reader {
		return &published.Reader{Cluster: c, Lease: ot.Shop, Live: ot.Snapshot(nil, live...), Fresh: fresh}
	}
	for endpoint, want := range map[string][2]string{"public": {"[203.0.113.7]", "[203.0.113.10]"}, "private": {"[]", "[]"}} {
		for i, fresh := range []bool{false, true} {
			got, err := reader(fresh).Target(t.Context(), render.UnknownHost{Source: config.FromAddress, Endpoint: endpoint})
			if text := fmt.Sprint(got.Addresses); text != want[i] || err != nil {
				t.Errorf("%s, read again %t: %s, %v", endpoint, fresh, text, err)
			}
		}
	}
}

// The target of the Gateway is read once, and again only if asked.
func TestGatewayTarget(t *testing.T) {
	cfg := config.Default()
	cfg.Gateway.Namespace, cfg.Gateway.Name = "gateways", "shared"
	gateway := func(address string) *cluster.Cluster {
		o := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"addresses": []any{map[string]any{"value": address}}}}}
		o.SetGroupVersionKind(kinds.Gateway.GroupVersionKind)
		o.SetNamespace(cfg.Gateway.Namespace)
		o.SetName(cfg.Gateway.Name)
		c, err := cluster.OfObjects([]*unstructured.Unstructured{o})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	r := &published.Reader{Cluster: gateway("192.0.2.1"), Config: cfg, Live: ot.Snapshot(nil)}
	for _, step := range []struct {
		address string
		fresh   bool
		want    string
	}{{"192.0.2.1", false, "[192.0.2.1]"}, {"192.0.2.2", false, "[192.0.2.1]"}, {"192.0.2.2", true, "[192.0.2.2]"}, {"192.0.2.3", false, "[192.0.2.2]"}} {
		r.Cluster, r.Fresh = gateway(step.address), step.fresh
		if got, err := r.GatewayTarget(t.Context()); fmt.Sprint(got.Addresses) != step.want || err != nil {
			t.Errorf("%+v: %v, %v", step, got, err)
		}
	}
}
