package commands

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Two ports of an address that nobody claims are both claimed again.
func TestRepairClaimsAllPorts(t *testing.T) {
	config := configure(t, "ip: {ranges: ["+newNet()+"0/29]}")
	id := leaseOf(newOwner(), 1)
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, leased("game", "public", 7001), leased("chat", "public", 7002)))
	address := addressOf(t, id.Owner)
	remove(t, claims, ledger, claimOf(address))
	run(t.Context(), "repair", "--crashed-after", "0s", "--assume-crashed", "--config", config)
	held(t, claimOf(address), "1 7001/tcp", "1 7002/tcp")
}

// The route that a transfer has left goes with the new lease's apply, also when the old lease has
// another path of the host by then.
func TestLeftRouteGoesBesideAnotherPath(t *testing.T) {
	t.Parallel()
	host, owner := "shop."+newDomain(), newOwner()
	old, next := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "apply", "-f", define(t, old, web("web", 8080, host)))
	mustRun(t, 0, "transfer", host, "--to", next.String())
	mustRun(t, 0, "reserve", "--lease", old.String(), host+"/v1", "--prune=false")
	need(t, ingresses, old.Namespace(), host) // it serves until the new lease is applied
	mustRun(t, 0, "apply", "-f", define(t, next, web("web", 8080, host)))
	need(t, ingresses, next.Namespace(), host)
	if find(t, ingresses, old.Namespace(), host) != nil {
		t.Error("two routes serve the host")
	}
	held(t, host, "1 /v1", "2 /")
}

// removeNamespace removes a namespace as the control plane would with its namespace controller.
func removeNamespace(t *testing.T, name string) {
	t.Helper()
	remove(t, namespaces, "", name)
	if o := find(t, namespaces, "", name); o != nil {
		_ = unstructured.SetNestedSlice(o.Object, nil, "spec", "finalizers")
		_, err := harness.Objects.Resource(namespaces).Update(t.Context(), o, metav1.UpdateOptions{}, "finalize")
		if now := find(t, namespaces, "", name); now != nil && err != nil {
			t.Fatal(err)
		}
	}
}

// reports writes what routers say of an HTTPRoute into its status.
func reports(t *testing.T, namespace, name, parents string) {
	t.Helper()
	o := need(t, httpRoutes, namespace, name)
	var list []any
	if err := yaml.Unmarshal([]byte(parents), &list); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedSlice(o.Object, list, "status", "parents"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Objects.Resource(httpRoutes).Namespace(namespace).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
