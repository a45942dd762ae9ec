package execute

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// readRunning reads what a lease runs, and renders what it wants to run. What was read before stands if nobody has applied or released
// it since: an apply writes the Manifest first, and a release deletes it.
func (l *loop) readRunning(ctx context.Context, one *Lease, s *observed.Snapshot, version string) (out engine.Running, err error) {
	c, namespace := l.command, one.X.Request.Lease.Namespace()
	live, old := one.running, version == ""
	if !old {
		if old, err = live.IsOld(ctx, c.Cluster, c.Options.Config, namespace); err != nil {
			return out, err
		}
	}
	if old {
		there, _ := s.Namespace(namespace)
		if live, err = workloads.Read(ctx, c.Cluster, c.Options.Config, namespace, there.Alive); err != nil {
			return out, err
		}
	}
	one.running = live
	if !one.taken {
		if err = l.readReserved(ctx, one); err != nil {
			return out, err
		}
	}
	out.Version, out.Reserves = "read", one.takesOver
	for _, o := range live.All() {
		out.Live = append(out.Live, running(o, one.X.Group))
	}
	if one.replaces {
		return out, nil // what the lease runs depends on what is reserved then
	}
	one.Work, out.Err = workloads.Prepare(c.Cluster, workloads.Options{
		Config: c.Options.Config, Scheduler: c.Options.Workloads.Scheduler, Reserved: one.chosen, Adopt: c.Options.Adopt,
	}, one.Runs, live)
	if out.Err != nil {
		return out, nil //nolint:nilerr // the engine refuses the lease
	}
	out.Stages, out.Disowns = one.Work.Stages(), one.Work.WantsDisowned()
	for _, m := range one.Work.Left() {
		out.Left = append(out.Left, engine.Event{
			Action: report.Skipped, Of: engine.Key{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}, Message: m.Why, Once: "lacks " + m.Name,
		})
	}
	for _, o := range one.Work.Unwanted(c.Options.Prune) {
		out.Unwanted = append(out.Unwanted, running(o, one.X.Group))
	}
	if !c.Options.Prune {
		return out, nil
	}
	former, err := workloads.Beside(ctx, c.Cluster, c.Options.Config, one.X.Group, namespace)
	out.Former = map[string][]observed.Object{}
	for _, name := range slices.Sorted(maps.Keys(former)) {
		for _, o := range former[name].Of(one.X.Group) {
			out.Former[name] = append(out.Former[name], running(o, one.X.Group))
		}
	}
	return out, err
}

// running returns an object that a deployment group runs as the engine knows it.
func running(o deployed.Object, g lease.Group) observed.Object {
	id, _ := lease.IDFromLabels(o.Live.GetLabels())
	return observed.Object{Kind: o.Kind, Live: o.Live, Group: g, Lease: id, Ours: true, Runs: true}
}

// readReserved reads which GPUs the lease's order has reserved. The reservation is taken over later, so that a refused lease leaves it
// unchanged. For one of another resource group than the definition's the GPUs are chosen then. One of another provider is ignored.
func (l *loop) readReserved(ctx context.Context, one *Lease) (err error) {
	c, id := l.command, one.X.Request.Lease
	one.chosen, one.takesOver, one.replaces = nil, false, false
	claim, err := reservation.New(c.Cluster, c.Options.Config).Reservation(ctx, id.Order())
	if err != nil || claim == nil || claim.Deleting || claim.Bound == nil || claim.Over(c.Cluster.Now()) {
		return err
	}
	bound := claim.Bound
	switch same := bound.Asked == reserved.Asked(inventory.GroupOf(one.Runs.ResourceGroup())); {
	case bound.Provider != "" && bound.Provider != id.Provider:
	case same:
		one.chosen, one.takesOver = reservation.Params(bound), bound.Provider == "" || bound.Expires != ""
	default:
		one.takesOver, one.replaces = true, true
	}
	return nil
}

// takeReserved makes the order's reservation the lease's own. If other GPUs are reserved now than were read, the answer has what the
// lease runs with those.
func (l *loop) takeReserved(ctx context.Context, one *Lease, s *observed.Snapshot, answer *engine.Answer) error {
	chosen, err := l.takeOver(ctx, one)
	if err != nil {
		return err
	}
	same := !one.replaces && reflect.DeepEqual(chosen, one.chosen)
	if one.chosen, one.takesOver, one.replaces, one.taken = chosen, false, false, true; same {
		return nil
	}
	answer.Running, err = l.readRunning(ctx, one, s, "")
	return cmp.Or(err, answer.Running.Err)
}

// takeOver makes the order's reservation the lease's: without end, with its provider, and for the resource group of the definition. It
// returns the chosen GPUs. The reservation stays even if the rest of the work fails.
func (l *loop) takeOver(ctx context.Context, one *Lease) (map[uint32]*lease.SchedulerParams, error) {
	c, x := l.command, one.X
	binds := func(was *reserved.Claim, becomes *reserved.Part) error {
		return x.Change(func() plan.Change {
			return plan.Change{
				Action: plan.Claim, Kind: report.KindOrder, Name: was.Order.String(), UID: was.UID, ResourceVersion: was.ResourceVersion,
				Before: reservedParts(was.Bound), After: reservedParts(becomes),
			}
		})
	}
	params, err := reservation.Claim(ctx, c.Cluster, c.Options.Config, x.Request.Lease, one.Runs.ResourceGroup(), binds)
	if err == nil {
		x.Event(report.Claimed, report.KindOrder, "", x.Request.Lease.Order().String(), "what it has reserved is the lease's")
	}
	return params, err
}

// reservedParts returns what is reserved as a plan shows it: for which group, what, on which nodes, for which provider, and until when.
// It returns nil for nil.
func reservedParts(p *reserved.Part) map[string]any {
	if p == nil {
		return nil
	}
	out := map[string]any{}
	for name, value := range map[string]string{
		"group": p.Asked, "holds": p.Hold.Words(p.Models()), "nodes": strings.Join(slices.Sorted(maps.Keys(p.Hold.Nodes)), " "),
		"provider": p.Provider, "expires": p.Expires,
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// readRuns reads what a deployment group runs, and which of its leases have reservations of their own. What was read before the command's
// turn stands if its Manifests do, unless a crashed command may write still.
func (l *loop) readRuns(ctx context.Context, one *Lease, s *observed.Snapshot, answer *engine.Answer) error {
	c, g := l.command, one.X.Group
	var leased map[lease.Group][]lease.ID
	work, reading := parallel.WithContext(ctx)
	work.Go(func() (err error) {
		leased, err = l.leased(ctx)
		return err
	})
	work.Go(func() error {
		succeeds := len(l.turn.Fenced()) > 0
		read := l.marked
		if succeeds {
			read = l.readMarks([]lease.Group{g})
		}
		marks, err := read(ctx)
		if err == nil && (succeeds || !one.ran.Stands(g, marks)) {
			one.ran, err = workloads.ReadRan(reading, c.Cluster, c.Options.Config, g, s.NamespacesOf(g), marks)
		}
		return err
	})
	if err := work.Wait(); err != nil {
		return err
	}
	one.Unmarked = one.ran.Unmarked
	answer.Runs = engine.Runs{Objects: map[string][]observed.Object{}, Reserved: leased[g]}
	live := one.ran.Ours
	for _, name := range slices.Sorted(maps.Keys(live)) {
		if live[name].Goes(g) && !c.Cluster.Waits() {
			continue // a dry run takes for gone what is being deleted
		}
		for _, o := range live[name].Of(g) {
			answer.Runs.Objects[name] = append(answer.Runs.Objects[name], running(o, g))
		}
	}
	return nil
}

// reserved reads which leases have taken over the reservations of their orders, for the leases of a transaction.
func (l *loop) reserved(groups []lease.Group) func(context.Context) (map[lease.Group][]lease.ID, error) {
	return parallel.Once(func(ctx context.Context) (map[lease.Group][]lease.ID, error) {
		return reading.ReservedBy(ctx, l.command.Ledger, reading.OnlyOwner(groups))
	})
}

// readMarks reads the Manifests of the leases of a transaction.
func (l *loop) readMarks(groups []lease.Group) func(context.Context) (workloads.Marks, error) {
	return parallel.Once(func(ctx context.Context) (workloads.Marks, error) {
		return workloads.ReadMarks(ctx, l.command.Cluster, l.command.Options.Config, groups)
	})
}

// unreserve gives up the reservation of a lease.
func (l *loop) unreserve(ctx context.Context, one *Lease, id lease.ID) error {
	found, err := reservation.Release(ctx, l.command.Cluster, l.command.Options.Config, id)
	if found {
		one.X.Event(report.Released, report.KindOrder, "", id.Order().String(), "")
	}
	return err
}

// put applies an object over the one that was seen, after its manager has taken over fields of others.
func (l *loop) put(ctx context.Context, g lease.Group, on engine.OfRendered, answer *engine.Answer) (err error) {
	if on.Again {
		ctx = cluster.Anew(ctx)
	}
	over := on.Over
	if on.Taken != nil {
		if over, err = l.command.Cluster.As(lease.FieldManager).SetManagers(ctx, on.Apply.Kind, on.Taken); err != nil {
			return l.refused(err, "patch", on.Apply.Kind, answer)
		}
	}
	meta, made, err := l.command.Cluster.As(on.Manager).ApplyOver(ctx, on.Apply, over, on.Force)
	if err != nil {
		return l.refused(err, "patch", on.Apply.Kind, answer)
	}
	answer.Live, answer.Made = applied(on.Apply, meta), made
	if id, ok := lease.IDFromLabels(meta.Labels); ok && id.Group() == g {
		l.command.Cluster.Cache.Memory.Own(listed.VersionOf(meta))
	}
	return nil
}

// refused tells what an error says of an object.
func (l *loop) refused(err error, verb string, kind kinds.Kind, answer *engine.Answer) error {
	answer.Unclear = cluster.IsUnclear(err)
	answer.Stale = answer.Unclear || cluster.IsOvertaken(err)
	if answer.Owned = cluster.IsOwned(err); answer.Owned {
		answer.Managers = cluster.Owners(err)
		return err
	}
	return l.command.Cluster.Explain(err, verb, kind.Resource())
}

// applied returns an object as it was sent, with the metadata of the answer.
func applied(o render.Object, meta *metav1.PartialObjectMetadata) *unstructured.Unstructured {
	live := render.Rendered(o)
	live.SetUID(meta.UID)
	live.SetResourceVersion(meta.ResourceVersion)
	live.SetGeneration(meta.Generation)
	live.SetLabels(meta.Labels)
	live.SetAnnotations(meta.Annotations)
	live.SetManagedFields(meta.ManagedFields)
	live.SetFinalizers(meta.Finalizers)
	live.SetDeletionTimestamp(meta.DeletionTimestamp)
	live.SetCreationTimestamp(meta.CreationTimestamp)
	return live
}

// check sends an apply, or a create, as a dry run. Webhooks that know no dry runs say nothing.
func (l *loop) check(ctx context.Context, on engine.OfRendered, answer *engine.Answer) error {
	c := l.command.Cluster
	verb, ask := "patch", func() error { return c.As(on.Manager).Refusal(ctx, on.Apply, on.Over, on.Taken) }
	if on.Makes {
		verb, ask = "create", func() error { return c.As(on.Manager).CreateRefusal(ctx, on.Apply) }
	}
	err := ask()
	switch {
	case err == nil, apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run"):
		return nil
	case on.Apply.Kind == kinds.RoleBinding && apierrors.IsNotFound(err): // its Role, by which it is judged, is written before it
		return nil
	}
	return l.refused(err, verb, on.Apply.Kind, answer)
}

// create creates an object; made is false if it exists already. After an answer that does not tell whether it took effect, the
// request is sent again, and an object that exists then counts as created.
func (l *loop) create(ctx context.Context, on engine.OfRendered) (made bool, err error) {
	c, unclear := l.command.Cluster, false
	tried := c.Retry(ctx, func(ctx context.Context) (bool, error) {
		err = c.As(on.Manager).Create(ctx, on.Apply)
		made = err == nil || unclear && apierrors.IsAlreadyExists(err)
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		unclear = unclear || cluster.IsUnclear(err)
		return err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil, nil
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", on.Apply, c.Explain(err, "create", on.Apply.Kind.Resource()))
	}
	return made, cmp.Or(err, tried)
}

// touch changes the resource version of an object of another deployment that stays as it is. It does nothing to an object that is gone,
// or that another deployment has got.
func (l *loop) touch(ctx context.Context, o observed.Object, mark string) error {
	c := l.command.Cluster
	err := c.Rewrite(ctx, o.Kind, o.Live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		if !state.SameTenant(o.Live, now) {
			return nil, nil //nolint:nilnil // the transfer has given it to the new lease
		}
		return func(ctx context.Context) error {
			return c.As(observed.ManagerOf(o.Kind, o.Group)).Annotate(ctx, o.Kind, now, lease.AnnotationTaken, mark)
		}, nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
