package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// remove deletes objects that this program wrote, if the claims still justify that. It checks that before it changes the
// claim, and again before each delete.
func (r *repair) remove(ctx context.Context, m *state.Fix) error {
	if m.Parts.Claim != nil {
		for _, ref := range m.Objects {
			if err := r.checkRemovable(ctx, m, ref); err != nil {
				return err
			}
		}
	}
	if err := r.keepReserved(ctx, m.Parts); err != nil {
		return err
	}
	for _, ref := range m.Objects {
		if err := r.checkRemovable(ctx, m, ref); err != nil {
			return err
		}
		if _, err := r.removeAsRead(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// checkRemovable returns ErrChanged if the claims do not justify any more that the object is deleted.
func (r *repair) checkRemovable(ctx context.Context, m *state.Fix, ref state.ObjectRef) error {
	switch live := r.live(ref); {
	case live == nil, slices.Contains(kinds.Records, kinds.Of(ref.Kind)):
		return nil
	case m.Unserved:
		return r.checkNothingServed(ctx, live, m.Parts.Group)
	default:
		return r.checkNotEntitled(ctx, live)
	}
}

// checkNotEntitled returns ErrChanged if the object's lease holds what the object serves.
func (r *repair) checkNotEntitled(ctx context.Context, live *unstructured.Unstructured) error {
	id := r.snapshot.Ownership(live).Lease
	grounds, err := reading.ReadGrounds(ctx, r.command.Ledger, observed.Object{Kind: kinds.Of(live.GetKind()), Live: live, Group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g observed.Ground) bool { return g.Standing() == state.Entitled }) {
		err = report.ErrChanged
	}
	return err
}

// checkNothingServed returns ErrChanged if something of its lease or of the holder serves what one of Akash's objects
// declares, or a run is under way.
func (r *repair) checkNothingServed(ctx context.Context, live *unstructured.Unstructured, holder lease.Group) error {
	id := r.snapshot.Ownership(live).Lease
	groups := []lease.Group{id.Group()}
	if holder != id.Group() {
		groups = append(groups, holder)
	}
	if err := r.checkUnserved(ctx, live, groups...); err != nil {
		return err
	}
	grounds, err := reading.ReadGrounds(ctx, r.command.Ledger, observed.Object{Kind: kinds.Of(live.GetKind()), Live: live, Group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g observed.Ground) bool {
		part := g.Claim.Part(g.Served.Key)
		return part != nil && slices.Contains(groups, part.Lease.Group()) && part.Run != ""
	}) {
		err = report.ErrChanged
	}
	return err
}

// checkUnserved returns ErrChanged if an object of one of the deployment groups serves what one of Akash's objects
// declares.
func (r *repair) checkUnserved(ctx context.Context, live *unstructured.Unstructured, groups ...lease.Group) error {
	now, err := reading.Look(ctx, r.command, r.snapshot, groups[0].Owner)
	if err == nil && serves(now, live, groups) {
		err = report.ErrChanged
	}
	return err
}

// serves reports whether something of the deployment groups serves what one of Akash's objects declares. A ProviderHost
// declares the root of its host alone.
func serves(s *observed.Snapshot, declared *unstructured.Unstructured, groups []lease.Group) bool {
	if kind := kinds.Of(declared.GetKind()); kind == kinds.ProviderHost {
		return slices.ContainsFunc(s.HostUses[declared.GetName()], func(u state.Use) bool {
			return slices.ContainsFunc(groups, u.Of) && u.Kind != kind.Singular && !u.Redirect && state.RouteKey(u.Path) == state.RouteKey("/")
		})
	}
	port := state.PortObjectOf(declared)
	for o := range s.Of(kinds.Service) {
		if is := state.ServiceObjectOf(o); slices.ContainsFunc(groups, is.Of) && is.SharingKey == port.SharingKey &&
			is.Protocol == port.Protocol && is.Port == port.Port {
			return true
		}
	}
	return false
}

// removeAsRead deletes an object that this program wrote, if it has not changed since it was read, and returns it. What Akash's
// provider or operators still need stays: only this program's fields are taken out of it.
func (r *repair) removeAsRead(ctx context.Context, ref state.ObjectRef) (deleted *unstructured.Unstructured, err error) {
	live := r.live(ref)
	if live == nil {
		return nil, nil //nolint:nilnil // nothing is deleted
	}
	return r.removeWhile(ctx, kinds.Of(ref.Kind), live, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if now.GetResourceVersion() != live.GetResourceVersion() {
			return false, report.ErrChanged
		}
		return true, nil
	})
}

// removeWhile is removeAsRead for an object that may have changed: mayGo says whether the version that is there may go.
func (r *repair) removeWhile(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, mayGo reading.MayGo) (deleted *unstructured.Unstructured, err error) {
	whose := r.snapshot.Ownership(live)
	group := whose.Lease.Group()
	switch stays := r.snapshot.Stays(kind, live); {
	case stays && whose.Declared:
		return nil, r.command.Cluster.LetGo(ctx, kind, live, observed.ManagerOf(kind, group))
	case stays:
		return nil, nil //nolint:nilnil // nothing is deleted
	}
	return r.delete(ctx, kind, live, mayGo)
}

// isVersion reports whether an object is as it was read. One that is being deleted counts as missing.
func isVersion(was, now *unstructured.Unstructured) bool {
	missing := func(o *unstructured.Unstructured) bool { return o == nil || o.GetDeletionTimestamp() != nil }
	if missing(was) || missing(now) {
		return missing(was) && missing(now)
	}
	return was.GetUID() == now.GetUID() && was.GetResourceVersion() == now.GetResourceVersion()
}

// delete deletes an object, whoever wrote it, if mayGo lets the version go that is there, and returns it.
func (r *repair) delete(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, mayGo reading.MayGo) (deleted *unstructured.Unstructured, err error) {
	deleted, err = r.command.Cluster.Remove(ctx, kind, live, mayGo)
	if errors.Is(err, cluster.ErrMoving) {
		err = &report.MovingError{Done: "deleted", Kind: kind.Singular, Namespace: live.GetNamespace(), Name: live.GetName(), Why: err.Error()}
	}
	return deleted, err
}

// awaitGone waits until finalizers have let go of deleted objects. until is the end of the message of a TimeoutError; it says
// what the wait delays.
func (r *repair) awaitGone(ctx context.Context, deleted []*unstructured.Unstructured, until string) error {
	deleted = slices.DeleteFunc(deleted, func(o *unstructured.Unstructured) bool { return o == nil || len(o.GetFinalizers()) == 0 })
	kept, err := r.stillThere(ctx, deleted, r.command.Options.Wait)
	if kept == nil {
		return err
	}
	return &report.TimeoutError{After: r.command.Options.Wait.Round(time.Millisecond), Waiting: []string{
		fmt.Sprintf("%s %s/%s to be gone (finalizers %v); %s", kinds.Of(kept.GetKind()).Singular, kept.GetNamespace(), kept.GetName(), kept.GetFinalizers(), until),
	}}
}

// stillThere waits for a time until deleted objects are gone, and returns one that is still there then.
func (r *repair) stillThere(ctx context.Context, deleted []*unstructured.Unstructured, limit time.Duration) (*unstructured.Unstructured, error) {
	if len(deleted) == 0 {
		return nil, nil //nolint:nilnil // none is there
	}
	kept := deleted[0]
	err := r.command.WaitUntil(ctx, limit, func(ctx context.Context) (bool, error) {
		for _, o := range deleted {
			now, err := r.command.Cluster.Get(ctx, kinds.Of(o.GetKind()), o.GetNamespace(), o.GetName())
			if err != nil {
				return false, err
			}
			if now != nil && now.GetUID() == o.GetUID() {
				kept = now
				return false, nil
			}
		}
		return true, nil
	})
	if errors.Is(err, report.ErrTimedOut) {
		return kept, nil
	}
	return nil, err
}

// reject deletes routes, whoever wrote them, that have not changed since they were read. It leaves those that Akash's
// provider has declared meanwhile.
func (r *repair) reject(ctx context.Context, m *state.Fix) error {
	if err := r.keepReserved(ctx, m.Parts); err != nil {
		return err
	}
	for _, ref := range m.Objects {
		if m.Undeclared != "" {
			kind, namespace := kinds.ProviderHost, r.command.Options.Config.ManifestNamespace
			if ref.Kind == kinds.Service.Singular {
				kind = kinds.ProviderLeasedIP
			}
			now, err := r.command.Cluster.Get(ctx, kind, namespace, m.Undeclared)
			if err != nil {
				return err
			}
			if was := r.snapshot.At(kind, namespace, m.Undeclared); !isVersion(was, now) {
				return report.ErrChanged
			}
		}
		live := r.live(ref)
		if live == nil {
			continue
		}
		if _, err := r.delete(ctx, kinds.Of(ref.Kind), live, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
			if !engine.SameRoute(now, live) {
				return false, fmt.Errorf("%s %s/%s was changed meanwhile; it stays, and its host is to be looked at again", ref.Kind, now.GetNamespace(), now.GetName())
			}
			return true, nil
		}); err != nil {
			return err
		}
	}
	return nil
}
