package orders

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// cordon closes a node to new pods, or opens it again.
func cordon(t *testing.T, name string, closed bool) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"unschedulable":%t}}`, closed)
	if _, err := harness.Client().CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// What is bound is relied on only where it still fits: the order that is won moves to another node, or is refused, and keeps
// what it has for the day when the node is back.
func TestWhatIsBoundIsCheckedAgain(t *testing.T) {
	free(t)
	harness.Node(t, "stands-1", nil, harness.Amounts("4", "8Gi"))
	harness.Run(t.Context(), "install", "--workloads").Exits(t, 0)
	id := harness.LeaseOf(harness.NewOwner(), 7)
	order := id.Order()
	file := sdl(t, group{resources: small, host: fmt.Sprintf("stands-%d.example.com", harness.Number())})
	reserve(t, 0, order, file, "--expires", "5m").Prints(t, "on stands-1")
	was := claimOf(t, order)

	cordon(t, "stands-1", true)
	reserve(t, 4, order, file).Says(t, "what order "+order.String()+" has reserved no longer fits the cluster", "needs a node, and none takes pods of leases: node stands-1 is cordoned", "what it has reserved stays", "unreserve --order "+order.String())
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
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-0", Namespace: id.Namespace()}, Spec: corev1.PodSpec{NodeName: "stands-2",
		Containers: []corev1.Container{{Name: "web", Image: "nginx", Resources: corev1.ResourceRequirements{
			Requests: harness.Amounts(fmt.Sprintf("%dm", hold.CPU), fmt.Sprint(hold.Memory))}}}}}
	delete(pod.Spec.Containers[0].Resources.Requests, "pods")
	if _, err := harness.Client().CoreV1().Pods(id.Namespace()).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cordon(t, "stands-2", true)
	apply(0)
	reserve(t, 0, order, file).Prints(t, " unchanged (")
}

// A class that is gone has no room, and comes back with it.
func TestAClassThatIsGone(t *testing.T) {
	free(t)
	harness.Node(t, "class-1", nil, harness.Amounts("4", "8Gi"))
	class := fmt.Sprintf("beta%d", harness.Number())
	classes := harness.Client().StorageV1().StorageClasses()
	if _, err := classes.Create(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "driver.example.com"}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	order := newOrder()
	file := sdl(t, group{resources: "cpu: {units: 1}, memory: {size: 1Gi}, storage: [{size: 1Gi}, {name: data, size: 1Gi, attributes: {persistent: true, class: " + class + "}}]"})
	reserve(t, 0, order, file)
	reserve(t, 0, order, file).Prints(t, " unchanged (")
	if err := classes.Delete(t.Context(), class, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	reserve(t, 4, order, file).Says(t, "no longer fits the cluster", class)
}

// One nvidia and one amd card are no two of a kind.
func TestCardsOfTwoVendors(t *testing.T) {
	free(t)
	harness.Node(t, "cards-1", map[string]string{
		"akash.network/capabilities.gpu.vendor.nvidia.model.t4": "1", "akash.network/capabilities.gpu.vendor.amd.model.mi100": "1",
	}, harness.Amounts("4", "8Gi", "nvidia.com/gpu", "1", "amd.com/gpu", "1"))
	card := func(model string) string {
		return sdl(t, group{resources: small + ", gpu: {units: 1, attributes: {vendor: {nvidia: [{model: " + model + "}]}}}"})
	}
	reserve(t, 0, newOrder(), card("t4"))
	reserve(t, 4, newOrder(), card("t4")).Says(t, "no node has 1 nvidia/t4: node cards-1 has none left")
	reserve(t, 4, newOrder(), card("a100")).Says(t, "no node has 1 nvidia/a100: node cards-1 has no such GPU")
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
	order := newOrder()
	reserve(t, 0, order, sdl(t, group{resources: small, addresses: 3}), "--config", wide)
	for _, cfg := range []string{narrow, none} {
		install(t, 4, cfg).Says(t, "3 reserved of", "order "+order.String()+": 3", "Nothing was changed")
	}
	install(t, 0, wide)
	harness.Run(t.Context(), "unreserve", "--order", order.String()).Exits(t, 0)
	install(t, 0, narrow)
	reserve(t, 0, order, sdl(t, group{resources: small, addresses: 3}), "--config", wide)
	install(t, 0, other) // it is no smaller than the one that is there
}
