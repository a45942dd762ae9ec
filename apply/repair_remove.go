package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// remove deletes objects that this program wrote, while the claims say of them what they did.
func (r *repair) remove(ctx context.Context, work *mending, m state.Mend) error {
	for _, ref := range m.Delete {
		var err error
		switch live := r.live(&ref); {
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
	grounds, err := readGrounds(ctx, r.ledger, owned{kind: kinds.Of(live.GetKind()), live: live, group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g ground) bool { return g.standing() == state.Entitled }) {
		err = errChanged
	}
	return err
}

// removeUnserved deletes what stands for a claim that is given up because nothing serves it. An operator of
// Akash's may route it meanwhile: until nothing is seen to serve it after the delete either, the claim stays.
func (r *repair) removeUnserved(ctx context.Context, work *mending, m state.Mend, ref state.ObjectRef) error {
	live := r.live(&ref)
	routed := live != nil && m.Namespace == "" && slices.Contains(kinds.ClaimLike, kinds.Of(ref.Kind))
	groups := []lease.Group{m.Group}
	for _, p := range m.Leave.PartsOf(m.Group) {
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

// isAlone returns errChanged where something serves by now what one of Akash's objects stands for, or a run is
// under way.
func (r *repair) isAlone(ctx context.Context, live *unstructured.Unstructured) error {
	id, _ := lease.IDFromLabels(live.GetLabels())
	if err := r.isUnserved(ctx, live, id.Group()); err != nil {
		return err
	}
	grounds, err := readGrounds(ctx, r.ledger, owned{kind: kinds.Of(live.GetKind()), live: live, group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g ground) bool {
		part := g.claim.Part(g.served.Key)
		return part != nil && part.Lease.Group() == id.Group() && part.Run != ""
	}) {
		err = errChanged
	}
	return err
}

// isUnserved returns errChanged where an object of one of the deployment groups serves by now what one of Akash's
// objects stands for.
func (r *repair) isUnserved(ctx context.Context, live *unstructured.Unstructured, groups ...lease.Group) error {
	for _, group := range groups {
		now, err := look(ctx, r.Command, r.snapshot, group)
		if err != nil {
			return err
		}
		if serves(now, live) {
			return errChanged
		}
	}
	return nil
}

// serves is true where something serves what one of Akash's objects stands for.
func serves(s *snapshot, declared *unstructured.Unstructured) bool {
	if kind := kinds.Of(declared.GetKind()); kind == kinds.ProviderHost {
		return slices.ContainsFunc(s.hostUses[declared.GetName()], func(u state.Use) bool { return u.Kind != kind.Singular })
	}
	port := state.PortObjectOf(declared)
	for _, o := range s.live[kinds.Service.Plural] {
		if is := state.ServiceObjectOf(o); is.SharingKey == port.SharingKey && is.Protocol == port.Protocol && is.Port == port.Port {
			return true
		}
	}
	return false
}

// removeRead deletes an object that this program wrote, as it was read.
func (r *repair) removeRead(ctx context.Context, work *mending, ref state.ObjectRef) error {
	live := r.live(&ref)
	if live == nil {
		return nil
	}
	id, _ := lease.IDFromLabels(live.GetLabels())
	return work.removeWhile(ctx, owned{kind: kinds.Of(ref.Kind), live: live, group: id.Group()}, Deleted, "", func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if now.GetResourceVersion() != live.GetResourceVersion() {
			return false, errChanged
		}
		return true, nil
	})
}

// reject deletes routes, whoever wrote them, that say what they said when they were read. What Akash's provider
// has declared meanwhile stays.
func (r *repair) reject(ctx context.Context, work *mending, m state.Mend) error {
	for _, ref := range m.Reject {
		if m.Undeclared != "" {
			kind, namespace := kinds.ProviderHost, r.opts.Config.ManifestNamespace
			if ref.Kind == kinds.Service.Singular {
				kind = kinds.ProviderLeasedIP
			}
			now, err := r.cluster.Get(ctx, kind, namespace, m.Undeclared)
			if err != nil {
				return err
			}
			if was := r.snapshot.live[kind.Plural][namespace+"/"+m.Undeclared]; pinOf(was) != pinOf(now) {
				return errChanged
			}
		}
		if live := r.live(&ref); live != nil {
			if err := work.removeAsRead(ctx, owned{kind: kinds.Of(ref.Kind), live: live}, "", "its host is to be looked at again"); err != nil {
				return err
			}
		}
	}
	return nil
}
