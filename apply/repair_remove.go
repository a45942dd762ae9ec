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
func (r *repair) remove(ctx context.Context, work *run, m state.Mend) error {
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

// isAlone says that something serves by now what one of Akash's objects stands for, or that a run is
// under way.
func (r *repair) isAlone(ctx context.Context, live *unstructured.Unstructured) error {
	id, _ := lease.IDFromLabels(live.GetLabels())
	o := owned{kind: kinds.Of(live.GetKind()), live: live, group: id.Group()}
	now, err := r.look(ctx, r.snapshot, o.group)
	if err != nil {
		return err
	}
	grounds, err := readGrounds(ctx, r.ledger, o)
	if err != nil {
		return err
	}
	for _, g := range grounds {
		part := g.claim.Part(g.served.Key)
		if part != nil && part.Lease.Group() == o.group && part.Run != "" {
			return errChanged
		}
	}
	if o.kind == kinds.ProviderHost {
		if slices.ContainsFunc(now.hostUses[live.GetName()], func(u state.Use) bool { return u.Kind != o.kind.Singular }) {
			return errChanged
		}
		return nil
	}
	port := state.PortObjectOf(live)
	for _, s := range now.live[kinds.Service.Plural] {
		if is := state.ServiceObjectOf(s); is.Protocol == port.Protocol && is.Port == port.Port && is.Service == port.Service {
			return errChanged
		}
	}
	return nil
}

// removeRead deletes an object that this program wrote, as it was read.
func (r *repair) removeRead(ctx context.Context, work *run, ref state.ObjectRef) error {
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
func (r *repair) reject(ctx context.Context, work *run, m state.Mend) error {
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
