package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/kinds"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// madeObject is an object that a run has created.
type madeObject struct {
	object          render.Object
	uid             types.UID
	resourceVersion string
}

// namespaceKind is how a lease's namespace is written.
var namespaceKind = render.Kind{GroupVersionKind: cluster.Namespaces.GroupVersion().WithKind("Namespace"), Plural: "namespaces", Singular: "namespace", ClusterScoped: true}

// write brings the lease's objects into the cluster: the pools that its addresses need, its namespace, Akash's objects under the lease's own manager, then what serves traffic.
func (r *run) write(ctx context.Context, desired []render.Object) error {
	if len(desired) == 0 {
		return nil
	}
	if err := r.pools.ensure(ctx, r); err != nil {
		return err
	}
	if err := r.makeNamespace(ctx); err != nil {
		return err
	}
	for _, stage := range kinds.Stages {
		var objects []render.Object
		for _, o := range desired {
			if slices.Contains(stage, o.Kind) {
				objects = append(objects, o)
			}
		}
		if err := r.writeAll(ctx, r.leaveTheirs(objects)); err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes objects side by side and tells of them in their order. Once one is refused no
// other write begins; those under way end, so that it is known what has been made.
func (r *run) writeAll(ctx context.Context, objects []render.Object) error {
	actions := make([]Action, len(objects))
	group, groupCtx := parallel.WithContext(ctx)
	group.SetLimit(r.opts.Concurrency)
	for i, o := range objects {
		group.Go(func() (err error) {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			actions[i], err = r.writeObject(ctx, o)
			return err
		})
	}
	err := group.Wait()
	for i, o := range objects {
		if actions[i] != "" {
			r.event(actions[i], o.Kind.Singular, o.Namespace, o.Name, r.unchecked(o))
		}
	}
	return err
}

// makeNamespace makes the lease's namespace where it is missing. The provider makes it in the
// normal course; its labels are Akash's either way. One that is there is never written: who may change
// the labels of namespaces can pass for any tenant.
func (r *run) makeNamespace(ctx context.Context) error {
	name := r.req.Lease.Namespace()
	alive, exists := r.snapshot.namespaces[name]
	switch {
	case exists && !alive:
		return fmt.Errorf("namespace %s of lease %s is being deleted; apply again when it is gone", name, r.req.Lease)
	case exists:
		return nil
	}
	o := NamespaceOf(r.req.Lease)
	if err := r.change(plan.Write(o.Kind.Singular, cluster.Rendered(o).Object, nil, r.manager(o))); err != nil {
		return err
	}
	if r.opts.DryRun != DryRunClient {
		made, err := r.create(ctx, o)
		if err != nil || !made {
			return err
		}
	}
	r.event(Created, o.Kind.Singular, "", name, "")
	return nil
}

// NamespaceOf is the namespace of a lease, with the labels that Akash's provider gives it.
func NamespaceOf(id lease.ID) render.Object {
	name := id.Namespace()
	return render.Object{Kind: namespaceKind, Name: name, Config: corev1.Namespace(name).WithLabels(state.LeaseNamespaceLabels(id))}
}

// writeObject applies one object unless the cluster holds it already just so.
func (r *run) writeObject(ctx context.Context, o render.Object) (Action, error) {
	live := r.snapshot.find(o)
	o, touch := r.touched(o)
	if !touch && cluster.Unchanged(o, live, r.manager(o)) {
		return Unchanged, nil
	}
	if !touch { // else nothing changes but the run's nonce
		if err := r.change(plan.Write(o.Kind.Singular, cluster.Rendered(o).Object, live, r.manager(o))); err != nil {
			return "", err
		}
	}
	action, err := r.sendObject(ctx, o, live)
	if touch && action == Configured {
		action = Unchanged // as far as the definition goes
	}
	return action, err
}

// manager is the field manager under which the run writes an object.
func (r *run) manager(o render.Object) string { return managerOf(o.Kind, r.group) }

// managerOf is the field manager of an object of a deployment group: Akash's claim-like objects are
// written by the claimant, so that a second claimant's write is a conflict and not a silent overwrite.
func managerOf(kind render.Kind, group lease.Group) string {
	if slices.Contains(kinds.ClaimLike, kind) {
		return group.FieldManager()
	}
	return lease.FieldManager
}

// sendObject sends one object and says what became of it.
func (r *run) sendObject(ctx context.Context, o render.Object, live *unstructured.Unstructured) (Action, error) {
	action := Configured
	if live == nil {
		action = Created
	}
	if r.opts.DryRun == DryRunClient || r.unchecked(o) != "" {
		return action, nil
	}
	meta, made, err := r.patch(ctx, o)
	if r.only != nil && (cluster.IsOvertaken(err) || cluster.IsOwned(err)) {
		meta, made, err = r.patchMoved(ctx, o)
	}
	if err == nil && !made && (live == nil || meta.UID != live.GetUID()) && r.opts.DryRun == "" {
		return r.sendAgain(ctx, o)
	}
	if cluster.IsOwned(err) {
		var taken bool
		if taken, err = r.refused(ctx, o, err); err != nil {
			return "", err
		}
		if taken {
			return Configured, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", o, r.cluster.Explain(err, "patch", o.Kind.Resource()))
	}
	switch {
	case live == nil:
	case meta.ResourceVersion == live.GetResourceVersion():
		return Unchanged, nil
	case meta.UID != live.GetUID(): // it had gone meanwhile
		action = Created
	}
	if action == Created && !shared(o.Kind) {
		r.mu.Lock()
		r.made = append(r.made, madeObject{object: o, uid: meta.UID, resourceVersion: meta.ResourceVersion})
		r.mu.Unlock()
	}
	if action == Configured && !shared(o.Kind) && r.opts.DryRun == "" {
		r.mu.Lock()
		r.altered = append(r.altered, alteredObject{object: o, before: live, answer: meta})
		r.mu.Unlock()
	}
	return action, nil
}

// sendAgain applies an object that somebody else has made since the run has read: what has been written may
// have changed nothing of it, and the run's mark may be due. It is not the run's to take back.
func (r *run) sendAgain(ctx context.Context, o render.Object) (Action, error) {
	live, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil || live == nil {
		return Configured, err
	}
	if o, touch := r.touchedFrom(o, live); touch || !cluster.Unchanged(o, live, r.manager(o)) {
		if _, _, err = r.patch(ctx, o); err != nil {
			return "", fmt.Errorf("%s: %w", o, r.cluster.Explain(err, "patch", o.Kind.Resource()))
		}
	}
	return Configured, nil
}

// shared is true for what others may rely on as soon as it is there: it is not taken back.
func shared(kind render.Kind) bool {
	return kind == namespaceKind || slices.Contains(kinds.Pools, kind)
}

// unchecked says why the server cannot judge an object in a dry run.
func (r *run) unchecked(o render.Object) string {
	if _, exists := r.snapshot.namespaces[o.Namespace]; exists || r.opts.DryRun != DryRunServer || o.Namespace != r.req.Lease.Namespace() {
		return ""
	}
	return "not checked by the server: its namespace does not exist yet"
}

// refused deals with a conflict. On one of Akash's claim-like objects it means that somebody else
// got there first, unless that was another deployment of the same owner and the claim is ours: then
// the object is what a transfer has left behind, and is taken over, pinned to what was read.
func (r *run) refused(ctx context.Context, o render.Object, err error) (taken bool, _ error) {
	conflict := &ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	live, getErr := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if getErr != nil || live == nil {
		return false, conflict
	}
	conflict.Differs = !plan.Contains(live.Object, cluster.Rendered(o).Object)
	id, labelled := lease.IDFromLabels(live.GetLabels())
	// What Akash's provider has moved to this lease still has the fields of the deployment that had it.
	former := r.opts.DryRun == "" && labelled && id.Group() == r.group && slices.Contains(kinds.ClaimLike, o.Kind)
	if former {
		// Others may have written since the refusal: the managers that count are those of what was read.
		now := r.cluster.Refusal(ctx, o, r.manager(o), live)
		if now != nil && !cluster.IsOwned(now) {
			return false, conflict
		}
		conflict.Managers, conflict.Err = cluster.Owners(now), cmp.Or(now, err)
		former = r.ofFormer(conflict.Managers)
	}
	if former || r.adopts(o, live, id, labelled) {
		if err := r.stillHolds(ctx, o.Kind, live); err != nil {
			return false, err
		}
		err := r.seize(ctx, o, live)
		if cluster.IsOvertaken(err) || cluster.IsOwned(err) {
			return false, conflict
		}
		return err == nil, err
	}
	if !slices.Contains(kinds.ClaimLike, o.Kind) || labelled && id.Group() == r.group {
		return false, conflict
	}
	holder := state.Holder{Object: o.Kind.Singular + " " + o.Namespace + "/" + o.Name, Since: live.GetCreationTimestamp().Time}
	if labelled {
		holder.Owner, holder.Lease, holder.Namespace = id.Owner, id, id.Namespace()
	}
	kind := state.Host
	if o.Kind == render.ProviderLeasedIP {
		kind = state.Address
	}
	return false, &HeldError{Lease: r.req.Lease, Held: []HeldThing{{Kind: kind, Thing: o.Name, By: holder}}}
}

// ofFormer is true where nobody is in the way but other deployments of the owner.
func (r *run) ofFormer(managers []string) bool {
	return !slices.ContainsFunc(managers, func(manager string) bool {
		text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
		g, err := lease.ParseGroup(text)
		return !ours || err != nil || g.Owner != r.group.Owner
	})
}

// adopts is true for an object of the lease's own owner that this run may take over.
func (r *run) adopts(o render.Object, live *unstructured.Unstructured, id lease.ID, labelled bool) bool {
	if r.opts.DryRun != "" {
		return false
	}
	if labelled && id.Owner == r.group.Owner && id.Group() != r.group && slices.Contains(kinds.ClaimLike, o.Kind) {
		return r.snapshot.ownership(live).Ours || r.opts.Adopt
	}
	if !labelled {
		id, labelled = r.snapshot.tenants[live.GetNamespace()], true
	}
	return r.opts.Adopt && labelled && id.Owner == r.group.Owner
}

// retract deletes the objects that this run has created, as it has written them. The errors are of those
// that it could not delete.
func (r *run) retract(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(r.made) {
		if err := r.retractOne(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", m.object, err))
		}
	}
	r.made = nil
	return errors.Join(errs...)
}

// retractOne deletes an object as the run has written it. One that somebody has written since goes only
// while nobody else relies on it, and one that serves for another lease since a transfer stays.
func (r *run) retractOne(ctx context.Context, m madeObject) error {
	o, version := m.object, m.resourceVersion
	made := owned{kind: o.Kind, live: cluster.Rendered(o), group: r.group}
	made.live.SetUID(m.uid)
	unsure := r.unsure[o.String()]
	err := wait.ExponentialBackoffWithContext(ctx, ledger.Retries, func(ctx context.Context) (bool, error) {
		if going, err := r.keepForOthers(ctx, []owned{made}); err != nil || len(going) == 0 {
			return err == nil, err
		}
		if !unsure {
			err := r.cluster.DeletePinned(ctx, o.Kind, o.Namespace, o.Name, m.uid, version, false)
			if err == nil {
				r.unmakes(o.Kind)
				r.event(Deleted, o.Kind.Singular, o.Namespace, o.Name, "taken back")
				return true, nil
			}
			if !cluster.IsOvertaken(err) && (!cluster.IsUnclear(err) || ctx.Err() != nil) {
				return false, err
			}
		}
		unsure = false
		now, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if now == nil || err != nil || now.GetUID() != m.uid {
			r.unmakes(o.Kind)
			return err == nil, err
		}
		version = now.GetResourceVersion()
		mine, err := r.stillMine(ctx, m, now)
		if err == nil && !mine {
			r.event(Left, o.Kind.Singular, o.Namespace, o.Name, "somebody else relies on it by now")
		}
		return !mine, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("it changes faster than it can be deleted")
	}
	return err
}

// stillMine is true for an object that the run has made and on which nobody else relies: it is the
// lease's, of the run's definition, and of what it rests on the lease holds nothing but what has the
// run's mark, or is as the run has left it.
func (r *run) stillMine(ctx context.Context, m madeObject, now *unstructured.Unstructured) (bool, error) {
	id, labelled := lease.IDFromLabels(now.GetLabels())
	definition := cluster.Rendered(m.object).GetAnnotations()[lease.AnnotationDefinition]
	if !labelled || id.Group() != r.group || now.GetAnnotations()[lease.AnnotationDefinition] != definition {
		return false, nil
	}
	grounds, err := r.grounds(ctx, owned{kind: m.object.Kind, live: now, group: r.group})
	return err == nil && !slices.ContainsFunc(grounds, func(g ground) bool {
		return !r.leftAs(g.claim) && slices.ContainsFunc(g.claim.PartsOf(r.group), func(p state.Part) bool { return p.Run != r.nonce })
	}), err
}

// leftAs is true for a claim that is as the run has left it when it took its mark away.
func (r *run) leftAs(c *state.Claim) bool {
	if c == nil {
		return false
	}
	h := r.holds[c.Name()]
	return h != nil && h.settled != nil && h.settled.ResourceVersion == c.ResourceVersion
}
