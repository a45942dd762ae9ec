package orders

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The address of a node is leased to nobody: it is skipped, refused by name, and a problem of the configuration.
func TestTheAddressOfANode(t *testing.T) {
	harness.Node(t, "own-1", nil, harness.Amounts("4", "8Gi"))
	nodes := harness.Client().CoreV1().Nodes()
	if err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := nodes.Get(t.Context(), "own-1", metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "203.0.113.120"}}
		_, err = nodes.UpdateStatus(t.Context(), n, metav1.UpdateOptions{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	cfg := harness.Configure(t, `ip: {ranges: ["203.0.113.120/30"]}`)
	harness.Run(t.Context(), "state", "--problems", "--config", cfg).Exits(t, 1).Prints(t, "NodeAddress", "203.0.113.120", "node own-1")
	id, named := harness.LeaseOf(harness.NewOwner(), 1), harness.LeaseOf(harness.NewOwner(), 1)
	definition := harness.Define(t, id, []string{"{name: web, expose: [{port: 443, global: true, ip: public}]}"}, []string{"{name: public}"})
	harness.Run(t.Context(), "render", "-f", definition, "--ledger", "cluster", "--config", cfg).Exits(t, 0).Prints(t, "203.0.113.121")
	takes(t, 0, id, "auto", cfg).Prints(t, "203.0.113.121")
	takes(t, 4, named, "203.0.113.120", cfg).Says(t, "203.0.113.120 is held by", "node own-1")
	harness.Run(t.Context(), "check", "--lease", named.String(), "--address", "203.0.113.120", "--endpoint", "e0", "--config", cfg).
		Exits(t, 4).Says(t, "node own-1")
	excluded := harness.Configure(t, `ip: {ranges: ["203.0.113.120/30", "!203.0.113.120"]}`)
	harness.Run(t.Context(), "state", "--problems", "--config", excluded).Exits(t, 0)
}
