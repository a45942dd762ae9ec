//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// How large the cluster is of which the resources are shown.
const (
	nodesOfResources = 200
	podsOfResources  = 5000
)

// resources asks what a cluster has left, beside kubectl, which gets the objects that tell it.
func (b *bench) resources(ctx context.Context) (err error) {
	c, err := b.startCluster(ctx)
	defer func() { err = errors.Join(err, c.Stop()) }()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "making %d nodes and %d pods\n", nodesOfResources, podsOfResources)
	if err := c.makePods(ctx); err != nil {
		return err
	}
	runs, err := b.alternate(ctx, b.runs,
		program{name: "state", args: []string{b.tools.plugin, "state", "resources", "-o", "json"}, env: c.env()},
		program{name: "kubectl", args: []string{b.tools.kubectl, "get", "nodes,pods", "-A", "-o", "json"}, env: c.env()})
	if err != nil {
		return err
	}
	ours, kubectl := median(runs[0]), median(runs[1])
	b.report.section(fmt.Sprintf("Resources of %d nodes with %d pods", nodesOfResources, podsOfResources),
		"The pods are as a lease's run: an image, ten environment variables, requests and limits, a node affinity, a status with conditions and a container's state.",
		"program", "wall", "processor", "peak", "wall / ours")
	b.report.usage("kubectl akash-net state resources -o json", ours, "1")
	b.report.usage("kubectl get nodes,pods -A -o json", kubectl, figure(times(kubectl.Wall, ours.Wall), ""))
	b.report.atLeast("state resources: times faster than kubectl get nodes,pods -o json", times(kubectl.Wall, ours.Wall), 10)
	return nil
}

// makeNodes makes nodes that are ready.
func (c *system) makeNodes(ctx context.Context) error {
	return each(ctx, nodesOfResources, func(ctx context.Context, i int) error {
		n, err := c.core.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%03d", i), Labels: map[string]string{"akash.network": "true"}}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		n.Status.Capacity = amounts("64", "256Gi", "1Ti")
		n.Status.Allocatable = n.Status.Capacity
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		if n, err = c.core.Nodes().UpdateStatus(ctx, n, metav1.UpdateOptions{}); err != nil {
			return err
		}
		n.Spec.Taints = nil // the API server taints a node that is new
		_, err = c.core.Nodes().Update(ctx, n, metav1.UpdateOptions{})
		return err
	})
}

// makePods makes nodes, and pods of leases that run on them.
func (c *system) makePods(ctx context.Context) error {
	if err := c.makeNodes(ctx); err != nil {
		return err
	}
	const leases = 100
	err := each(ctx, leases, func(ctx context.Context, i int) error {
		id := definition(i).Lease
		_, err := c.core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: id.Namespace(), Labels: id.Labels()}}, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return each(ctx, podsOfResources, func(ctx context.Context, i int) error {
		id := definition(i % leases).Lease
		pods := c.core.Pods(id.Namespace())
		p, err := pods.Create(ctx, leasedPod(fmt.Sprintf("web-%05d", i), fmt.Sprintf("node-%03d", i%nodesOfResources), id), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		now := metav1.NewTime(time.Now())
		p.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), StartTime: &now,
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", Ready: true, Image: "registry.example.com/shop/web:1.27.3", ImageID: "registry.example.com/shop/web@sha256:5f0574409b3add89581b96c68afe9e9c7b284651c3a974b6e8bac46bf95e6b7f",
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			}},
		}
		_, err = pods.UpdateStatus(ctx, p, metav1.UpdateOptions{})
		return err
	})
}

// leasedPod is a pod as a lease's Deployment makes it.
func leasedPod(name, node string, id lease.ID) *corev1.Pod {
	var env []corev1.EnvVar
	for i := range 10 {
		env = append(env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", i), Value: "a value of some length that a tenant has chosen"})
	}
	labels := id.Labels()
	labels["akash.network/manifest-service"], labels["akash.network/namespace"] = "web", id.Namespace()
	never := false
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: node, AutomountServiceAccountToken: &never,
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "akash.network", Operator: corev1.NodeSelectorOpIn, Values: []string{"true"}}}}},
			}}},
			Containers: []corev1.Container{{
				Name: "web", Image: "registry.example.com/shop/web:1.27.3", Env: env,
				Resources: corev1.ResourceRequirements{Requests: amounts("500m", "512Mi", "1Gi"), Limits: amounts("500m", "512Mi", "1Gi")},
			}},
		},
	}
}

func amounts(cpu, memory, disk string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourceEphemeralStorage: resource.MustParse(disk),
	}
}
