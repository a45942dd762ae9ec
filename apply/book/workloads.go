package book

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

const (
	// ours selects the objects of Akash's leases.
	ours = lease.LabelManaged + "=true"
	// fewNamespaces is how many namespaces a selector names at most; of more, all are read.
	fewNamespaces = 50
	// statusRole is the ClusterRole that allows reading what leases run.
	statusRole = "akash-net-status"
)

// workloadKinds returns the resources that show the rollout state of what leases run.
func workloadKinds(manifestNamespace string) []watched {
	return []watched{
		{resource: cluster.Namespaces, selector: OfLeases},
		{resource: kinds.Manifest.Resource(), namespace: manifestNamespace},
		{resource: kinds.Deployment.Resource(), selector: ours},
		{resource: kinds.StatefulSet.Resource(), selector: ours},
		{resource: kinds.Pod.Resource(), selector: ours},
	}
}

// workloads reads what leases run: a LIST of each kind, then the pods of workloads that are not rolled out, which show
// why, and events if there are no such pods. It returns a cluster.RoleError if the user lacks the role.
func (r *bookReader) workloads(ctx context.Context) error {
	all := workloadKinds(r.cfg.ManifestNamespace)
	group, listCtx := parallel.WithContext(ctx)
	for _, w := range all[:len(all)-1] {
		group.Go(func() error { return r.listWorkloads(listCtx, w, "") })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if namespaces := r.contents.Workloads.Unsettled(); len(namespaces) > 0 {
		pods := all[len(all)-1]
		if len(namespaces) <= fewNamespaces {
			pods.selector += fmt.Sprintf(",%s in (%s)", lease.LabelNamespace, strings.Join(namespaces, ","))
		}
		if err := r.listWorkloads(ctx, pods, ""); err != nil {
			return err
		}
	}
	namespaces := r.contents.Workloads.LackPods()
	if len(namespaces) == 0 {
		return nil
	}
	events := watched{resource: kinds.Event.Resource()}
	if len(namespaces) == 1 {
		events.namespace = namespaces[0]
	}
	return r.listWorkloads(ctx, events, "type=Warning,reason=FailedCreate,involvedObject.kind=StatefulSet")
}

// listWorkloads lists a resource of what leases run and adds the objects.
func (r *bookReader) listWorkloads(ctx context.Context, w watched, fields string) error {
	var err error
	opts := metav1.ListOptions{LabelSelector: w.selector, FieldSelector: fields}
	if w.resource == cluster.Namespaces {
		err = cluster.EachMeta(ctx, r.cluster, w.resource, "", opts, func(m *metav1.ObjectMeta) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.contents.Workloads.AddNamespace(m)
		}, func() {})
	} else {
		add := func(o *unstructured.Unstructured) []struct{} {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.contents.Workloads.Add(o)
			return nil
		}
		_, err = cluster.ListObjects(ctx, r.cluster, w.resource, w.namespace, opts, add)
	}
	if w.resource == kinds.Manifest.Resource() {
		err = unlessMissing(err, kinds.Manifest)
	}
	return cluster.NeedsRole(err, statusRole)
}

// ReadPools reads MetalLB's pools, the addresses that it has assigned and those of nodes, without the claims.
func ReadPools(ctx context.Context, c *cluster.Cluster) (view.Contents, error) {
	r := bookReader{cluster: c}
	group, ctx := parallel.WithContext(ctx)
	r.listKinds(ctx, group, []view.Subject{view.SubjectPools})
	err := group.Wait()
	return r.contents, err
}
