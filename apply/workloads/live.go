// Package workloads reads what a lease runs, and brings it to its definition: objects in the lease's namespace and its
// Manifest, written under the lease's own field manager. What is decided about them is pure (package state/deployed); how
// they are written, pinned, taken back and told is the caller's (Writer).
package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Live is what the cluster has in the namespace of a lease, of the kinds of what a lease runs, and the lease's Manifest.
type Live struct {
	objects []deployed.Object
	by      map[deployed.Key]*unstructured.Unstructured
}

// Read reads what there is in the namespace: a LIST of each kind, and the Manifest. Of a namespace that is not there, it
// reads the Manifest alone.
func Read(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, namespace string, there bool) (*Live, error) {
	listed := slices.DeleteFunc(slices.Clone(kinds.RunningEnds), func(k kinds.Kind) bool { return k == kinds.Manifest })
	if !there {
		listed = nil
	}
	found := make([][]*unstructured.Unstructured, len(listed)+1)
	work, ctx := parallel.WithContext(ctx)
	for i, kind := range listed {
		work.Go(func() (err error) {
			found[i], err = c.Objects(ctx, kind.Resource(), namespace, metav1.ListOptions{})
			return err
		})
	}
	work.Go(func() error {
		manifest, err := c.Get(ctx, kinds.Manifest, cfg.ManifestNamespace, namespace)
		if manifest != nil {
			found[len(listed)] = []*unstructured.Unstructured{manifest}
		}
		return err
	})
	if err := work.Wait(); err != nil {
		return nil, err
	}
	live := &Live{by: map[deployed.Key]*unstructured.Unstructured{}}
	for i, kind := range append(listed, kinds.Manifest) {
		for _, o := range found[i] {
			one := deployed.Object{Kind: kind, Live: o}
			live.objects = append(live.objects, one)
			live.by[one.Key()] = o
		}
	}
	return live, nil
}

// IsOld is true where another command has applied or released what the lease runs since that was read: it writes the
// Manifest before all else, or deletes it.
func (l *Live) IsOld(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, namespace string) (bool, error) {
	now, err := c.Get(ctx, kinds.Manifest, cfg.ManifestNamespace, namespace)
	if err != nil {
		return false, err
	}
	was := l.find(kinds.Manifest, namespace)
	if was == nil || now == nil {
		return (was == nil) != (now == nil), nil
	}
	return was.GetUID() != now.GetUID() || was.GetResourceVersion() != now.GetResourceVersion(), nil
}

// Namespaces are those in which this program runs something for a deployment group, sorted. The Manifests say so: each is
// named after its namespace, and is written first and deleted last. A cluster that does not serve their kind has none.
func Namespaces(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, g lease.Group) (names []string, err error) {
	of := labels.Set{
		lease.LabelOwner: g.Owner, lease.LabelDSeq: strconv.FormatUint(g.DSeq, 10), lease.LabelGSeq: strconv.FormatUint(uint64(g.GSeq), 10),
	}
	manifests, err := c.Objects(ctx, kinds.Manifest.Resource(), cfg.ManifestNamespace, metav1.ListOptions{LabelSelector: of.String()})
	if _, missing := errors.AsType[*cluster.MissingKindError](err); missing {
		return nil, nil
	}
	for _, m := range manifests {
		if deployed.StandingOf(m, g, m.GetName()) == deployed.Ours {
			names = append(names, m.GetName())
		}
	}
	slices.Sort(names)
	return names, err
}

// RunIn is true where this program runs pods for the deployment group in a namespace, with or without its Manifest. Of
// those that may not be seen it is false: who may not read them has not applied them.
func RunIn(ctx context.Context, c *cluster.Cluster, g lease.Group, namespace string) (bool, error) {
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		objects, err := c.Objects(ctx, kind.Resource(), namespace, metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"})
		if _, missing := errors.AsType[*cluster.MissingKindError](err); missing || apierrors.IsForbidden(err) {
			return false, nil
		}
		if err != nil || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return deployed.StandingOf(o, g, "") == deployed.Ours }) {
			return err == nil, err
		}
	}
	return false, nil
}

// Goes is true where all that the group has applied is being deleted.
func (l *Live) Goes(g lease.Group) bool {
	return !slices.ContainsFunc(deployed.Release(l.objects, g), func(o deployed.Object) bool { return o.Live.GetDeletionTimestamp() == nil })
}

// find is the object of a kind and name, nil where there is none.
func (l *Live) find(kind kinds.Kind, name string) *unstructured.Unstructured {
	return l.by[deployed.Key{Kind: kind.Kind, Name: name}]
}

// manifest is the definition that the lease's Manifest holds, nil where there is none or it cannot be read.
func (l *Live) manifest(g lease.Group, namespace string) *lease.Definition {
	o := l.find(kinds.Manifest, namespace)
	if o == nil || deployed.StandingOf(o, g, namespace) == deployed.Foreign {
		return nil
	}
	data, err := json.Marshal(o.Object)
	if err != nil {
		return nil
	}
	def, problems := input.ManifestObject(namespace, data, input.Options{Workloads: true})
	if problems.Failed() {
		return nil
	}
	return def
}
