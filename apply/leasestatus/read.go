// Package leasestatus reads what a lease's status is computed from. The pure package state/status computes it.
package leasestatus

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/manifest"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/status"
)

// role is the ClusterRole that allows reading the status of leases.
const role = "akash-net-status"

// Find returns the leases of a deployment group that have a namespace. There may be several if the group's orders were
// won by several providers, or anew.
func Find(ctx context.Context, c *cluster.Cluster, g lease.Group) ([]lease.ID, error) {
	return find(ctx, c, labels.Set{lease.LabelOwner: g.Owner, lease.LabelDSeq: fmt.Sprint(g.DSeq), lease.LabelGSeq: fmt.Sprint(g.GSeq)}.String())
}

// All returns all leases that have a namespace.
func All(ctx context.Context, c *cluster.Cluster) ([]lease.ID, error) {
	return find(ctx, c, lease.LabelOwner)
}

func find(ctx context.Context, c *cluster.Cluster, selector string) (found []lease.ID, _ error) {
	opts := metav1.ListOptions{LabelSelector: selector}
	err := cluster.EachMeta(ctx, c, cluster.Namespaces, "", opts, func(m *metav1.ObjectMeta) {
		if id, ok := lease.IDFromLabels(m.Labels); ok && m.Name == id.Namespace() {
			found = append(found, id)
		}
	}, func() { found = nil })
	return found, err
}

// Read reads the objects of a lease: those in its namespace, and its ProviderHosts and Manifest in the namespace of
// Akash's provider.
func Read(ctx context.Context, c *cluster.Cluster, manifestNamespace string, id lease.ID) (*status.Objects, error) {
	var out status.Objects
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		out.Manifest, err = manifestOf(ctx, c, manifestNamespace, id)
		return err
	})
	group.Go(func() (err error) {
		out.Deployments, err = list[appsv1.Deployment](ctx, c, kinds.Deployment, id.Namespace(), nil)
		return err
	})
	group.Go(func() (err error) {
		out.StatefulSets, err = list[appsv1.StatefulSet](ctx, c, kinds.StatefulSet, id.Namespace(), nil)
		return err
	})
	group.Go(func() (err error) {
		out.Services, err = list[corev1.Service](ctx, c, kinds.Service, id.Namespace(), nil)
		return err
	})
	group.Go(func() (err error) {
		out.Hosts, err = hosts(ctx, c, manifestNamespace, id)
		return err
	})
	return &out, group.Wait()
}

func manifestOf(ctx context.Context, c *cluster.Cluster, namespace string, id lease.ID) (*manifest.Manifest, error) {
	o, err := c.Get(ctx, kinds.Manifest, namespace, id.Namespace())
	if o == nil || err != nil {
		return nil, cluster.NeedsRoleIn(err, namespace, role)
	}
	return convert[manifest.Manifest](o)
}

func hosts(ctx context.Context, c *cluster.Cluster, namespace string, id lease.ID) ([]status.Host, error) {
	found, err := list[providerHost](ctx, c, kinds.ProviderHost, namespace, id.Labels())
	if cluster.IsMissingKind(err) {
		return nil, nil
	}
	out := make([]status.Host, len(found))
	for i, h := range found {
		out[i].Name, out[i].Spec = h.Name, h.Spec
	}
	return out, err
}

type providerHost struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Hostname string `json:"hostname"`
		Service  string `json:"service_name"`
	} `json:"spec"`
}

// list lists the objects of a kind with the labels in a namespace.
func list[T any](
	ctx context.Context, c *cluster.Cluster, kind kinds.Kind, namespace string, with map[string]string,
) ([]T, error) {
	found, err := c.Objects(ctx, kind.Resource(), namespace, metav1.ListOptions{LabelSelector: labels.Set(with).String()})
	if err != nil {
		return nil, cluster.NeedsRoleIn(err, namespace, role)
	}
	out := make([]T, 0, len(found))
	for _, o := range found {
		typed, err := convert[T](o)
		if err != nil {
			return nil, err
		}
		out = append(out, *typed)
	}
	return out, nil
}

func convert[T any](o *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
		return nil, fmt.Errorf("%s %s/%s cannot be read: %w", strings.ToLower(o.GetKind()), o.GetNamespace(), o.GetName(), err)
	}
	return typed, nil
}
