package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// status tells of a lease that serves what Akash's gateway would: replicas, hosts, and the addresses that MetalLB has
// granted. The role for it is enough, and nothing else is read.
func TestStatusOfALease(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	id, host := leaseOf(newTenant(), 1), newHost("status")
	config := configure(t, "ip: {ranges: ["+v4+"32/28]}")
	admin().with(config).do(t, "apply", "-f", defineParts(t, id,
		service("web", served(host), leasedPart("public", "TCP", 443)),
		endpoint("public"))).Prints(t, "granted "+v4+"32")
	statusIs(t, id, "web", appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1, UnavailableReplicas: 1})

	name := fmt.Sprint("status-", harness.Number())
	_, kubeconfig, err := harness.Plane.AddUser(name)
	if err != nil {
		t.Fatal(err)
	}
	u := user{kubeconfig: kubeconfig}.with(config)
	u.run(t, "status", id.String()).Exits(t, 1).Says(t, "not allowed", "--clusterrole=akash-net-status")
	kubectl(t, "create", "clusterrolebinding", name, "--clusterrole=akash-net-status", "--user="+name).Exits(t, 0)
	var answer result
	eventually(t, "the role is bound", func(context.Context) (bool, error) {
		answer = u.run(t, "status", id.String(), "-o", "json")
		return answer.Code == 0, nil
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
	u.run(t, "status", leaseOf(newTenant(), 1).String()).Exits(t, 1).Says(t, "no Manifest and no workloads")
}

// run makes the Deployment of a lease's service, as it stands.
func statusIs(t *testing.T, id lease.ID, service string, status appsv1.DeploymentStatus) {
	t.Helper()
	labels := map[string]string{lease.LabelManaged: "true", lease.LabelService: service}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: service, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &status.Replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: service, Image: "nginx"}}}},
		},
	}
	deployments := kubernetes.NewForConfigOrDie(harness.Plane.Config).AppsV1().Deployments(id.Namespace())
	made, err := deployments.Create(t.Context(), d, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Status = status
	if _, err := deployments.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
