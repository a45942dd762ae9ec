// Package capacity reads from the cluster what there is to give out. What becomes of it is a pure fold
// (state/inventory/observed).
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

// Role is the ClusterRole that allows to read it.
const Role = "akash-net-capacity"

// Requests is how many requests a reader has under way at a time: more than it has lists.
const Requests = 12

// running selects the pods that request something of a node.
const running = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"

// Read adds to the fold the nodes, pods, volumes and Services of a cluster, each list page by page. Of pods, which are many, only
// sums are kept.
func Read(ctx context.Context, c *cluster.Cluster, fold *observed.Fold) error {
	r := reader{cluster: c, fold: fold}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() error { return r.namespaces(ctx) })
	group.Go(func() error {
		return list(ctx, &r, "nodes", observed.Nodes, "", func() *corev1.NodeList { return &corev1.NodeList{} }, func(l *corev1.NodeList) {
			each(l.Items, r.fold.Node)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "pods", observed.Pods, running, func() *corev1.PodList { return &corev1.PodList{} }, func(l *corev1.PodList) {
			each(l.Items, r.fold.Pod)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "persistentvolumes", observed.Volumes, "", func() *corev1.PersistentVolumeList { return &corev1.PersistentVolumeList{} }, func(l *corev1.PersistentVolumeList) {
			each(l.Items, r.fold.Volume)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "storageclasses", observed.StorageClasses, "", func() *storagev1.StorageClassList { return &storagev1.StorageClassList{} }, func(l *storagev1.StorageClassList) {
			each(l.Items, r.fold.StorageClass)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "csistoragecapacities", observed.CSICapacities, "", func() *storagev1.CSIStorageCapacityList { return &storagev1.CSIStorageCapacityList{} }, func(l *storagev1.CSIStorageCapacityList) {
			each(l.Items, r.fold.CSICapacity)
		})
	})
	group.Go(func() error {
		return list(ctx, &r, "services", observed.Services, "", func() *corev1.ServiceList { return &corev1.ServiceList{} }, func(l *corev1.ServiceList) {
			each(l.Items, r.fold.Service)
		})
	})
	return group.Wait()
}

// reader folds what comes of several lists at once.
type reader struct {
	cluster *cluster.Cluster
	mu      sync.Mutex
	fold    *observed.Fold
}

// forget begins a list anew.
func (r *reader) forget(k observed.Kind) func() {
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.fold.Forget(k)
	}
}

// namespaces says which namespaces are leases'; their metadata is enough.
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

func each[T any](items []T, take func(*T)) {
	for i := range items {
		take(&items[i])
	}
}

// list folds the objects of a resource.
func list[L cluster.List](ctx context.Context, r *reader, resource string, kind observed.Kind, fields string, page func() L, take func(L)) error {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
	if kind == observed.StorageClasses || kind == observed.CSICapacities {
		gvr.Group = storagev1.GroupName
	}
	err := cluster.EachPage(ctx, r.cluster, gvr, "", metav1.ListOptions{FieldSelector: fields}, page, func(l L) {
		r.mu.Lock()
		defer r.mu.Unlock()
		take(l)
	}, r.forget(kind))
	return cluster.NeedsRole(err, Role)
}
