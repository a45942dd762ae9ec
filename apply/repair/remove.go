package repair

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// remove deletes objects that this program wrote, while the claims say of them what they did.
func (r *repair) remove(ctx context.Context, m state.DeleteObjects) error {
	work := r.runFor(m.Reserve.Group)
	for _, ref := range m.Delete {
		var err error
		switch live := r.live(ref); {
		case live == nil, slices.Contains(kinds.Records, kinds.Of(ref.Kind)):
		case m.Unserved:
			err = r.isAlone(ctx, live)
		default:
			err = r.isIdle(ctx, live)
		}
		if err != nil {
			return err
		}
		if err := r.removeRead(ctx, work, ref); err != nil {
			return err
		}
	}
	return nil
}

// isIdle says that the lease of an object holds what the object serves.
func (r *repair) isIdle(ctx context.Context, live *unstructured.Unstructured) error {
	id, _ := lease.IDFromLabels(live.GetLabels())
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: kinds.Of(live.GetKind()), Live: live, Group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g observed.Ground) bool { return g.Standing() == state.Entitled }) {
		err = report.ErrChanged
	}
	return err
}

// removeUnserved deletes what stands for a claim that is given up because nothing serves it. An operator of
// Akash's may route it meanwhile: until nothing is seen to serve it after the delete either, the claim stays.
func (r *repair) removeUnserved(ctx context.Context, work *mending, m state.LeaveParts, ref state.ObjectRef) error {
	live := r.live(ref)
	routed := live != nil && m.Namespace == "" && slices.Contains(kinds.ClaimLike, kinds.Of(ref.Kind))
	groups := []lease.Group{m.Parts.Group}
	for _, p := range m.Parts.Claim.PartsOf(m.Parts.Group) {
		if former, ok := p.Former(); ok {
			groups = append(groups, former)
		}
	}
	if routed {
		if err := r.isUnserved(ctx, live, groups...); err != nil {
			return err
		}
	}
	if err := r.removeRead(ctx, work, ref); err != nil || !routed {
		return err
	}
	return r.isUnserved(ctx, live, groups...)
}

// isAlone returns ErrChanged where something serves by now what one of Akash's objects stands for, or a run is
// under way.
func (r *repair) isAlone(ctx context.Context, live *unstructured.Unstructured) error {
	id, _ := lease.IDFromLabels(live.GetLabels())
	if err := r.isUnserved(ctx, live, id.Group()); err != nil {
		return err
	}
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: kinds.Of(live.GetKind()), Live: live, Group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g observed.Ground) bool {
		part := g.Claim.Part(g.Served.Key)
		return part != nil && part.Lease.Group() == id.Group() && part.Run != ""
	}) {
		err = report.ErrChanged
	}
	return err
}

// isUnserved returns ErrChanged where an object of one of the deployment groups serves by now what one of Akash's
// objects stands for.
func (r *repair) isUnserved(ctx context.Context, live *unstructured.Unstructured, groups ...lease.Group) error {
	for _, group := range groups {
		now, err := observed.Look(ctx, r.Command, r.snapshot, group)
		if err != nil {
			return err
		}
		if serves(now, live) {
			return report.ErrChanged
		}
	}
	return nil
}

// serves is true where something serves what one of Akash's objects stands for.
func serves(s *observed.Snapshot, declared *unstructured.Unstructured) bool {
	if kind := kinds.Of(declared.GetKind()); kind == kinds.ProviderHost {
		return slices.ContainsFunc(s.HostUses[declared.GetName()], func(u state.Use) bool { return u.Kind != kind.Singular })
	}
	port := state.PortObjectOf(declared)
	for _, o := range s.Live[kinds.Service.Plural] {
		if is := state.ServiceObjectOf(o); is.SharingKey == port.SharingKey && is.Protocol == port.Protocol && is.Port == port.Port {
			return true
		}
	}
	return false
}

// removeRead deletes an object that this program wrote, as it was read.
func (r *repair) removeRead(ctx context.Context, work *mending, ref state.ObjectRef) error {
	live := r.live(ref)
	if live == nil {
		return nil
	}
	id, _ := lease.IDFromLabels(live.GetLabels())
	return work.RemoveWhile(ctx, observed.Owned{Kind: kinds.Of(ref.Kind), Live: live, Group: id.Group()}, report.Deleted, "", func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if now.GetResourceVersion() != live.GetResourceVersion() {
			return false, report.ErrChanged
		}
		return true, nil
	})
}

// reject deletes routes, whoever wrote them, that say what they said when they were read. What Akash's provider
// has declared meanwhile stays.
func (r *repair) reject(ctx context.Context, m state.RejectObjects) error {
	work := r.runFor(m.Group)
	for _, ref := range m.Reject {
		if m.Undeclared != "" {
			kind, namespace := kinds.ProviderHost, r.Options.Config.ManifestNamespace
			if ref.Kind == kinds.Service.Singular {
				kind = kinds.ProviderLeasedIP
			}
			now, err := r.Cluster.Get(ctx, kind, namespace, m.Undeclared)
			if err != nil {
				return err
			}
			if was := r.snapshot.Live[kind.Plural][namespace+"/"+m.Undeclared]; executor.PinOf(was) != executor.PinOf(now) {
				return report.ErrChanged
			}
		}
		if live := r.live(ref); live != nil {
			if err := work.RemoveAsRead(ctx, observed.Owned{Kind: kinds.Of(ref.Kind), Live: live}, "", "its host is to be looked at again"); err != nil {
				return err
			}
		}
	}
	return nil
}
