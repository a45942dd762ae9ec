package apply

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// running is what is done with what the lease of a run runs. The nil running has no objects: it is of a run that has
// nothing to do with it.
type running struct {
	*objects
	// def is the definition with workloads.
	def  *lease.Definition
	work *workloads.Work
	// chosen are the cards that the order of the lease has reserved; takesOver is true where that is yet to be made the lease's.
	chosen    map[uint32]*lease.SchedulerParams
	takesOver bool
}

// newRunning is the work on what a definition runs; nil where that is not asked for.
func newRunning(r *objects, def *lease.Definition) *running {
	if r.opts.Workloads == nil || def.Workloads == nil {
		return nil
	}
	w := &running{objects: r, def: def}
	r.running = w
	return w
}

// anew is the work as if it had not begun.
func (w *running) anew(r *objects) *running {
	if w == nil {
		return nil
	}
	return newRunning(r, w.def)
}

// prepare reads what there is, and judges whether what the lease runs can be written. Nothing is written.
func (w *running) prepare(ctx context.Context) error {
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
	w.work, err = workloads.Prepare(r.cluster, workloads.Options{
		Config: r.opts.Config, Scheduler: r.opts.Workloads.Scheduler, Reserved: w.chosen, Adopt: r.opts.Adopt,
	}, w.def, live)
	return err
}

// read reads what there is. Where it has become old when the command's turn comes, all is read again.
func (w *running) read(ctx context.Context) (*workloads.Live, error) {
	r := w
	namespace := r.req.Lease.Namespace()
	live, err := workloads.Read(ctx, r.cluster, r.opts.Config, namespace, r.snapshot.namespaces[namespace])
	if err != nil || r.opts.turn == nil {
		return live, err
	}
	return live, r.opts.turn.Rests(ctx, func(ctx context.Context) (old bool, err error) {
		return live.IsOld(ctx, r.cluster, r.opts.Config, namespace)
	})
}

// write writes what the lease runs, before its routes. A service may be named so that an object of its would be one of
// the routes'.
func (w *running) write(ctx context.Context, routes []render.Object) error {
	if w == nil {
		return nil
	}
	if err := render.CheckNames(slices.Concat(w.work.Objects(), routes), w.def.At); err != nil {
		return err
	}
	if err := w.makeNamespace(ctx); err != nil {
		return err
	}
	return w.work.Write(ctx, w)
}

// prune deletes what the lease runs no more, when its routes lead there no more: also what it ran by another order or for
// another provider, which has a namespace of its own.
func (w *running) prune(ctx context.Context) error {
	if w == nil {
		return nil
	}
	r := w
	if err := w.work.Prune(ctx, w, r.opts.Prune); err != nil || !r.opts.Prune {
		return err
	}
	former, err := runsBeside(ctx, r.objects, r.req.Lease.Namespace())
	if err != nil {
		return err
	}
	return endIn(ctx, r.objects, former, Pruned)
}

// end ends the taking over of what Akash's provider has deployed.
func (w *running) end(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.work.EndAdoption(ctx)
}

// runsBeside is what this program runs for the deployment group, by namespace, beside what it runs in one of them.
func runsBeside(ctx context.Context, r *objects, namespace string) (map[string]*workloads.Live, error) {
	names, err := workloads.Namespaces(ctx, r.cluster, r.opts.Config, r.group)
	if err != nil {
		return nil, err
	}
	return runsIn(ctx, r, slices.DeleteFunc(names, func(name string) bool { return name == namespace }))
}

// runsUnmarked is what this program runs for the deployment group in namespaces of its leases where somebody has deleted the
// Manifest.
func runsUnmarked(ctx context.Context, r *objects, marked map[string]*workloads.Live) (map[string]*workloads.Live, error) {
	var names []string
	for _, name := range r.snapshot.namespacesOf(r.group) {
		if marked[name] != nil {
			continue
		}
		runs, err := workloads.RunIn(ctx, r.cluster, r.group, name)
		if err != nil {
			return nil, err
		}
		if runs {
			names = append(names, name)
		}
	}
	return runsIn(ctx, r, names)
}

func runsIn(ctx context.Context, r *objects, namespaces []string) (_ map[string]*workloads.Live, err error) {
	found := map[string]*workloads.Live{}
	for _, name := range namespaces {
		if found[name], err = workloads.Read(ctx, r.cluster, r.opts.Config, name, true); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// endIn deletes what the deployment group runs.
func endIn(ctx context.Context, r *objects, runs map[string]*workloads.Live, action Action) error {
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if err := workloads.Release(ctx, r.cluster, deleting{r, action}, r.group, runs[name], func(ctx context.Context, id lease.ID) error { return giveUpReserved(ctx, r, id) }); err != nil {
			return err
		}
	}
	return nil
}

// has is true for an object of what the lease runs.
func (w *running) has(o render.Object) bool { return w.work.Has(o) }

// find is an object of what the lease runs as it was read, nil for nothing.
func (w *running) find(o render.Object) *unstructured.Unstructured { return w.work.Find(o) }

// refused deals with a conflict: what Akash's provider has deployed is taken over where that is asked for.
func (w *running) refused(ctx context.Context, o render.Object, err error) (taken bool, _ error) {
	conflict := &ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	live, getErr := w.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if getErr != nil || live == nil {
		return false, conflict
	}
	conflict.Differs = !plan.Contains(live.Object, cluster.Rendered(o).Object)
	now := w.cluster.Refusal(ctx, o, w.manager(o), live) // others may have written since
	if !cluster.IsOwned(now) || !w.work.MayForce(live, now) {
		return false, conflict
	}
	if err := w.seize(ctx, o, live); cluster.IsOvertaken(err) || cluster.IsOwned(err) {
		return false, conflict
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// isMine is true for an object that the run has made and that the lease's manager still has.
func (w *running) isMine(now *unstructured.Unstructured) bool {
	return deployed.StandingOf(now, w.group, w.req.Lease.Namespace()) == deployed.Ours
}

// WriteAll implements workloads.Writer.
func (w *running) WriteAll(ctx context.Context, objects []render.Object) error {
	return w.writeAll(ctx, objects)
}

// Delete implements workloads.Writer.
func (w *running) Delete(ctx context.Context, o deployed.Object, told string, goes func(*unstructured.Unstructured) bool) error {
	return deleting{w.objects, Pruned}.Delete(ctx, o, told, goes)
}

// AwaitGone implements workloads.Writer.
func (w *running) AwaitGone(ctx context.Context, o deployed.Object) error {
	return deleting{w.objects, Pruned}.AwaitGone(ctx, o)
}

// Leave implements workloads.Writer.
func (w *running) Leave(kind kinds.Kind, namespace, name, why string) {
	w.event(Left, kind.Singular, namespace, name, why)
}

// deleting deletes what leases run, and says that by an action.
type deleting struct {
	*objects
	action Action
}

// Delete implements workloads.Deleter.
func (e deleting) Delete(ctx context.Context, o deployed.Object, told string, goes func(*unstructured.Unstructured) bool) error {
	return e.deleteWhile(ctx, owned{kind: o.Kind, live: o.Live, group: e.group}, e.action, told, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		return goes(now), nil
	})
}

// AwaitGone implements workloads.Deleter.
func (e deleting) AwaitGone(ctx context.Context, o deployed.Object) error {
	return e.awaitDeleted(ctx, o.Kind, o.Live, "the same command goes on")
}
