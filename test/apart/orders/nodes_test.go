package orders

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The address of a node is leased to nobody: it is skipped, refused by name, and a problem of the configuration. It does not
// count as free, install and explain name it, and who may not see nodes goes on without.
func TestTheAddressOfANode(t *testing.T) {
	free(t)
	harness.Node(t, "own-1", nil, harness.Amounts("4", "8Gi"))
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	_, err := harness.Objects.Resource(nodes).Patch(t.Context(), "own-1", types.MergePatchType,
		[]byte(`{"status":{"addresses":[{"type":"InternalIP","address":"203.0.113.120"}]}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	cfg := harness.Configure(t, `ip: {ranges: ["203.0.113.120/30"]}`)
	harness.Run(t.Context(), "state", "--problems", "--config", cfg).Exits(t, 1).Prints(t, "NodeAddress", "203.0.113.120", "node own-1")
	pools := []string{"state", "pools", "--config", cfg, "--no-headers", "-o", "custom-columns=A:.addresses,U:.used,F:.free"}
	harness.Run(t.Context(), pools...).Exits(t, 0).Prints(t, "4     1     3\n")
	seen := "--resource=services,ipaddresspools.metallb.io,leases.coordination.k8s.io"
	if err := harness.Kubectl(t.Context(), "", nil, "create", "clusterrole", "sees-pools", "--verb=list", seen); err != nil {
		t.Fatal(err)
	}
	harness.Bind(t, "poolwatcher", "sees-pools")
	harness.Eventually(t, "who may not see nodes sees pools", func(ctx context.Context) (bool, error) {
		out := harness.Run(ctx, append(pools, "--as", "poolwatcher")...)
		return out.Code == 0 && out.Stdout == "4     0     4\n", nil
	})
	reserve(t, 4, newOrder(t), sdl(t, group{resources: small, addresses: 4}), "--config", cfg).Says(t, "3")
	harness.Run(t.Context(), "explain", "203.0.113.120", "--config", cfg).Exits(t, 0).Prints(t, "203.0.113.120 is a node's", "node own-1", `add "!203.0.113.120" to ip.ranges`)
	id, named := harness.LeaseOf(harness.NewOwner(t), 1), harness.LeaseOf(harness.NewOwner(t), 1)
	harness.Run(t.Context(), "render", "-f", addressed(t, id), "--ledger", "cluster", "--config", cfg).Exits(t, 0).Prints(t, "203.0.113.121")
	takes(t, 0, id, "auto", cfg).Prints(t, "203.0.113.121")
	refused := takes(t, 4, named, "203.0.113.120", cfg).Says(t, "203.0.113.120 is in use already", "It is an address of node own-1, and no lease gets it")
	if strings.Contains(refused.Stderr, "Delete node") || strings.Contains(refused.Stderr, "--adopt") {
		t.Errorf("the advice is to delete a node, or to take its address: %s", refused.Stderr)
	}
	harness.Run(t.Context(), "check", "--lease", named.String(), "--address", "203.0.113.120", "--endpoint", "e0", "--config", cfg).
		Exits(t, 4).Says(t, "node own-1")
	excluded := harness.Configure(t, `ip: {annotationPrefix: metallb.io, ranges: ["203.0.113.120/30", "!203.0.113.120"]}`)
	harness.Run(t.Context(), "state", "--problems", "--config", excluded).Exits(t, 0)
	install(t, 0, cfg).Says(t, "Warning: ip.ranges has 203.0.113.120, an address of node own-1", `add "!203.0.113.120" to ip.ranges`)
	if out := install(t, 0, excluded); strings.Contains(out.Stderr, "Warning") {
		t.Errorf("without the address: %s", out.Stderr)
	}
}
