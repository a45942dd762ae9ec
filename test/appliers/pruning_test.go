package appliers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// route returns the route of a lease, or nil.
func route(t *testing.T, id lease.ID, host string) *unstructured.Unstructured {
	t.Helper()
	return harness.Find(t, kinds.Ingress.Resource(), id.Namespace(), host)
}

// pruned waits until a route is gone: Argo CD deletes in the foreground, so the garbage collector ends it.
func pruned(t *testing.T, id lease.ID, host string) {
	t.Helper()
	harness.Eventually(t, "the route of "+host+" is pruned", func(context.Context) (bool, error) { return route(t, id, host) == nil, nil })
}

// A pipeline delivers two leases; one of them breaks, and ends. What one tenant does never touches the other's objects, and an
// applier that prunes never frees a name: only a release does.
func TestPruningFreesNothing(t *testing.T) {
	for _, a := range appliers(t) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel() // kubectl has one ApplySet for all tests
			r := clone(t)
			shop, shopHost := tenant(t)
			blog, blogHost := tenant(t)
			r.define(t, shop, shopHost)
			r.define(t, blog, blogHost)
			r.deliver(t, a)
			shopRoute, blogRoute := route(t, shop, shopHost), route(t, blog, blogHost)
			if shopRoute == nil || blogRoute == nil {
				t.Fatal("the routes are not there")
			}

			r.define(t, shop, "BAD_")
			r.render(t, a).Exits(t, 3)
			r.apply(t, a)
			if now := route(t, shop, shopHost); now == nil || now.GetUID() != shopRoute.GetUID() {
				t.Errorf("a broken definition has cost the lease its route")
			}

			r.remove(t, r.definition(shop))
			r.render(t, a).Exits(t, 0).Prints(t, r.file(shop)+" pruned")
			r.apply(t, a)
			pruned(t, shop, shopHost)
			if now := route(t, blog, blogHost); now == nil || now.GetUID() != blogRoute.GetUID() {
				t.Error("the route of the other tenant has changed")
			}
			harness.Need(t, cluster.Namespaces, "", shop.Namespace())
			harness.Run(t.Context(), "state", "hosts", shopHost).Exits(t, 0).Prints(t, "Reserved")

			thief, _ := tenant(t)
			r.define(t, thief, shopHost)
			r.reserve(t).Exits(t, 4).Tells(t, shopHost, shop.Owner)
			r.render(t, a).Exits(t, 4)
			if _, err := os.Stat(r.file(thief)); err == nil {
				t.Error("the objects of a lease were written for a host that another owner holds")
			}
			r.apply(t, a)
			if route(t, thief, shopHost) != nil {
				t.Error("a host that another owner holds is served")
			}

			harness.Run(t.Context(), "release", shop.Group().String()).Exits(t, 0)
			r.deliver(t, a)
			if route(t, thief, shopHost) == nil {
				t.Error("the host was released, and its new holder does not have it")
			}
			r.end(t, a, thief, blog)
		})
	}
}

// An applier that finds nothing of the leases in its folder deletes their objects. The names stay claimed, the ledger shows who is
// not served, and the pipeline brings all of it back, with the same addresses.
func TestEmptiedFolderIsSeen(t *testing.T) {
	for _, a := range appliers(t) {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel() // kubectl has one ApplySet for all tests
			r := clone(t)
			shop, host := tenant(t)
			r.define(t, shop, host)
			r.deliver(t, a)
			service := harness.Need(t, kinds.Service.Resource(), shop.Namespace(), "web-ip-443-tcp")

			r.remove(t, r.file(shop))
			r.write(t, filepath.Join(r.rendered, "other.yaml"), another())
			r.apply(t, a)
			pruned(t, shop, host)
			harness.Need(t, cluster.Leases, "akash-net", host)
			harness.Run(t.Context(), "state", "hosts", host).Exits(t, 0).Prints(t, "Reserved")
			harness.Run(t.Context(), "diff", "-R", "-f", r.leases).Exits(t, 1).Prints(t, "+   kind: Ingress", host)

			r.deliver(t, a)
			now := harness.Need(t, kinds.Service.Resource(), shop.Namespace(), "web-ip-443-tcp")
			if was, is := addresses(service), addresses(now); was == "" || was != is {
				t.Errorf("the address was %q, and is %q", was, is)
			}
			harness.Run(t.Context(), "state", "hosts", host).Exits(t, 0).Prints(t, "Active")
			r.remove(t, filepath.Join(r.rendered, "other.yaml"))
			r.end(t, a, shop)
		})
	}
}

// another is an object that is no lease's.
func another() string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other-%d, namespace: default}\n", harness.Number())
}

// addresses returns the addresses that a Service requests of MetalLB.
func addresses(service *unstructured.Unstructured) string {
	for key, value := range service.GetAnnotations() {
		if strings.HasSuffix(key, "/loadBalancerIPs") {
			return value
		}
	}
	return ""
}

// end ends leases in the order that the documentation gives: definition, file, objects, claims.
func (r repository) end(t *testing.T, a applier, ids ...lease.ID) {
	t.Helper()
	for _, id := range ids {
		r.remove(t, r.definition(id))
	}
	r.write(t, filepath.Join(r.leases, "none.yaml"), "# No leases.\n")
	harness.Run(t.Context(), "render", "-R", "-f", r.leases, "--output-dir", r.rendered, "--prune", "--allow-empty").Exits(t, 0)
	r.write(t, filepath.Join(r.rendered, "last.yaml"), another())
	r.apply(t, a)
	for _, id := range ids {
		harness.Run(t.Context(), "release", id.Group().String()).Exits(t, 0)
		if left := harness.List(t, kinds.Ingress.Resource(), lease.LabelOwner+"="+id.Owner); len(left) > 0 {
			t.Errorf("%d routes are left of %s", len(left), id)
		}
	}
}
