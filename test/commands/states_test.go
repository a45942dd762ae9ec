package commands

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A lease goes from pending to complete, and into error, as its pods fare.
func TestStates(t *testing.T) {
	t.Parallel()
	d := newDeployment()
	ns := d.id.Namespace()

	// Its Manifest alone is what Akash's provider writes first.
	all := d.render(t, "3")
	var manifest []string
	for document := range strings.SplitSeq(all, "\n---\n") {
		if strings.Contains(document, "kind: Manifest\n") {
			manifest = append(manifest, document)
		}
	}
	apply(t, strings.Join(manifest, "\n---\n"))
	d.shows(t, "pending", "0/4", "service db: 0 of 1 ready: it has no Deployment and no StatefulSet yet (and 1 more)")

	d.deploy(t, "3")
	web, db := harness.Pods(t, ns, "web", 3), harness.Pods(t, ns, "db", 1)
	d.shows(t, "active", "0/4", "service db: 0 of 1 ready: pod db-0 is starting (and 1 more)")

	harness.Runs(t, append(web, db...)...)
	d.shows(t, "complete", "4/4", "")

	harness.Waits(t, web[1], "CrashLoopBackOff", "back-off 5m0s restarting failed container")
	d.shows(t, "error", "3/4", "service web: 2 of 3 ready: pod "+web[1].Name+" is waiting: CrashLoopBackOff (back-off 5m0s restarting failed container)")
	harness.Runs(t, web[1])
	d.shows(t, "complete", "4/4", "")

	// What is scaled down loses its pods, and is complete without them.
	d.deploy(t, "1")
	d.shows(t, "complete", "2/2", "")
	harness.Pods(t, ns, "web", 1)

	// What is scaled up again finds no node.
	d.deploy(t, "2")
	for _, p := range harness.Pods(t, ns, "web", 2) {
		if p.Status.Phase == corev1.PodPending {
			harness.Unschedulable(t, p, "0/3 nodes are available: 3 Insufficient cpu.")
		}
	}
	d.shows(t, "error", "2/3", "service web: 1 of 2 ready: pod web-")
	harness.Run(t.Context(), "state", "leases", d.id.String(), "--workloads").Exits(t, 0).Prints(t, "is unschedulable: 0/3 nodes are available: 3 Insufficient cpu.")

	// A namespace that is being deleted is that of a lease that closes.
	ours, err := harness.Client().CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ours.Finalizers = []string{"example.com/wait"}
	if _, err := harness.Client().CoreV1().Namespaces().Update(t.Context(), ours, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := harness.Client().CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	d.shows(t, "active", "", "")
	harness.Run(t.Context(), "state", "leases", d.id.String(), "--workloads").Exits(t, 0).Prints(t, "closing: its namespace is being deleted")
}

// Pods that cannot be made: a Deployment says so itself, of a StatefulSet an event does.
func TestNoPodCanBeMade(t *testing.T) {
	t.Parallel()
	d := newDeployment()
	ns := d.id.Namespace()
	if _, err := harness.Client().CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	none := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	quotas := harness.Client().CoreV1().ResourceQuotas(ns)
	quota, err := quotas.Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}, metav1.CreateOptions{})
	if err == nil {
		quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
		_, err = quotas.UpdateStatus(t.Context(), quota, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	d.deploy(t, "1")
	d.shows(t, "error", "0/2", "service db: 0 of 1 ready: no pod can be made: Create Pod db-0 in StatefulSet db failed error: pods \"db-0\" is forbidden: exceeded quota: none")
	harness.Run(t.Context(), "state", "leases", d.id.String(), "--workloads", "-o", "jsonpath={.leases[0].workloads.services[1].reason}").Exits(t, 0).
		Prints(t, "0 of 1 ready: no pod can be made: pods \"web-", "is forbidden: exceeded quota: none")
}

// Whoever looks at names alone needs no right to look at what runs: what the configuration asks for is left out with a note,
// what the user asks for is refused with the role that allows it.
func TestRightsForStates(t *testing.T) {
	t.Parallel()
	d := newDeployment()
	d.deploy(t, "1")
	name := fmt.Sprint("viewer-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	bind := func(args ...string) {
		t.Helper()
		if err := harness.Kubectl(t.Context(), "", nil, append(args, "--user="+name)...); err != nil {
			t.Fatal(err)
		}
	}
	bind("create", "clusterrolebinding", name, "--clusterrole=akash-net-viewer")
	bind("-n", "akash-net", "create", "rolebinding", name, "--role=akash-net-viewer")
	leases := func(args ...string) harness.Result {
		return harness.RunAs(t.Context(), kubeconfig, append([]string{"state", "leases", d.id.String(), "--no-headers"}, args...)...)
	}
	harness.Eventually(t, "the viewer sees names", func(context.Context) (bool, error) { return leases().Code == 0, nil })
	leases("--workloads").Exits(t, 1).Says(t, "not allowed: ", "--clusterrole=akash-net-status")
	leases("--workloads", "--watch").Exits(t, 1).Says(t, "--clusterrole=akash-net-status")
	on := harness.Configure(t, "workloads: {enabled: true}")
	leases("--config", on).Exits(t, 0).Prints(t, "Active").Says(t, "Note: workloads are not shown: the role akash-net-status is required")
	if quiet := leases("--config", on, "--workloads=false").Exits(t, 0); quiet.Stderr != "" {
		t.Error(quiet)
	}

	bind("create", "clusterrolebinding", name+"-status", "--clusterrole=akash-net-status")
	var got harness.Result
	harness.Eventually(t, "the role is enough", func(context.Context) (bool, error) {
		got = leases("--config", on)
		return got.Code == 0 && got.Stderr == "", nil
	})
	got.Prints(t, "0/2", "service db: 0 of 1 ready")
}

// A watch shows a lease again as it is rolled out.
func TestWatchOfStates(t *testing.T) {
	t.Parallel()
	d := newDeployment()
	d.deploy(t, "1")
	pods := append(harness.Pods(t, d.id.Namespace(), "web", 1), harness.Pods(t, d.id.Namespace(), "db", 1)...)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Deadline)
	defer cancel()
	cmd := harness.Command(ctx, harness.Plane.Kubeconfig, "state", "leases", d.id.String(), "--workloads", "--watch")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = cmd.Wait() // killed
	}()
	lines := bufio.NewScanner(out)
	expect := func(text string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(strings.Join(strings.Fields(lines.Text()), " "), text) {
				return
			}
		}
		t.Fatalf("the watch ended without %q", text)
	}
	expect("AGE WORKLOADS READY")
	expect("active 0/2")
	harness.Runs(t, pods...)
	expect("complete 2/2")
	harness.Waits(t, pods[1], "ImagePullBackOff", "")
	expect("error 1/2 service db: 0 of 1 ready: pod db-0 is waiting: ImagePullBackOff")
}
