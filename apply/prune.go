package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// owned is an object of a lease that this program wrote.
type owned struct {
	kind  render.Kind
	live  *unstructured.Unstructured
	group lease.Group
}

// prune removes what the lease no longer defines: objects first, the claims they rest on last.
func (r *run) prune(ctx context.Context, desired []render.Object) error {
	removed, err := r.pruneObjects(ctx, r.snapshot, desired)
	if err != nil {
		return err
	}
	if err := r.awaitUnserved(ctx, r.snapshot, func(c *state.Claim, p state.Part) bool { return !r.wants(c, p) }); err != nil {
		return err
	}
	if err := r.removeStrays(ctx, desired); err != nil {
		return err
	}
	if err := r.awaitGone(ctx, recordsAmong(removed)); err != nil {
		return err
	}
	drop := func(c *state.Claim, p state.Part) bool { return !r.wants(c, p) && r.knows(c.Name(), p) }
	if err := r.removeFormer(ctx, drop, Pruned); err != nil {
		return err
	}
	return r.leaveSeen(ctx, Pruned, func(ctx context.Context, now *snapshot) (func(*state.Claim, state.Part) bool, error) {
		_, err := r.pruneObjects(ctx, now, desired)
		return drop, err
	}, drop)
}

// pruneObjects removes the objects of a snapshot that the lease no longer defines.
func (r *run) pruneObjects(ctx context.Context, s *snapshot, desired []render.Object) (removed []owned, err error) {
	keep := map[string]bool{}
	for _, o := range desired {
		keep[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
	}
	going, err := r.keepForOthers(ctx, slices.DeleteFunc(slices.Clone(s.written[r.group]), func(o owned) bool {
		return keep[o.kind.Plural+"/"+o.live.GetNamespace()+"/"+o.live.GetName()] || r.removed[o.live.GetUID()] || r.stays(o)
	}))
	if err != nil {
		return nil, err
	}
	for _, o := range going {
		if err := r.removeWhile(ctx, o, Pruned, "", r.unwanted(o)); err != nil {
			return removed, err
		}
		removed = append(removed, o)
	}
	return removed, nil
}

// leaveSeen gives up parts of claims of the run's group. What a claim stands for may have changed since
// the run has read: so all of the group is read again, the claims first, and dealt with (see), and the
// parts are given up only as they were read then. Candidate says whether there may be any.
func (r *run) leaveSeen(ctx context.Context, action Action,
	see func(context.Context, *snapshot) (drop func(*state.Claim, state.Part) bool, err error), candidate func(*state.Claim, state.Part) bool,
) error {
	if !slices.ContainsFunc(r.snapshot.held[r.group], func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(r.group), func(p state.Part) bool { return candidate(c, p) })
	}) {
		return nil
	}
	if r.opts.DryRun != "" {
		return r.leaveClaims(ctx, r.snapshot, candidate, action)
	}
	for tries := 0; ; tries++ {
		now, err := r.look(ctx, r.snapshot, r.group)
		if err != nil {
			return err
		}
		drop, err := see(ctx, now)
		if err != nil {
			return err
		}
		if err = r.leaveClaims(ctx, now, drop, action); !errors.Is(err, ledger.ErrAgain) || tries == looks {
			return err
		}
	}
}

// looks bounds how often all of a lease is looked at again because something of it has changed.
const looks = 10

// removeStrays deletes the routes and Services that this program wrote for other leases and that
// serve what the run holds: a transfer's old routes, or those of a run that stood still, was
// overtaken, and wrote on.
func (r *run) removeStrays(ctx context.Context, desired []render.Object) error {
	wanted := map[string]bool{}
	for _, o := range desired {
		wanted[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
	}
	gone := map[*unstructured.Unstructured]bool{}
	for _, h := range r.sortedHolds() {
		for _, o := range r.snapshot.serving[h.want.Name()] {
			key := o.kind.Plural + "/" + o.live.GetNamespace() + "/" + o.live.GetName()
			if o.group == r.group || wanted[key] || gone[o.live] || !strays(o, h) || r.snapshot.operators.moves(o) || r.awaited(o, h) || r.stays(o) {
				continue
			}
			gone[o.live] = true
			if err := r.removeWhile(ctx, o, Pruned, "", r.strayFrom(o)); err != nil {
				return err
			}
		}
	}
	r.followed = true
	return nil
}

// awaited is true for an object that serves a part of which the run knows no route yet.
func (r *run) awaited(o owned, h *held) bool {
	return slices.ContainsFunc(h.claim.FormerOf(o.group), func(p state.Part) bool {
		return slices.Contains(r.routeless[h.want.Name()], p.Key) && standsFor(o, h.claim, p)
	})
}

// strays is true for an object of another group that serves a path of a host or a port of an address
// which the run holds, or a host of which the run holds a part and that group none.
func strays(o owned, h *held) bool {
	if o.kind != render.Service {
		return len(h.claim.PartsOf(o.group)) == 0 || slices.ContainsFunc(state.HostUses(o.live), func(u state.Use) bool {
			return slices.ContainsFunc(h.want.Parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
		})
	}
	return slices.ContainsFunc(h.want.Parts, func(p state.Part) bool { return servesPort(o.live, p) })
}

// servesPort is true for a Service that has the port that the part stands for.
func servesPort(service *unstructured.Unstructured, p state.Part) bool {
	protocol, port := p.ProtocolPort()
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	return slices.ContainsFunc(ports, func(v any) bool {
		m, ok := v.(map[string]any)
		return ok && m["protocol"] == string(protocol) && m["port"] == int64(port)
	})
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// remove deletes one object that has not changed hands since it was read.
func (r *run) remove(ctx context.Context, o owned, action Action) error {
	return r.removeWhile(ctx, o, action, "", ofTenant(o.live))
}

// removeWhile deletes one object while it may go, with a reason to tell. What the run has removed already
// is left alone.
func (r *run) removeWhile(ctx context.Context, o owned, action Action, why string, goes mayGo) error {
	if r.removed[o.live.GetUID()] {
		return nil
	}
	if r.snapshot.stays(o) {
		if may, err := goes(ctx, o.live); err != nil || !may {
			return err
		}
		r.removed[o.live.GetUID()] = true
		return r.withdraw(ctx, o)
	}
	return r.deleteWhile(ctx, o, action, why, goes)
}

// removeAsRead deletes a route, whoever wrote it, only if it is unchanged since it was read; message goes
// into the event, hint into the error.
func (r *run) removeAsRead(ctx context.Context, o owned, message, hint string) error {
	return r.deleteWhile(ctx, o, Deleted, message, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if !sameRoute(now, o.live) {
			return false, fmt.Errorf("%s %s/%s was changed meanwhile; it stays, and %s", o.kind.Singular, now.GetNamespace(), now.GetName(), hint)
		}
		return true, nil
	})
}

// sameTenant is true for an object that has not changed hands between two readings: a transfer leaves
// a ProviderHost its UID.
func sameTenant(before, now *unstructured.Unstructured) bool {
	old, had := lease.IDFromLabels(before.GetLabels())
	id, has := lease.IDFromLabels(now.GetLabels())
	return had == has && old.Group() == id.Group()
}

// deleteWhile deletes an object while it may go, pinned to what was read before that was asked. One that
// has changed since is read again, and decided on anew.
func (r *run) deleteWhile(ctx context.Context, o owned, action Action, told string, goes mayGo) error {
	live := o.live
	err := wait.ExponentialBackoffWithContext(ctx, ledger.Retries, func(ctx context.Context) (bool, error) {
		if may, err := goes(ctx, live); err != nil || !may {
			return err == nil, err
		}
		if err := r.change(func() plan.Change { return plan.Remove(o.kind.Singular, live, told) }); err != nil {
			return false, err
		}
		if r.opts.DryRun == DryRunClient {
			r.removed[live.GetUID()] = true
			r.event(action, o.kind.Singular, live.GetNamespace(), live.GetName(), told)
			return true, nil
		}
		err := r.cluster.DeletePinned(ctx, o.kind, live.GetNamespace(), live.GetName(), live.GetUID(), live.GetResourceVersion(), r.opts.DryRun == DryRunServer)
		if err == nil {
			r.removed[live.GetUID()] = true
			r.event(action, o.kind.Singular, live.GetNamespace(), live.GetName(), told)
			return true, nil
		}
		if !cluster.IsOvertaken(err) && !cluster.IsUnclear(err) {
			return false, r.cluster.Explain(err, "delete", o.kind.Resource())
		}
		now, err := r.cluster.Get(ctx, o.kind, live.GetNamespace(), live.GetName())
		if err != nil {
			return false, err
		}
		if now == nil || now.GetUID() != live.GetUID() {
			return true, nil
		}
		live = now
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s/%s changes faster than it can be deleted; try again", o.kind.Singular, live.GetNamespace(), live.GetName())
	}
	return err
}

// withdraw takes back what this program wrote on an object that Akash's provider made, which stays. What
// this program made and Akash's operator keeps is left as it is: most of its fields are only ours, and
// would go with them.
func (r *run) withdraw(ctx context.Context, o owned) error {
	if r.opts.DryRun == "" && r.snapshot.ownership(o.live).Declared {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(o.kind.GroupVersionKind)
		empty.SetNamespace(o.live.GetNamespace())
		empty.SetName(o.live.GetName())
		empty.SetUID(o.live.GetUID())
		object := render.Object{Kind: o.kind, Namespace: o.live.GetNamespace(), Name: o.live.GetName(), Config: empty}
		if _, _, err := r.patchAs(ctx, object, managerOf(o.kind, o.group)); err != nil && !cluster.IsOvertaken(err) {
			return r.cluster.Explain(err, "patch", o.kind.Resource())
		}
	}
	r.event(Left, o.kind.Singular, o.live.GetNamespace(), o.live.GetName(), "Akash's provider declares it too")
	return nil
}

// leaveClaims gives up the parts for which drop says so, of all claims of a snapshot on which the group
// holds any: each as it was read.
func (r *run) leaveClaims(ctx context.Context, s *snapshot, drop func(*state.Claim, state.Part) bool, action Action) error {
	var claims []*state.Claim
	for _, c := range s.held[r.group] {
		if slices.ContainsFunc(c.Entries(r.group), func(p state.Part) bool { return drop(c, p) }) {
			claims = append(claims, c)
		}
	}
	slices.SortFunc(claims, func(a, b *state.Claim) int { return -stateCompare(a, b) })
	for _, c := range claims {
		used, by, err := r.usedParts(ctx, c)
		if err != nil {
			return err
		}
		unused := func(p state.Part) bool { return drop(c, p) && !used[p.Key] }
		if kept := slices.ContainsFunc(c.PartsOf(r.group), func(p state.Part) bool { return drop(c, p) && used[p.Key] }); kept {
			r.kept = append(r.kept, KeptThing{Kind: c.Kind, Thing: c.Thing, Objects: by})
			r.event(Left, string(c.Kind), "", c.Thing, "Akash's provider declares it: "+strings.Join(by, ", "))
		}
		if !slices.ContainsFunc(c.Entries(r.group), unused) {
			continue
		}
		if err := r.leaveClaim(ctx, c, unused, action); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) leaveClaim(ctx context.Context, c *state.Claim, drop func(state.Part) bool, action Action) error {
	if c.Kind == state.Address && r.opts.Config.IP.Mode == config.ModeDedicated && !slices.ContainsFunc(c.Parts, func(p state.Part) bool {
		return p.Lease.Group() != r.group || !drop(p)
	}) {
		if err := r.pools.remove(ctx, r, c.Addr(), action); err != nil {
			return err
		}
	}
	if err := r.change(claimOf(plan.GiveUp, c, c.PartsOf(r.group), slices.DeleteFunc(c.PartsOf(r.group), drop))); err != nil {
		return err
	}
	if r.opts.DryRun == DryRunClient {
		r.event(action, string(c.Kind), "", c.Thing, "")
		return nil
	}
	now, left, err := r.ledger.Leave(ctx, c, r.group, drop)
	if err != nil {
		return fmt.Errorf("%s %s could not be released: %w", c.Kind, c.Thing, err)
	}
	if h := r.holds[c.Name()]; h != nil && now != nil {
		h.claim = now
	}
	if left {
		r.event(action, string(c.Kind), "", c.Thing, "")
	}
	return nil
}

func stateCompare(a, b *state.Claim) int {
	return state.Hold{Kind: a.Kind, Thing: a.Thing}.Compare(state.Hold{Kind: b.Kind, Thing: b.Thing})
}
