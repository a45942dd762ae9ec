package orders

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Orders get no more node ports than the cluster has left: those of Services are in use, and those that orders hold reserved.
// A lease that runs counts once.
func TestNodePorts(t *testing.T) {
	free(t)
	harness.Node(t, "ports-1", nil, harness.Amounts("9", "9Gi"))
	// The API server gives these to nobody who does not ask for them: they are the lowest of its range.
	cfg := harness.Configure(t, "workloads: {nodePorts: 30000-30003}")
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	nodePort := func(namespace, name string, port int) {
		harness.Create(t, "somebody", services, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: %s},
			spec: {type: NodePort, ports: [{port: 80, nodePort: %d}]}}`, name, namespace, port))
	}
	nodePort("default", "taken", 30001)
	t.Cleanup(func() {
		_ = harness.Client().CoreV1().Services("default").Delete(context.WithoutCancel(t.Context()), "taken", metav1.DeleteOptions{})
	})
	ports := func(n int) string { return sdl(t, group{resources: small, ports: n}) }
	first, second := newOrder(t), newOrder(t)
	reserve(t, 0, first, ports(2), "--config", cfg).Prints(t, "2 node ports")
	reserve(t, 4, second, ports(2), "--config", cfg).Says(t, "2 node ports wanted, 1 free")
	harness.Run(t.Context(), "order", "fit", "-f", ports(2), "--config", cfg).Exits(t, 4).Prints(t, "2 node ports wanted, 1 free")
	harness.Run(t.Context(), "order", "fit", "-f", ports(1), "--config", cfg).Exits(t, 0)
	figures := func(want string) {
		t.Helper()
		harness.Run(t.Context(), "state", "resources", "--config", cfg,
			"-o", `jsonpath={range .resources[?(@.resource=="node-ports")]}{.allocatable} {.inUse} {.reserved} {.available}{end}`).Exits(t, 0).Prints(t, want)
	}
	figures("4 1 2 1")
	reserve(t, 0, second, ports(1), "--config", cfg)
	reserve(t, 4, newOrder(t), ports(1), "--config", cfg).Says(t, "1 node port wanted, none is free")
	reserve(t, 0, newOrder(t), ports(0), "--config", cfg)

	id := leaseOf(first)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id.Namespace(), Labels: state.LeaseNamespaceLabels(id)}}
	if _, err := harness.Client().CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	nodePort(id.Namespace(), "web-np", 30002)
	figures("4 2 2 0")
}
