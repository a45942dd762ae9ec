package orders

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// cordon closes a node to new pods, or opens it again.
func cordon(t *testing.T, name string, closed bool) {
	t.Helper()
	harness.Merge(t, schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", name, fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, closed))
}

// What is bound is relied on only where it still fits: the order that is won moves to another node, or is refused, and keeps
// what it has for the day when the node is back.
func TestWhatIsBoundIsCheckedAgain(t *testing.T) {
	free(t)
	harness.Node(t, "stands-1", nil, harness.Amounts("4", "8Gi"))
	harness.Run(t.Context(), "install", "--workloads").Exits(t, 0)
	id := harness.LeaseOf(harness.NewOwner(t), 7)
	order := id.Order()
	file := sdl(t, group{resources: small, host: fmt.Sprintf("stands-%d.example.com", harness.Number())})
	reserve(t, 0, order, file, "--expires", "5m").Prints(t, "on stands-1")
	was := claimOf(t, order)

	cordon(t, "stands-1", true)
	reserve(t, 4, order, file).Says(t, "what order "+order.String()+" has reserved no longer fits the cluster",
		"needs a node, and none takes pods of leases: node stands-1 is cordoned", "what it has reserved stays", "order release "+order.String())
	reserve(t, 4, order, file, "--dry-run=server").Says(t, "no longer fits")
	apply := func(code int) harness.Result {
		return harness.Run(t.Context(), "apply", "-f", file, "--lease", id.String(), "--workloads", "--wait=false").Exits(t, code)
	}
	apply(4).Says(t, "no longer fits the cluster")
	if now := claimOf(t, order); now == nil || now.Pending != nil || now.Bound.Expires != was.Bound.Expires || now.Bound.Provider != "" {
		t.Errorf("it has reserved %+v", now)
	}

	cordon(t, "stands-1", false)
	reserve(t, 0, order, file, "--expires", "6m").Prints(t, " renewed (", "on stands-1")
	cordon(t, "stands-1", true)
	harness.Node(t, "stands-2", nil, harness.Amounts("4", "8Gi"))
	reserve(t, 0, order, file, "--expires", "5m").Prints(t, " moved (", "on stands-2")

	// The lease runs: what its pods use stands, whatever becomes of the node.
	apply(0).Prints(t, "order/"+order.String()+" claimed")
	t.Cleanup(func() { harness.Run(t.Context(), "release", id.String()) })
	hold := claimOf(t, order).Bound.Hold.Nodes["stands-2"]
	pod(t, id.Namespace(), "web-0", "stands-2", harness.Amounts(fmt.Sprintf("%dm", hold.CPU), fmt.Sprint(hold.Memory)), "")
	cordon(t, "stands-2", true)
	apply(0)
	reserve(t, 0, order, file).Prints(t, " unchanged (")
}

// install installs a configuration, which is gone when the test ends.
func install(t *testing.T, code int, cfg string) harness.Result {
	t.Helper()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = harness.Kubectl(ctx, "", nil, "--kubeconfig", harness.Plane.Kubeconfig, "-n", "akash-net", "delete", "configmap", "config")
		harness.Run(ctx, "install")
	})
	return harness.Run(t.Context(), "install", "--config", cfg).Exits(t, code)
}

// A configuration that has too few addresses for what orders have reserved is refused, and names them. One that takes none away
// is not.
func TestARangeThatIsReservedStays(t *testing.T) {
	free(t)
	harness.Node(t, "range-1", nil, harness.Amounts("4", "8Gi"))
	wide, narrow := harness.Configure(t, `ip: {ranges: ["203.0.113.112/29"]}`), harness.Configure(t, `ip: {ranges: ["203.0.113.112/31"]}`)
	other, none := harness.Configure(t, `ip: {ranges: ["203.0.113.112/31"]}`, "hosts: {wildcards: true}"), harness.Configure(t, "hosts: {wildcards: true}")
	install(t, 0, wide)
	order := newOrder(t)
	reserve(t, 0, order, sdl(t, group{resources: small, addresses: 3}), "--config", wide)
	for _, cfg := range []string{narrow, none} {
		install(t, 4, cfg).Says(t, "3 reserved of", "order "+order.String()+": 3", "Nothing was changed")
	}
	install(t, 0, wide)
	harness.Run(t.Context(), "order", "release", order.String()).Exits(t, 0)
	install(t, 0, narrow)
	reserve(t, 0, order, sdl(t, group{resources: small, addresses: 3}), "--config", wide)
	install(t, 0, other) // it is no smaller than the one that is there
}
