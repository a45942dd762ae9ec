package commands

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// A lease goes from pending to complete, and into error, as its pods fare.
func TestStates(t *testing.T) {
	t.Parallel()
	d := newDeployment(t)
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
	d := newDeployment(t)
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

// status tells of a lease that serves what Akash's gateway would: replicas, hosts, and the addresses that MetalLB has
// granted. The role for it is enough, and nothing else is read.
func TestStatusOfALease(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	id, host := leaseOf(newTenant(t), 1), newHost("status")
	config := configure(t, "ip: {ranges: ["+v4+"32/28]}")
	admin().with(config).do(t, "apply", "-f", defineParts(t, id,
		service("web", served(host), leasedPart("public", "TCP", 443)),
		endpoint("public"))).Prints(t, "granted "+v4+"32")
	runsTwo(t, id, "web")

	name, _, kubeconfig, err := harness.Plane.AddUser()
	if err != nil {
		t.Fatal(err)
	}
	u := user{kubeconfig: kubeconfig}.with(config)
	u.run(t, "status", id.String()).Exits(t, 1).Says(t, "not allowed", "--clusterrole=akash-net-status")
	kubectl(t, "create", "clusterrolebinding", name, "--clusterrole=akash-net-status", "--user="+name).Exits(t, 0)
	var answer result
	eventually(t, "the role is bound, and one replica of two is ready", func(context.Context) (bool, error) {
		answer = u.run(t, "status", id.String(), "-o", "json")
		return strings.Contains(answer.Stdout, `"available": 1`), nil
	})
	var got, want any
	if err := json.Unmarshal([]byte(answer.Stdout), &got); err != nil {
		t.Fatal(err, answer)
	}
	if err := json.Unmarshal([]byte(`{
		"services": {"web": {"name": "web", "available": 1, "total": 2, "uris": ["`+host+`"], "observed_generation": 1,
			"replicas": 2, "updated_replicas": 2, "ready_replicas": 1, "available_replicas": 1}},
		"forwarded_ports": null,
		"ips": {"web": [{"Port": 9000, "ExternalPort": 443, "Protocol": "TCP", "IP": "`+v4+`32"}]}
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	u.do(t, "status", id.Group().String(), "web").Prints(t, `"available": 1`, host)
	u.run(t, "status", id.String(), "nope").Exits(t, 1).Says(t, `no service "nope"`, "it has web")
	u.run(t, "status", leaseOf(newTenant(t), 1).String()).Exits(t, 1).Says(t, "no Manifest and no workloads")
}

// runsTwo makes the Deployment of two replicas of a lease's service, of which one is ready.
func runsTwo(t *testing.T, id lease.ID, service string) {
	t.Helper()
	labels := map[string]string{lease.LabelManaged: "true", lease.LabelService: service}
	two := int32(2)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: service, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: service, Image: "nginx"}}}},
		},
	}
	if _, err := harness.Client().AppsV1().Deployments(id.Namespace()).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Runs(t, harness.Pods(t, id.Namespace(), service, 2)[0])
}
