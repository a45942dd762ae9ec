package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// edit is one write of an object: what a field manager applies, whoever has set that, or a patch of the object, or of a subresource. A zero
// one writes nothing.
type edit struct {
	manager     string
	applies     *unstructured.Unstructured
	patch       map[string]any
	subresource []string
}

// editing returns the write of an object as it is now.
type editing func(*repair, *state.Fix, *unstructured.Unstructured) (edit, error)

// edits are the writes of an object that fix a problem, one after the other. The first one is pinned to the object as the problem was found,
// the others to what it said when the one before had been written.
func edits(all ...editing) func(*repair, context.Context, *state.Fix) error {
	return func(r *repair, ctx context.Context, f *state.Fix) error { return r.edit(ctx, f, all) }
}

// edit fixes a problem by writes of an object.
func (r *repair) edit(ctx context.Context, f *state.Fix, all []editing) error {
	kind, live := kinds.Of(f.Object().Kind), r.live(f.Object())
	for i, of := range all {
		unclear := false
		err := r.command.Cluster.Rewrite(ctx, kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
			e, err := of(r, f, now)
			same := now.GetResourceVersion() == live.GetResourceVersion() || i > 0 && engine.SameRoute(now, live) // a controller writes the status
			switch done := e.patch == nil && (e.applies == nil || plan.Unchanged(cluster.Applicable(kind, e.applies), now, e.manager)); {
			case !same && (!unclear || !done):
				return nil, report.ErrChanged
			case err != nil || done:
				return nil, err
			}
			return func(ctx context.Context) error {
				err := r.send(ctx, kind, now, e)
				unclear = unclear || err != nil && cluster.IsUnclear(err)
				return err
			}, nil
		})
		if err != nil {
			return asChanged(err)
		}
		now, err := r.command.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err
		}
		live, r.snapshot = now, r.snapshot.With(kind, now.GetNamespace(), now.GetName(), now) // other fixes of the object write over that
	}
	return nil
}

// send sends an edit, pinned to the object as it is now.
func (r *repair) send(ctx context.Context, kind kinds.Kind, now *unstructured.Unstructured, e edit) error {
	c, resource := r.command.Cluster, kind.Resource()
	if e.applies != nil {
		_, _, err := c.As(e.manager).ApplyOver(ctx, cluster.Applicable(kind, e.applies), now, true)
		return c.Explain(err, "patch", resource)
	}
	resource.Resource = strings.Join(append([]string{resource.Resource}, e.subresource...), "/")
	return c.Explain(c.As(lease.FieldManager).MergePinned(ctx, kind, now, e.patch, e.subresource...), "patch", resource)
}

// rewriteRoute sets the backend of a route to that of the claim, and leaves everything else.
func rewriteRoute(_ *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	o := executor.Applied(now)
	if err := state.SetBackend(o, f.Part.Service, f.Part.Port); err != nil {
		return edit{}, fmt.Errorf("%s %s/%s: %w", f.Object().Kind, now.GetNamespace(), now.GetName(), err)
	}
	return edit{manager: lease.FieldManager, applies: o}, nil
}

// asks changes one of the annotations by which a Service asks MetalLB for something, and leaves everything else.
func asks(annotation string) editing {
	return func(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
		o := executor.AppliedOnly(now)
		annotations := o.GetAnnotations()
		annotations[r.command.Options.Config.IP.AnnotationPrefix+"/"+annotation] = cmp.Or(f.Value, f.Address.String())
		o.SetAnnotations(annotations)
		return edit{manager: lease.FieldManager, applies: o}, executor.LeaveGiven(o, now)
	}
}

// dropOtherGrant removes the grant of another address of the family than the one that a Service asks for.
func dropOtherGrant(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	uses := state.AddressUses(now)
	if !slices.ContainsFunc(uses, func(u state.Use) bool { return !u.Granted && u.Address == f.Address }) {
		return edit{}, report.ErrChanged
	}
	if !slices.ContainsFunc(uses, func(u state.Use) bool {
		return u.Granted && u.Address != f.Address && u.Address.BitLen() == f.Address.BitLen()
	}) {
		return edit{}, nil
	}
	return dropGrant(r, f, now)
}

// dropGrant removes the granted addresses from a Service's status. The load balancer then grants what the Service asks for.
func dropGrant(_ *repair, _ *state.Fix, now *unstructured.Unstructured) (edit, error) {
	if !slices.ContainsFunc(state.AddressUses(now), func(u state.Use) bool { return u.Granted }) {
		return edit{}, nil
	}
	return edit{patch: map[string]any{"status": map[string]any{"loadBalancer": nil}}, subresource: []string{"status"}}, nil
}

// clearReports removes stale reports from a route's status.
func clearReports(r *repair, _ *state.Fix, now *unstructured.Unstructured) (edit, error) {
	field, kept := state.WithoutStale(now, r.routers)
	if entries, _, _ := unstructured.NestedSlice(now.Object, "status", field); len(kept) == len(entries) {
		return edit{}, nil
	}
	return edit{patch: map[string]any{"status": map[string]any{field: kept}}, subresource: []string{"status"}}, nil
}

// dropManagedFields removes managed fields of other API versions from an object: the API server fails every apply because of them
// (kubernetes/kubernetes#111937).
func dropManagedFields(_ *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	kept, dropped := managed.OfVersion(now, kinds.Of(f.Object().Kind).GroupVersion())
	if dropped == 0 {
		return edit{}, nil
	}
	if len(kept) == 0 {
		kept = []metav1.ManagedFieldsEntry{{}} // the API server ignores an empty list
	}
	return edit{patch: map[string]any{"metadata": map[string]any{"managedFields": kept}}}, nil
}

// restoreMarks applies an object as it is, with the marks that it has lost.
func restoreMarks(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	whose, kind := r.snapshot.Ownership(now), kinds.Of(f.Object().Kind)
	if len(whose.Lost) == 0 {
		return edit{}, nil
	}
	manager := observed.ManagerOf(kind, whose.Lease.Group())
	o, err := executor.Marked(kind, now, whose.Lease, manager, f.Value)
	return edit{manager: manager, applies: o}, err
}

// openLedger opens the ledger that an uninstall has closed, unless the uninstall works by now.
func (r *repair) openLedger(ctx context.Context, f *state.Fix) error {
	now, err := r.command.Ledger.Announcements.Get(ctx, f.Value)
	if err != nil {
		return err
	}
	if now != nil && !now.Dead(r.command.Cluster.Now(), r.asked.CrashedAfter) {
		return report.ErrChanged
	}
	return r.command.Ledger.Announcements.OpenAfter(ctx, f.Value)
}

// drop deletes an object of the ledger that is as it was read.
func (r *repair) drop(ctx context.Context, f *state.Fix) error {
	o, l := f.Object(), r.command.Ledger.Objects
	return asChanged(l.Until(ctx, func(ctx context.Context) error { return l.Delete(ctx, o.Name, types.UID(o.UID), o.ResourceVersion) }))
}

// forget drops a stored definition, unless its lease holds something again.
func (r *repair) forget(ctx context.Context, f *state.Fix) error {
	claims, err := r.command.Ledger.ListOwner(ctx, f.Group.Owner)
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(claims, func(c *state.Claim) bool { return len(c.Entries(f.Group)) > 0 }):
		return report.ErrChanged
	}
	return r.drop(ctx, f)
}

// ownParts makes the managers of the leases own their parts of a claim again.
func (r *repair) ownParts(ctx context.Context, f *state.Fix) (err error) {
	c := f.Parts.Claim
	for _, g := range f.Parts.Claim.Unmanaged {
		if c, err = r.command.Ledger.Seize(ctx, c, g, c.Entries(g)); err != nil {
			return asChanged(err)
		}
	}
	return nil
}

// asChanged returns ErrChanged for an error which says that a claim or an object is not as it was read.
func asChanged(err error) error {
	if errors.Is(err, ledger.ErrAgain) || errors.Is(err, cluster.ErrMoving) || cluster.IsOvertaken(err) {
		return report.ErrChanged
	}
	return err
}

// checkClaims returns ErrChanged if the claims by which a problem was found have changed.
func (r *repair) checkClaims(ctx context.Context, thing string) error {
	if strings.Contains(thing, "/") { // an object, or a lease
		return nil
	}
	names := []string{state.HostName(thing)}
	if a, err := netip.ParseAddr(thing); err == nil {
		names = []string{state.AddressName(a)}
	} else if strings.Contains(thing, "-ip-") { // a sharing key, if not a host
		names = append(names, state.EndpointName(thing))
	}
	if over := state.WildcardOver(thing); over != "" && r.snapshot.Claim(names[0]) == nil {
		names = append(names, state.HostName(over))
	}
	for _, name := range names {
		switch now, err := reading.ReadClaim(ctx, r.command.Ledger, name); {
		case err != nil:
			return err
		case !now.SaysAs(r.snapshot.Claim(name)):
			return report.ErrChanged
		}
	}
	return nil
}

// makePool creates the pool of an address: the configured one, or one for this address alone.
func (r *repair) makePool(ctx context.Context, f *state.Fix) error {
	cfg, out := *r.command.Options.Config, &engine.Write{}
	if f.Alone {
		cfg.IP.Mode, cfg.IP.Ranges = config.ModeDedicated, config.Ranges{}
	}
	objects, err := r.snapshot.PoolsFor(&cfg, render.Addresses{"": []netip.Addr{f.Address}})
	for _, o := range objects {
		out.Objects = append(out.Objects, engine.Desired{Object: o, Manager: lease.FieldManager})
	}
	if err == nil {
		_, err = r.work(ctx, engine.Want{Write: out})
	}
	return err
}

// narrow removes addresses from one of this program's pools, and deletes a pool without addresses.
func (r *repair) narrow(ctx context.Context, f *state.Fix) error {
	pool, c := f.Object(), r.command.Cluster
	live, err := c.Get(ctx, kinds.IPAddressPool, pool.Namespace, pool.Name) // another repair may have written it
	if err != nil || live == nil || string(live.GetUID()) != pool.UID {
		return err
	}
	if f.Unused { // after the pool, to which the write is pinned
		_, now, err := reading.Addresses(ctx, c, r.command.Options.Config.LedgerNamespace)
		if err != nil {
			return err
		}
		for _, a := range now.InUse() {
			if slices.ContainsFunc(f.Ranges, func(x config.Range) bool { return x.Contains(a) }) {
				return report.ErrChanged
			}
		}
	}
	rest, changed := state.AddressesWithout(live, f.Ranges)
	switch {
	case !changed:
		return nil
	case len(rest) > 0:
		o := executor.Applied(live)
		if err := unstructured.SetNestedSlice(o.Object, rest, "spec", "addresses"); err != nil {
			return err
		}
		return asChanged(r.send(ctx, kinds.IPAddressPool, live, edit{manager: lease.FieldManager, applies: o}))
	}
	// The pool goes first: while its addresses may be used, it is announced.
	if err = c.DeletePinned(ctx, kinds.IPAddressPool, pool.Namespace, pool.Name, live.GetUID(), live.GetResourceVersion()); err != nil {
		return asChanged(c.Explain(err, "delete", kinds.IPAddressPool.Resource()))
	}
	x := executor.New(command.New(c, r.options()), state.Request{})
	x.Snapshot = r.snapshot
	return x.RemoveAdvertisements(ctx, pool.Namespace, pool.Name, report.Deleted, func(ctx context.Context) (bool, error) {
		again, err := c.Get(ctx, kinds.IPAddressPool, pool.Namespace, pool.Name)
		return again == nil, err
	})
}
