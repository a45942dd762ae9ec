// Package running applies what a lease runs as a part of the work on it: its Deployments, Services and volumes.
package running

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Running is what is done with what the lease of a run runs. The nil running has no objects: it is of a run that has
// nothing to do with it.
type Running struct {
	*objects.Objects
	// def is the definition with workloads.
	def  *lease.Definition
	work *workloads.Work
	// chosen are the cards that the order of the lease has reserved; takesOver is true where that is yet to be made the lease's.
	chosen    map[uint32]*lease.SchedulerParams
	takesOver bool
}

// New is the work on what a definition runs; nil where that is not asked for.
func New(r *objects.Objects, def *lease.Definition) *Running {
	if r.Options.Workloads == nil || def.Workloads == nil {
		return nil
	}
	w := &Running{Objects: r, def: def}
	r.Running = w
	return w
}

// Anew is the work as if it had not begun.
func (w *Running) Anew(r *objects.Objects) *Running {
	if w == nil {
		return nil
	}
	return New(r, w.def)
}

// Prepare reads what there is, and judges whether what the lease runs can be written. Nothing is written.
func (w *Running) Prepare(ctx context.Context) error {
	if w == nil {
		return nil
	}
	r := w
	live, err := w.read(ctx)
	if err != nil {
		return err
	}
	if err := w.readReserved(ctx); err != nil {
		return err
	}
	w.work, err = workloads.Prepare(r.Cluster, workloads.Options{
		Config: r.Options.Config, Scheduler: r.Options.Workloads.Scheduler, Reserved: w.chosen, Adopt: r.Options.Adopt,
	}, w.def, live)
	return err
}

// read reads what there is. Where it has become old when the command's turn comes, all is read again.
func (w *Running) read(ctx context.Context) (*workloads.Live, error) {
	r := w
	namespace := r.Request.Lease.Namespace()
	live, err := workloads.Read(ctx, r.Cluster, r.Options.Config, namespace, r.Snapshot.Namespaces[namespace])
	if err != nil || r.Options.Turn == nil {
		return live, err
	}
	return live, r.Options.Turn.Rests(ctx, func(ctx context.Context, _ []*state.Claim) (old bool, err error) {
		return live.IsOld(ctx, r.Cluster, r.Options.Config, namespace)
	})
}

// Write writes what the lease runs, before its routes. A service may be named so that an object of its would be one of
// the routes'.
func (w *Running) Write(ctx context.Context, routes []render.Object) error {
	if w == nil {
		return nil
	}
	if err := render.CheckNames(slices.Concat(w.work.Objects(), routes), w.def.At); err != nil {
		return err
	}
	if err := w.MakeNamespace(ctx); err != nil {
		return err
	}
	return w.work.Write(ctx, w)
}

// Prune deletes what the lease runs no more, when its routes lead there no more: also what it ran by another order or for
// another provider, which has a namespace of its own.
func (w *Running) Prune(ctx context.Context) error {
	if w == nil {
		return nil
	}
	r := w
	if err := w.work.Prune(ctx, w, r.Options.Prune); err != nil || !r.Options.Prune {
		return err
	}
	former, err := RunsBeside(ctx, r.Objects, r.Request.Lease.Namespace())
	if err != nil {
		return err
	}
	return EndIn(ctx, r.Objects, former, report.Pruned)
}

// End ends the taking over of what Akash's provider has deployed.
func (w *Running) End(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.work.EndAdoption(ctx)
}

// RunsBeside is what this program runs for the deployment group, by namespace, beside what it runs in one of them.
func RunsBeside(ctx context.Context, r *objects.Objects, namespace string) (map[string]*workloads.Live, error) {
	names, err := workloads.Namespaces(ctx, r.Cluster, r.Options.Config, r.Group)
	if err != nil {
		return nil, err
	}
	return runsIn(ctx, r, slices.DeleteFunc(names, func(name string) bool { return name == namespace }))
}

// RunsUnmarked is what this program runs for the deployment group in namespaces of its leases where somebody has deleted the
// Manifest.
func RunsUnmarked(ctx context.Context, r *objects.Objects, marked map[string]*workloads.Live) (map[string]*workloads.Live, error) {
	var names []string
	for _, name := range r.Snapshot.NamespacesOf(r.Group) {
		if marked[name] != nil {
			continue
		}
		runs, err := workloads.RunIn(ctx, r.Cluster, r.Group, name)
		if err != nil {
			return nil, err
		}
		if runs {
			names = append(names, name)
		}
	}
	return runsIn(ctx, r, names)
}

func runsIn(ctx context.Context, r *objects.Objects, namespaces []string) (_ map[string]*workloads.Live, err error) {
	found := map[string]*workloads.Live{}
	for _, name := range namespaces {
		if found[name], err = workloads.Read(ctx, r.Cluster, r.Options.Config, name, true); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// EndIn deletes what the deployment group runs.
func EndIn(ctx context.Context, r *objects.Objects, runs map[string]*workloads.Live, action report.Action) error {
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if err := workloads.Release(ctx, r.Cluster, deleting{r, action}, r.Group, runs[name], func(ctx context.Context, id lease.ID) error { return GiveUpReserved(ctx, r, id) }); err != nil {
			return err
		}
	}
	return nil
}

// Has is true for an object of what the lease runs.
func (w *Running) Has(o render.Object) bool { return w.work.Has(o) }

// Find is an object of what the lease runs as it was read, nil for nothing.
func (w *Running) Find(o render.Object) *unstructured.Unstructured { return w.work.Find(o) }

// Refused deals with a conflict: what Akash's provider has deployed is taken over where that is asked for.
func (w *Running) Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error) {
	conflict := &report.ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	live, getErr := w.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if getErr != nil || live == nil {
		return false, conflict
	}
	conflict.Differs = !plan.Contains(live.Object, cluster.Rendered(o).Object)
	now := w.Cluster.Refusal(ctx, o, w.Manager(o), live) // others may have written since
	if !cluster.IsOwned(now) || !w.work.MayForce(live, now) {
		return false, conflict
	}
	if err := w.Seize(ctx, o, live); cluster.IsOvertaken(err) || cluster.IsOwned(err) {
		return false, conflict
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// IsMine is true for an object that the run has made and that the lease's manager still has.
func (w *Running) IsMine(now *unstructured.Unstructured) bool {
	return deployed.StandingOf(now, w.Group, w.Request.Lease.Namespace()) == deployed.Ours
}

// Delete implements workloads.Writer.
func (w *Running) Delete(ctx context.Context, o deployed.Object, told string, goes func(*unstructured.Unstructured) bool) error {
	return deleting{w.Objects, report.Pruned}.Delete(ctx, o, told, goes)
}

// AwaitGone implements workloads.Writer.
func (w *Running) AwaitGone(ctx context.Context, o deployed.Object) error {
	return deleting{w.Objects, report.Pruned}.AwaitGone(ctx, o)
}

// Leave implements workloads.Writer.
func (w *Running) Leave(kind kinds.Kind, namespace, name, why string) {
	w.Event(report.Left, kind.Singular, namespace, name, why)
}

// deleting deletes what leases run, and says that by an action.
type deleting struct {
	*objects.Objects
	action report.Action
}

// Delete implements workloads.Deleter.
func (e deleting) Delete(ctx context.Context, o deployed.Object, told string, goes func(*unstructured.Unstructured) bool) error {
	return e.DeleteWhile(ctx, observed.Owned{Kind: o.Kind, Live: o.Live, Group: e.Group}, e.action, told, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		return goes(now), nil
	})
}

// AwaitGone implements workloads.Deleter.
func (e deleting) AwaitGone(ctx context.Context, o deployed.Object) error {
	return e.AwaitDeleted(ctx, o.Kind, o.Live, "the same command goes on")
}
