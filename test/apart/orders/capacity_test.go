package orders

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// uses is what a pod requests that needs no disk.
func uses(cpu, memory string, more ...string) corev1.ResourceList {
	requests := harness.Amounts(cpu, memory, more...)
	delete(requests, "ephemeral-storage")
	return requests
}

// pod makes a pod on a node, with a phase where one is given.
func pod(t *testing.T, namespace, name, on string, requests corev1.ResourceList, phase corev1.PodPhase) {
	t.Helper()
	delete(requests, "pods")
	no, now := false, int64(0)
	pods := harness.Client().CoreV1().Pods(namespace)
	p, err := pods.Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: on, AutomountServiceAccountToken: &no,
		Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}}}}, metav1.CreateOptions{})
	if err == nil && phase != "" {
		p.Status.Phase = phase
		_, err = pods.UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pods.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			t.Error(err)
		}
	})
}

// What a cluster has left, and what fits there.
func TestFitInACluster(t *testing.T) {
	free(t)
	ask := func(count int, resources string) string { return sdl(t, group{count: count, resources: resources}) }
	config := harness.Configure(t, "commitLevels: {memory: 2}", `ip: {ranges: ["203.0.113.0/31"]}`)
	fit := func(code int, file string, more ...string) harness.Result {
		t.Helper()
		return harness.Run(t.Context(), append([]string{"order", "fit", "-f", file, "--config", config}, more...)...).Exits(t, code)
	}
	fit(4, ask(1, "cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}")).Prints(t, "dc does not fit: resource 1 needs a node, and the cluster has none")

	storage := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	harness.Create(t, "admin", storage.WithResource("storageclasses"), "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: beta2}, provisioner: example.com/driver}")
	t.Cleanup(func() {
		_ = harness.Objects.Resource(storage.WithResource("storageclasses")).Delete(context.WithoutCancel(t.Context()), "beta2", metav1.DeleteOptions{})
	})
	harness.Create(t, "driver", storage.WithResource("csistoragecapacities"),
		"{apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c, namespace: default}, storageClassName: beta2, capacity: 10Gi, nodeTopology: {}}")
	harness.Node(t, "cpu-1", nil, harness.Amounts("4", "8Gi"))
	harness.Node(t, "gpu-1", rtx4090, harness.Amounts("8", "16Gi", "nvidia.com/gpu", "2"))
	pod(t, "default", "busy", "gpu-1", uses("1", "1Gi", "nvidia.com/gpu", "1"), corev1.PodRunning)
	pod(t, "default", "over", "gpu-1", uses("7", "1Gi", "nvidia.com/gpu", "1"), corev1.PodSucceeded)

	gpu := "cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}, gpu: {units: %d, attributes: {vendor: {nvidia: [{model: rtx4090}]}}}"
	fit(0, ask(1, fmt.Sprintf(gpu, 1))).Prints(t, "dc fits: 1 on gpu-1 (nvidia/rtx4090)\n")
	fit(4, ask(1, fmt.Sprintf(gpu, 2))).Prints(t, "dc does not fit: no node has 2 nvidia/rtx4090: node gpu-1 has 1 free, 1 other has none\n").
		Says(t, "of 1 request 1 cannot be placed")
	// Memory may be given out twice, what pods request of it but once: 8Gi and 15Gi are left.
	fit(0, ask(2, "cpu: {units: 1}, memory: {size: 14Gi}, storage: {size: 1Gi}")).Prints(t, "dc fits: 1 on cpu-1 gpu-1\n")
	fit(0, ask(3, "cpu: {units: 3}, memory: {size: 1Gi}, storage: {size: 1Gi}")).Prints(t, "dc fits: 1 on cpu-1 gpu-1 ×2\n")
	fit(4, ask(4, "cpu: {units: 3}, memory: {size: 1Gi}, storage: {size: 1Gi}")).Prints(t,
		"no node has 3 CPU for replica 4 of 4 of resource 1: node cpu-1 has 1 free, node gpu-1 has 1 free")
	disk := "cpu: {units: 1}, memory: {size: 1Gi}, storage: [{size: 1Gi}, {name: data, size: %s, attributes: {persistent: true, class: beta2}}]"
	fit(0, ask(1, fmt.Sprintf(disk, "10Gi")))
	fit(4, ask(1, fmt.Sprintf(disk, "11Gi"))).Prints(t, "storage of class beta2 has 10Gi free, of which volume data wants 11Gi")

	out := fit(0, ask(1, fmt.Sprintf(gpu, 1)), "-o", "json")
	out.Prints(t, `"scheduler_params":{"1":{"runtime_class":"nvidia","resources":{"gpu":{"vendor":"nvidia","model":"rtx4090","memory_size":"","interface":""}}}}`,
		`"leased_ip":{"allocatable":"2","allocated":"0","available":"2","capacity":"2"}`)
	if strings.Count(out.Stdout, "\n") != 1 {
		t.Errorf("the answer is %s", out.Stdout)
	}

	rows := harness.Run(t.Context(), "state", "resources", "--config", config, "--no-headers",
		"-o", "custom-columns=OF:.of,NAME:.name,RESOURCE:.resource,COMMITTED:.committed,USED:.inUse,LEFT:.available").Exits(t, 0)
	var lines []string
	for line := range strings.Lines(rows.Stdout) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"cluster <none> memory 51539607552 1073741824 24696061952", "cluster <none> gpu 2 1 1", "cluster <none> addresses 2 0 2",
		"class beta2 storage 10737418240 0 10737418240", "node gpu-1 cpu 8000 1000 7000",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no row %q in\n%s", want, strings.Join(lines, "\n"))
		}
	}

	// The viewer's role shows no pods; that of capacity does.
	fits := func(ctx context.Context) harness.Result {
		return harness.Run(ctx, "order", "fit", "-f", ask(1, fmt.Sprintf(gpu, 1)), "--config", config, "--as", "viewer")
	}
	harness.Bind(t, "viewer", "akash-net-viewer", "ledger/akash-net-viewer")
	harness.Eventually(t, "the viewer is told of the role", func(ctx context.Context) (bool, error) {
		out := fits(ctx)
		return out.Code == 1 && strings.Contains(out.Stderr, "--clusterrole=akash-net-capacity"), nil
	})
	harness.Bind(t, "viewer", "akash-net-capacity")
	harness.Eventually(t, "the viewer sees what is left", func(ctx context.Context) (bool, error) { return fits(ctx).Code == 0, nil })
}
