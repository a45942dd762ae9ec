//go:build linux

package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// nodes is how many nodes the cluster has whose resources are shown and reserved.
const nodes = 200

// makeNodes makes nodes that are ready.
func (c *cluster) makeNodes(b *testing.B) {
	b.Helper()
	for i := range nodes {
		harness.Node(b, nodeName(i), map[string]string{"akash.network": "true"}, harness.Amounts("64", "256Gi"))
	}
}

func nodeName(i int) string { return fmt.Sprintf("node-%03d", i%nodes) }

// BenchmarkResources asks what a cluster has left, beside kubectl, which gets the objects that tell it.
func BenchmarkResources(b *testing.B) {
	c := startCluster(b)
	c.makeNodes(b)
	c.makePods(b, 5000, 100)
	all := []program{
		c.run("state resources", plugin(b), "state", "resources", "-o", "json"),
		c.run("kubectl get nodes,pods", tool(b, "kubectl"), "get", "nodes,pods", "-A", "-o", "json"),
	}
	atLeast("state resources: times faster than kubectl get nodes,pods -o json", compare(b, all, alternate(b, *runs, all...))[1], 10)
}

// makePods makes pods of leases that run on the nodes.
func (c *cluster) makePods(b *testing.B, n, leases int) {
	b.Helper()
	each(b, leases, func(ctx context.Context, i int) error {
		id := definition(i).Lease
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id.Namespace(), Labels: id.Labels()}}
		_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		return err
	})
	each(b, n, func(ctx context.Context, i int) error {
		p := leasedPod(i, leases)
		status := p.Status
		p, err := c.client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{})
		if err == nil {
			p.Status = status
			_, err = c.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, p, metav1.UpdateOptions{})
		}
		return err
	})
}

// leasedPod is a pod as a lease's Deployment makes it: an image, ten environment variables, requests and limits, a node
// affinity, a status with conditions and a container's state.
func leasedPod(i, leases int) *corev1.Pod {
	const image = "registry.example.com/shop/web:1.27.3"
	id, now, never := definition(i%leases).Lease, metav1.NewTime(time.Now()), false
	labels := id.Labels()
	labels["akash.network/manifest-service"], labels["akash.network/namespace"] = "web", id.Namespace()
	uses := harness.Amounts("500m", "512Mi", "ephemeral-storage", "1Gi")
	delete(uses, "pods")
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%05d", i), Namespace: id.Namespace(), Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: nodeName(i), AutomountServiceAccountToken: &never,
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "akash.network", Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}}}}},
			}}},
			Containers: []corev1.Container{{
				Name: "web", Image: image, Resources: corev1.ResourceRequirements{Requests: uses, Limits: uses},
			}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), StartTime: &now,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", Ready: true, Image: image, ImageID: "registry.example.com/shop/web@sha256:5f0574409b3add89581b96c68afe9e9c7b284651c3a974b6e8bac46bf95e6b7f",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			}},
		},
	}
	for i := range 10 {
		setting := corev1.EnvVar{Name: fmt.Sprint("SETTING_", i), Value: "a value of some length that a tenant has chosen"}
		p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, setting)
	}
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	return p
}

// reservations is how many reservations there are when one more is made.
const reservations = 5000

// orderedSDL asks for little, so that it fits beside all others.
const orderedSDL = `version: "2.0"
services: {web: {image: nginx, expose: [{port: 80, to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 10m}, memory: {size: 16Mi}, storage: {size: 16Mi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: 1}}}
`

// BenchmarkOrders reserves for one order, first alone and then beside thousands of reservations.
func BenchmarkOrders(b *testing.B) {
	c := startCluster(b)
	c.makeNodes(b)
	order := definition(reservations).Lease.Order().String()
	reserve := c.run("order reserve", plugin(b), "order", "reserve", order, "-f", harness.File(b, orderedSDL))
	unreserve := c.run("unreserve", plugin(b), "order", "release", order)
	reserving := func(name string) int {
		requests := c.record(b, reserve)
		var found []usage
		for range *runs {
			unreserve.measure(b)
			found = append(found, reserve.measure(b))
		}
		unreserve.measure(b)
		show(b, name, median(found), metric{float64(len(requests)), "requests"})
		return len(requests)
	}
	alone := reserving("no others")
	each(b, reservations, func(ctx context.Context, i int) error {
		claim := reserved.Claim{Order: definition(i).Lease.Order(), Bound: &reserved.Part{
			Asked: "bench", By: "ann@laptop", Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{nodeName(i): {CPU: 1000, Memory: 1 << 30, EphemeralStorage: 1 << 30}}},
		}}
		_, err := c.client.CoordinationV1().Leases(c.ledger).Apply(ctx, claim.Configuration(c.ledger), metav1.ApplyOptions{FieldManager: claim.Order.FieldManager()})
		return err
	})
	beside := reserving(fmt.Sprint("beside ", reservations))
	atMost("order reserve: requests more than without others", float64(beside-alone), 0)
}
