// Package workloads reads what a lease runs and makes it match the definition: the objects in the lease's namespace and
// its Manifest, written under the lease's own field manager. Package state/deployed decides; the caller's Writer does
// the writing, pinning, undoing and reporting.
package workloads

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// Live is what the namespace of a lease contains of the kinds that leases run, and the lease's Manifest.
type Live struct {
	objects []deployed.Object
	by      map[deployed.Key]*unstructured.Unstructured
}

// Read lists each kind in the namespace and reads the Manifest. If the namespace does not exist it reads only the
// Manifest.
func Read(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, namespace string, exists bool) (*Live, error) {
	listed := slices.DeleteFunc(slices.Clone(kinds.RunningEnds), func(k kinds.Kind) bool { return k == kinds.Manifest })
	if !exists {
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

// IsOld reports whether another command has applied or released what the lease runs since it was read: an apply writes
// the Manifest first, and a release deletes it.
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

// Role is the ClusterRole of those who apply and end what leases run.
const Role = "akash-net-workloads"

// RunIn returns who runs pods for the deployment group in a namespace, with or without a Manifest: Ours, Akashs or Absent. If the
// user may not see what runs, the error says so, and beside it is who has the Services in front of that.
func RunIn(ctx context.Context, c *cluster.Cluster, g lease.Group, namespace string) (deployed.Standing, error) {
	runs, err := runner(ctx, c, g, namespace, kinds.Deployment, kinds.StatefulSet)
	if !apierrors.IsForbidden(err) {
		return runs, err
	}
	runs, errServices := runner(ctx, c, g, namespace, kinds.Service)
	return runs, cmp.Or(errServices, cluster.NeedsRoleIn(err, namespace, Role))
}

// runner returns who has deployed objects of the kinds.
func runner(ctx context.Context, c *cluster.Cluster, g lease.Group, namespace string, of ...kinds.Kind) (deployed.Standing, error) {
	found := make([]deployed.Standing, len(of))
	work, ctx := parallel.WithContext(ctx)
	for i, kind := range of {
		work.Go(func() error {
			objects, err := c.Objects(ctx, kind.Resource(), namespace, metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"})
			if err != nil && !cluster.IsMissingKind(err) {
				return err
			}
			found[i] = deployed.Absent
			for _, o := range objects {
				if kind == kinds.Service && !state.IsWorkloadService(o) {
					continue
				}
				if s := deployed.StandingOf(o, g, namespace); s == deployed.Ours || s == deployed.Akashs && found[i] == deployed.Absent {
					found[i] = s
				}
			}
			return nil
		})
	}
	err := work.Wait()
	for _, s := range []deployed.Standing{deployed.Ours, deployed.Akashs} {
		if slices.Contains(found, s) {
			return s, err
		}
	}
	return deployed.Absent, err
}

// Goes reports whether everything that the group has applied is being deleted.
func (l *Live) Goes(g lease.Group) bool {
	return !slices.ContainsFunc(deployed.Release(l.objects, g), func(o deployed.Object) bool {
		return o.Live.GetDeletionTimestamp() == nil
	})
}

// find returns the object of a kind and name, or nil.
func (l *Live) find(kind kinds.Kind, name string) *unstructured.Unstructured {
	return l.by[deployed.Key{Kind: kind.Kind, Name: name}]
}

// manifest decodes the definition in the lease's Manifest. It returns nil if there is none or it cannot be decoded.
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

// Rollout returns the rollout state of what the lease runs. It reads Deployments and StatefulSets, then, if they are
// not rolled out, their pods, and, if pods are missing, events.
func (w *Work) Rollout(ctx context.Context) (rollout.Rollout, error) {
	var shown rollout.Lease
	for _, o := range w.objects {
		if o.Kind == kinds.Manifest {
			if err := shown.Add(render.Rendered(o)); err != nil {
				return rollout.Rollout{}, err
			}
		}
	}
	ours := metav1.ListOptions{LabelSelector: lease.LabelManaged + "=true"}
	for _, kind := range []kinds.Kind{kinds.Deployment, kinds.StatefulSet} {
		if err := w.show(ctx, &shown, kind, ours); err != nil {
			return rollout.Rollout{}, err
		}
	}
	if shown.Unsettled() {
		if err := w.show(ctx, &shown, kinds.Pod, ours); err != nil {
			return rollout.Rollout{}, err
		}
	}
	if shown.LacksPods() {
		failed := metav1.ListOptions{FieldSelector: "type=Warning,reason=FailedCreate,involvedObject.kind=StatefulSet"}
		if err := w.show(ctx, &shown, kinds.Event, failed); err != nil {
			return rollout.Rollout{}, err
		}
	}
	now, runs := shown.Of()
	if !runs {
		now.State = rollout.Complete
	}
	return now, nil
}

// show adds the objects of a kind in the lease's namespace.
func (w *Work) show(ctx context.Context, shown *rollout.Lease, kind kinds.Kind, opts metav1.ListOptions) error {
	list, err := w.cluster.Objects(ctx, kind.Resource(), w.id.Namespace(), opts)
	if err != nil {
		return err
	}
	for _, o := range list {
		o.SetGroupVersionKind(kind.GroupVersionKind) // some servers leave it out of list items
		if err := shown.Add(o); err != nil {
			return err
		}
	}
	return nil
}

// KindOf returns the kind that runs a service: StatefulSet or Deployment.
func (w *Work) KindOf(service string) kinds.Kind {
	if w.wanted[deployed.Key{Kind: kinds.StatefulSet.Kind, Name: service}] {
		return kinds.StatefulSet
	}
	return kinds.Deployment
}

// Akash's provider writes whole objects by Update, so it is the manager of every field. An apply of the same values makes
// the lease a second manager and does not change the object. Then Akash's entry is removed: fields that only Akash managed
// keep their values, such as the label with the Manifest's version on pods, and the lease may change the others.

// EndAdoption removes Akash's provider from the managers of what the lease has taken over. Call it last, because
// nothing can be undone after it. If a command is killed before, the next run of the same command does it.
func (w *Work) EndAdoption(ctx context.Context) error {
	for _, o := range w.adopted() {
		if err := w.disown(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// disown removes Akash's entry from the managed fields of an object, pinned to what is read.
func (w *Work) disown(ctx context.Context, o render.Object) error {
	live, err := w.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if live == nil || err != nil {
		return err
	}
	return w.cluster.Rewrite(ctx, o.Kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		entries := now.GetManagedFields()
		left := slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == managed.Akash && e.Subresource == ""
		})
		if len(left) == len(entries) || deployed.StandingOf(now, w.id.Group(), w.id.Namespace()) != deployed.Ours {
			return nil, nil
		}
		return func(ctx context.Context) error {
			patch := map[string]any{"metadata": map[string]any{"managedFields": left}}
			err := w.cluster.As(lease.FieldManager).MergePinned(ctx, o.Kind, now, patch)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return w.cluster.Explain(err, "patch", o.Kind.Resource())
		}, nil
	})
}
