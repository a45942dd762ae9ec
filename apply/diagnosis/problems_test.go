package diagnosis

import (
	"testing"

	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The objects of leases are described by what their kind serves: routes by hosts, Services and declared ports by their port.
func TestObjectsOf(t *testing.T) {
	host := ot.Annotated(ot.ProviderHost(ot.Shop, "shop.example.com"), lease.AnnotationUpdatedAt, "2026-11-01T12:00:00Z")
	s := ot.Snapshot(nil,
		ot.Ours(ot.Ingress(ot.Shop, "shop.example.com", "/a")), ot.Ours(ot.Service(ot.Shop, 80, "203.0.113.7")), ot.ProviderLeasedIP(ot.Blog, 81), host,
	)
	found := map[string]state.OwnObject{}
	for _, o := range objectsOf(s, state.Routers{}) {
		found[o.Kind] = o
	}
	if len(found) != 4 {
		t.Fatalf("found %v", found)
	}
	route, service, port, declared := found[kinds.Ingress.Singular], found[kinds.Service.Singular],
		found[kinds.ProviderLeasedIP.Singular], found[kinds.ProviderHost.Singular]
	if len(route.Uses) != 1 || route.Uses[0].Host != "shop.example.com" || route.Definition != "hash" || !route.Ours || !route.ByOperators {
		t.Errorf("the route is %+v", route)
	}
	if service.Port.ExternalPort != 80 || service.SharingKey != ot.Key(ot.Shop) || len(service.Uses) == 0 {
		t.Errorf("the Service is %+v", service)
	}
	if port.Port.ExternalPort != 81 || port.SharingKey != ot.Key(ot.Blog) || port.Ours || port.ByOperators {
		t.Errorf("the declared port is %+v", port)
	}
	if !declared.ForOperator || declared.Lease != ot.Shop || declared.Namespace != ot.Shop.Namespace() {
		t.Errorf("the declared host is %+v", declared)
	}
}
