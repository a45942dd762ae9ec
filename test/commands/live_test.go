package commands

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// lead changes the backend of an Ingress by hand.
func lead(t *testing.T, namespace, host, service string) {
	t.Helper()
	change(t, ingresses, namespace, host, func(o *object) {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
		path := rules[0].(map[string]any)["http"].(map[string]any)["paths"].([]any)[0].(map[string]any)
		path["backend"].(map[string]any)["service"].(map[string]any)["name"] = service
		_ = unstructured.SetNestedSlice(o.Object, rules, "spec", "rules")
	})
}

// Live is what the live object says: a backend that was changed by hand is seen, and mended.
func TestLiveIsWhatTheRouteSays(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), "shop."+newDomain()
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	lead(t, id.Namespace(), host, "other")
	mustRun(t, 0, "explain", host).Prints(t, "Not live: ingress "+id.Namespace()+"/"+host+" routes it to other:80, the claim says web:80.")
	mustRun(t, 0, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").Prints(t, "Pending")
	lead(t, id.Namespace(), host, "web")
	mustRun(t, 0, "explain", host).Prints(t, "Live: ingress in namespace "+id.Namespace()+" routes it to web:80")
	mustRun(t, 0, "state", "hosts", "-n", id.Namespace(), "-o", "jsonpath={.hosts[0].state}").Prints(t, "Active")
	mustRun(t, 0, "release", id.Group().String())
}

// A route that was deleted by hand is not mended by deleting the rest of the lease, where no definition is kept.
func TestRepairLeavesALeaseWithoutItsRoute(t *testing.T) {
	id, host := leaseOf(newOwner(), 1), "shop."+newDomain()
	definition := define(t, id, web("web", 8080, host))
	mustRun(t, 0, "apply", "-f", definition)
	remove(t, ingresses, id.Namespace(), host)
	remove(t, claims, ledger, kept.Name(id.Group()))
	r := run(t.Context(), "repair", "--crashed-after", "0s", "--assume-crashed")
	if r.Code != 1 {
		t.Errorf("want exit code 1: %s", r)
	}
	r.Prints(t, "NotServed/"+host+" left (", "): kubectl akash-net repair -f FILE")
	need(t, hosts, "lease", host)
	held(t, host, "1 /")
	mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "-f", definition)
	need(t, ingresses, id.Namespace(), host)
	mustRun(t, 0, "release", id.Group().String())
}
