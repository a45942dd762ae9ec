// Package running applies what a lease runs as part of the work on the lease: its Deployments, Services and volumes.
package running

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Running is the work on what the lease of a run runs. A nil Running is valid and does nothing.
type Running struct {
	*objects.Objects
	// def is the definition with workloads.
	def  *lease.Definition
	work *workloads.Work
	// chosen are the GPUs that the lease's order has reserved; takesOver is true if the reservation is yet to become
	// the lease's.
	chosen    map[uint32]*lease.SchedulerParams
	takesOver bool
}

// New returns the work on what a definition runs, or nil if that is not asked for.
func New(r *objects.Objects, def *lease.Definition) *Running {
	if r.Options.Workloads == nil || def.Workloads == nil {
		return nil
	}
	w := &Running{Objects: r, def: def}
	r.Running = w
	return w
}

// Anew returns the same work, not begun.
func (w *Running) Anew(r *objects.Objects) *Running {
	if w == nil {
		return nil
	}
	return New(r, w.def)
}

// Work returns what the lease runs, nil if that is left alone.
func (w *Running) Work() *workloads.Work {
	if w == nil {
		return nil
	}
	return w.work
}

// Prepare reads the live objects and checks whether what the lease runs can be written. It writes nothing.
func (w *Running) Prepare(ctx context.Context) error {
	if w == nil {
		return nil
	}
	live, err := w.read(ctx)
	if err != nil {
		return err
	}
	if err := w.readReserved(ctx); err != nil {
		return err
	}
	w.work, err = workloads.Prepare(w.Cluster, workloads.Options{
		Config: w.Options.Config, Scheduler: w.Options.Workloads.Scheduler, Reserved: w.chosen, Adopt: w.Options.Adopt,
	}, w.def, live)
	return err
}

// read reads the live objects. If they are out of date when the command's turn comes, everything is read again.
func (w *Running) read(ctx context.Context) (*workloads.Live, error) {
	namespace := w.Request.Lease.Namespace()
	live, err := workloads.Read(ctx, w.Cluster, w.Options.Config, namespace, w.Snapshot.Namespaces[namespace])
	if err != nil || w.Options.Turn == nil {
		return live, err
	}
	return live, w.Options.Turn.Rests(ctx, func(ctx context.Context, _ []*state.Claim) (old bool, err error) {
		return live.IsOld(ctx, w.Cluster, w.Options.Config, namespace)
	})
}

// Write writes what the lease runs, before its routes. It fails if a service has a name by which one of its objects
// would collide with a route.
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

// Prune deletes what the lease no longer runs, after its routes no longer point there. That includes what it ran for
// another order or provider, which has a namespace of its own.
func (w *Running) Prune(ctx context.Context) error {
	if w == nil {
		return nil
	}
	if err := w.work.Prune(ctx, deleter{w.Objects, report.Pruned}, w.Options.Prune); err != nil || !w.Options.Prune {
		return err
	}
	former, err := workloads.Beside(ctx, w.Cluster, w.Options.Config, w.Group, w.Request.Lease.Namespace())
	if err != nil {
		return err
	}
	maps.DeleteFunc(former, func(name string, _ *workloads.Live) bool {
		declared := w.Snapshot.DeclaredIn(name, w.Group)
		if len(declared) > 0 {
			w.Event(report.Left, kinds.Manifest.Singular, w.Options.Config.ManifestNamespace, name,
				"with what it runs: Akash's provider declares "+declared[0].Kind.Singular+" "+declared[0].Live.GetName()+" for it")
		}
		return len(declared) > 0
	})
	return endIn(ctx, w.Objects, former, report.Pruned)
}

// End ends the adoption of what Akash's provider has deployed.
func (w *Running) End(ctx context.Context) error {
	if w == nil {
		return nil
	}
	return w.work.EndAdoption(ctx)
}

// endIn deletes what the deployment group runs.
func endIn(ctx context.Context, r *objects.Objects, runs map[string]*workloads.Live, action report.Action) error {
	giveUp := func(ctx context.Context, id lease.ID) error { return giveUpReserved(ctx, r, id) }
	for _, name := range slices.Sorted(maps.Keys(runs)) {
		if err := workloads.Release(ctx, r.Cluster, deleter{r, action}, r.Group, runs[name], giveUp); err != nil {
			return err
		}
	}
	return nil
}

// Has reports whether an object is one that the lease runs.
func (w *Running) Has(o render.Object) bool { return w.work.Has(o) }

// Find returns the live object with the object's name, or nil.
func (w *Running) Find(o render.Object) *unstructured.Unstructured { return w.work.Find(o) }

// Refused handles a conflict. It takes over what Akash's provider has deployed if --adopt is set.
func (w *Running) Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error) {
	conflict := &report.ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	for range executor.Looks { // controllers write the status meanwhile
		live, getErr := w.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if getErr != nil || live == nil {
			return false, conflict
		}
		conflict.Differs = !plan.Contains(live.Object, cluster.Rendered(o).Object)
		now := w.Cluster.Refusal(ctx, o, w.Manager(o), live) // ask again, because others may have written since
		if cluster.IsOvertaken(now) {
			continue
		}
		if !cluster.IsOwned(now) || !w.work.MayForce(live, now) {
			return false, conflict
		}
		err := w.Seize(ctx, o, live)
		switch {
		case cluster.IsOvertaken(err):
			continue
		case cluster.IsOwned(err):
			return false, conflict
		}
		return err == nil, err
	}
	return false, conflict
}

// IsMine reports whether the lease's manager still has an object that the run has created.
func (w *Running) IsMine(now *unstructured.Unstructured) bool {
	return deployed.StandingOf(now, w.Group, w.Request.Lease.Namespace()) == deployed.Ours
}

// Leave implements workloads.Writer.
func (w *Running) Leave(kind kinds.Kind, namespace, name, why string) {
	w.Event(report.Left, kind.Singular, namespace, name, why)
}

// deleter deletes what leases run and reports it with an action.
type deleter struct {
	*objects.Objects
	action report.Action
}

// Delete implements workloads.Deleter.
func (d deleter) Delete(
	ctx context.Context, o deployed.Object, message string, goes func(*unstructured.Unstructured) bool,
) error {
	owned := observed.Owned{Kind: o.Kind, Live: o.Live, Group: d.Group}
	return d.DeleteWhile(ctx, owned, d.action, message, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		return goes(now), nil
	})
}

// AwaitGone implements workloads.Deleter.
func (d deleter) AwaitGone(ctx context.Context, o deployed.Object) error {
	return d.AwaitDeleted(ctx, o.Kind, o.Live, "the same command goes on")
}
