package observed_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// What an object says is remembered until it changes. Whose it is follows the labels of its namespace, which may change without it.
func TestRememberedObjects(t *testing.T) {
	there, err := cluster.OfObjects(nil)
	if err != nil {
		t.Fatal(err)
	}
	memory := there.Watching(nil).Memory()
	route := observedtest.Ours(observedtest.Ingress(observedtest.Shop, "shop.example.com", "/"))
	route.SetResourceVersion("1")
	read := func(tenant lease.ID) *observed.Snapshot {
		s := observed.NewSnapshot().Remembering(memory)
		s.Tenants[route.GetNamespace()] = tenant
		s.Index(nil, map[string][]*unstructured.Unstructured{kinds.Ingress.Plural: {route}})
		return s
	}
	for range 2 {
		if s := read(observedtest.Shop); len(s.Written[observedtest.Shop.Group()]) != 1 || len(s.HostUses["shop.example.com"]) != 1 {
			t.Errorf("written %v, uses %v", s.Written, s.HostUses)
		}
	}
	if s := read(observedtest.Blog); len(s.Written[observedtest.Shop.Group()]) != 0 || s.HostUses["shop.example.com"][0].Lease != observedtest.Blog {
		t.Errorf("the namespace is another lease's: written %v, uses %v", s.Written, s.HostUses)
	}
	route.SetResourceVersion("2")
	if err := unstructured.SetNestedField(route.Object, nil, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	if s := read(observedtest.Shop); len(s.HostUses) != 0 {
		t.Errorf("the former version is believed: %v", s.HostUses)
	}
}
