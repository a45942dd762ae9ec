package incluster_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// labels select what belongs to the reconciler.
const labels = "app.kubernetes.io/component=reconciler"

// left returns how many objects of the reconciler a cluster has, of the kinds that a namespace does not take along.
func left(t *testing.T, in *testbed.ControlPlane) (objects int, deployment bool) {
	t.Helper()
	clients := kubernetes.NewForConfigOrDie(in.Config)
	opts := metav1.ListOptions{LabelSelector: labels}
	roles, err := clients.RbacV1().ClusterRoles().List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	bindings, err := clients.RbacV1().ClusterRoleBindings().List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	deployments, err := clients.AppsV1().Deployments("akash-net").List(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return len(roles.Items) + len(bindings.Items) + len(deployments.Items), len(deployments.Items) > 0
}

// One cluster's life: a reconciler is tried, installed, installed again, left alone, changed by hand, and uninstalled.
func TestInstallReconciler(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	do := func(code int, args ...string) harness.Result {
		t.Helper()
		return harness.RunAs(t.Context(), bare.Kubeconfig, args...).Exits(t, code)
	}
	with := []string{"install", "--reconciler", "--reconciler-image", image}

	do(2, "install", "--reconciler").Says(t, "no image is published of this build", "--reconciler-image")
	do(2, "install", "--reconciler-image", image).Says(t, "--reconciler-image requires --reconciler")
	do(2, "install", "--reconciler", "--reconciler-image", "a b").Says(t, `must name an image, not "a b"`)
	for _, mode := range []string{"client", "server"} {
		do(0, append(with, "--dry-run="+mode)...).Prints(t, "deployment/akash-net-reconciler created")
	}
	if n, _ := left(t, bare); n > 0 {
		t.Fatalf("a dry run has made %d objects", n)
	}
	do(0, with...).Prints(t, "namespace/akash-net created", "serviceaccount/akash-net-reconciler created", "clusterrolebinding/akash-net-reconciler created",
		"rolebinding/akash-net-reconciler skipped (there is no namespace akash-services", "deployment/akash-net-reconciler created")
	again := do(0, with...)
	for line := range strings.Lines(again.Stdout) {
		if strings.Contains(line, "akash-net-reconciler") && !strings.Contains(line, "unchanged") && !strings.Contains(line, "akash-services") {
			t.Errorf("the second time: %s", line)
		}
	}
	if r := do(0, "install"); strings.Contains(r.Stdout, "reconciler") {
		t.Errorf("without the flag: %s", r)
	}

	// Somebody else's number of replicas is not taken back, and the message says whose it is.
	scale(t, bare, 5)
	do(1, with...).Says(t, "Deployment/akash-net-reconciler: fields are managed by scaler, with other values")
	scale(t, bare, 2)
	do(0, with...)

	do(0, "uninstall", "--dry-run").Prints(t, "deployment/akash-net-reconciler deleted")
	if n, _ := left(t, bare); n != 3 {
		t.Fatalf("a dry run of uninstall has left %d objects", n)
	}
	r := do(0, "uninstall")
	if first, _, _ := strings.Cut(r.Stdout, "\n"); !strings.HasPrefix(first, "deployment/akash-net-reconciler deleted") {
		t.Errorf("the reconciler is not the first that goes: %s", r)
	}
	if n, _ := left(t, bare); n > 0 {
		t.Errorf("uninstall has left %d objects", n)
	}
}

// scale sets the replicas as a client does that owns the field.
func scale(t *testing.T, in *testbed.ControlPlane, replicas int) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"replicas": replicas}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = kubernetes.NewForConfigOrDie(in.Config).AppsV1().Deployments("akash-net").
		Patch(t.Context(), "akash-net-reconciler", "application/merge-patch+json", patch, metav1.PatchOptions{FieldManager: "scaler"})
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever runs of a reconciler has ended before its rights and the ledger go. An uninstall that is refused leaves it running.
func TestUninstallWaitsForTheReconciler(t *testing.T) {
	t.Parallel()
	bare := harness.Bare(t)
	clients := kubernetes.NewForConfigOrDie(bare.Config)
	harness.RunAs(t.Context(), bare.Kubeconfig, "install", "--reconciler", "--reconciler-image", image).Exits(t, 0)
	id, host := harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("held")
	harness.RunAs(t.Context(), bare.Kubeconfig, "reserve", host, "--lease", id.String()).Exits(t, 0)
	harness.RunAs(t.Context(), bare.Kubeconfig, "uninstall").Exits(t, 1).Says(t, "the ledger has 1 claim, ", "nothing was removed")
	if _, runs := left(t, bare); !runs {
		t.Fatal("an uninstall that was refused has removed the reconciler")
	}

	// A pod of a node is there until its kubelet says that it has ended, as this test does.
	node, grace := "somewhere", int64(0)
	pod, err := clients.CoreV1().Pods("akash-net").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "reconciler-", Labels: map[string]string{"app.kubernetes.io/name": "akash-net", "app.kubernetes.io/component": "reconciler"}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "reconciler", Image: image}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out harness.Output
	uninstall := harness.Command(t.Context(), bare.Kubeconfig, "uninstall", "--force", "-y")
	uninstall.Stdout, uninstall.Stderr = &out, &out
	if err := uninstall.Start(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "uninstall to say that it waits for the pods", func(context.Context) (bool, error) {
		return strings.Contains(out.String(), "its pods end"), nil
	})
	if n, runs := left(t, bare); n < 2 || runs {
		t.Errorf("while a pod runs, the Deployment is there (%t) and %d objects in all", runs, n)
	}
	if err := clients.CoreV1().Pods("akash-net").Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		t.Fatal(err)
	}
	if err := uninstall.Wait(); err != nil {
		t.Errorf("uninstall: %v\n%s", err, out.String())
	}
	if n, _ := left(t, bare); n > 0 {
		t.Errorf("%d objects are left: %s", n, out.String())
	}
}
