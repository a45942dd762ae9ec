// Package capacity reads what a cluster can give out. The pure package state/inventory/observed computes the capacity
// from it.
package capacity

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// Role is the ClusterRole that allows reading it.
const Role = "akash-net-capacity"

// Requests is the number of concurrent requests that lets Read send all its lists at once.
const Requests = 12

// running selects the pods that request resources of a node.
const running = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

// Read adds the nodes, pods, volumes and Services of a cluster to fold, page by page. Of the pods, which are many, the
// fold keeps only sums.
func Read(ctx context.Context, c *cluster.Cluster, fold *observed.Fold) error {
	r := reader{cluster: c, fold: fold}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() error { return r.namespaces(ctx) })
	group.Go(func() error {
		return list(ctx, &r, "nodes", observed.Nodes, "", func(l *corev1.NodeList) { each(l.Items, fold.Node) })
	})
	group.Go(func() error {
		return list(ctx, &r, "pods", observed.Pods, running, func(l *corev1.PodList) { each(l.Items, fold.Pod) })
	})
	group.Go(func() error {
		return list(ctx, &r, "persistentvolumes", observed.Volumes, "", func(l *corev1.PersistentVolumeList) {
			each(l.Items, fold.Volume)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "storageclasses", observed.StorageClasses, "", func(l *storagev1.StorageClassList) {
			each(l.Items, fold.StorageClass)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "csistoragecapacities", observed.CSICapacities, "", func(l *storagev1.CSIStorageCapacityList) {
			each(l.Items, fold.CSICapacity)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "services", observed.Services, "", func(l *corev1.ServiceList) { each(l.Items, fold.Service) })
	})
	return group.Wait()
}

// reader adds the objects of several concurrent lists to one fold.
type reader struct {
	cluster *cluster.Cluster
	mu      sync.Mutex
	fold    *observed.Fold
}

// forget returns a function that removes a list from the fold, before it starts over.
func (r *reader) forget(k observed.Kind) func() {
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fold.Forget(k)
	}
}

// namespaces reads which namespaces belong to leases. It reads only metadata.
func (r *reader) namespaces(ctx context.Context) error {
	opts := metav1.ListOptions{LabelSelector: lease.LabelOwner}
	return cluster.EachMeta(ctx, r.cluster, cluster.Namespaces, "", opts, func(m *metav1.ObjectMeta) {
		if id, ok := lease.IDFromLabels(m.Labels); ok {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fold.Namespace(m.Name, id.Order().String())
		}
	}, r.forget(observed.Namespaces))
}

func each[T any](items []T, add func(*T)) {
	for i := range items {
		add(&items[i])
	}
}

// list adds the objects of a resource to the fold.
func list[T any, L interface {
	*T
	cluster.List
}](ctx context.Context, r *reader, resource string, kind observed.Kind, fields string, add func(L)) error {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
	if kind == observed.StorageClasses || kind == observed.CSICapacities {
		gvr.Group = storagev1.GroupName
	}
	page := func() L { return new(T) }
	err := cluster.EachPage(ctx, r.cluster, gvr, "", metav1.ListOptions{FieldSelector: fields}, page, func(l L) {
		r.mu.Lock()
		defer r.mu.Unlock()
		add(l)
	}, r.forget(kind))
	return cluster.NeedsRole(err, Role)
}
