package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/kinds"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// errChanged says that something is not as it was read: it is left for the next call.
var errChanged = errors.New("it has changed meanwhile; look again")

// runFor is a run that tells nothing of its own.
func (r *repair) runFor(g lease.Group) *run {
	work := r.newRun(nil, state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}})
	work.snapshot, work.pools, work.quiet = r.snapshot, newPools(r.Applier, r.snapshot), true
	return work
}

// live is an object as it was read, or nil.
func (r *repair) live(ref *state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.live[kindOf(*ref).Plural][ref.Namespace+"/"+ref.Name]
}

// do does the work of a mend. The note is what people have to do beside it.
func (r *repair) do(ctx context.Context, m state.Mend) (note string, err error) {
	work := r.runFor(m.Group)
	switch {
	case m.Leave != nil:
		return "", r.leave(ctx, work, m)
	case m.Unmark != nil:
		return "", unmark(ctx, r.ledger, m.Unmark, m.Group, func(p state.Part) bool { return slices.Contains(m.Keys, p.Key) })
	case m.Release != nil:
		return "", r.release(ctx, m.Release)
	case m.Discard != nil:
		return "", r.discard(ctx, m.Discard)
	case m.Take != nil:
		return "", work.takeServed(ctx, *m.Take)
	case m.Narrow != nil:
		return r.narrow(ctx, work, m)
	case m.Pool:
		return "", r.makePool(ctx, m)
	case m.Record != "":
		return "", work.rerecord(ctx, m.Record, m.Part)
	case m.Rewrite != nil:
		return "", work.rewrite(ctx, *m.Rewrite, m.Part)
	case m.Reshare != nil:
		return "", work.ask(ctx, *m.Reshare, "allow-shared-ip", m.SharingKey)
	case m.Reask != nil:
		return "", r.reask(ctx, work, m)
	case m.Regrant != nil:
		return "", dropGrant(ctx, r.cluster, r.live(m.Regrant))
	case m.Clear != nil:
		return "", clearReports(ctx, r.cluster, kindOf(*m.Clear), r.live(m.Clear), r.there)
	case m.Migrate != nil:
		return "", dropOldManagers(ctx, r.cluster, kindOf(*m.Migrate), r.live(m.Migrate))
	case len(m.Reject) > 0:
		return "", r.reject(ctx, work, m.Reject)
	}
	for _, also := range m.Also {
		if _, err := r.do(ctx, also); err != nil {
			return "", err
		}
	}
	return "", r.remove(ctx, work, m.Delete)
}

// leave gives up parts of a claim that are as they were read, with what stands for them. A run that
// only stood still may have ended meanwhile: what it holds is live.
func (r *repair) leave(ctx context.Context, work *run, m state.Mend) error {
	asRead := func(p state.Part) bool {
		was := m.Leave.Part(p.Key)
		return slices.Contains(m.Keys, p.Key) && was != nil && samePart(p, *was)
	}
	if len(m.Delete) > 0 {
		now, err := r.ledger.Get(ctx, m.Leave.Name())
		switch {
		case err != nil:
			return err
		case now != nil && slices.ContainsFunc(now.PartsOf(m.Group), func(p state.Part) bool { return slices.Contains(m.Keys, p.Key) && !asRead(p) }):
			return errChanged
		}
	}
	if err := r.remove(ctx, work, m.Delete); err != nil {
		return err
	}
	_, err := r.ledger.Leave(ctx, m.Leave.Name(), m.Group, asRead)
	return err
}

// remove deletes objects that this program wrote.
func (r *repair) remove(ctx context.Context, work *run, refs []state.ObjectRef) error {
	for _, ref := range refs {
		if live := r.live(&ref); live != nil {
			if err := work.remove(ctx, owned{kind: kindOf(ref), live: live}, Deleted); err != nil {
				return err
			}
		}
	}
	return nil
}

// reject deletes routes, whoever wrote them, that say what they said when they were read.
func (r *repair) reject(ctx context.Context, work *run, refs []state.ObjectRef) error {
	for _, ref := range refs {
		if live := r.live(&ref); live != nil {
			if err := work.removeAsRead(ctx, owned{kind: kindOf(ref), live: live}, "", "its host is to be looked at again"); err != nil {
				return err
			}
		}
	}
	return nil
}

// release gives up a claim for all that hold a part of it, as release does.
func (r *repair) release(ctx context.Context, c *state.Claim) error {
	for _, g := range c.Groups() {
		if err := r.runFor(g).release(ctx, newChoice([]string{c.Thing})); err != nil {
			return err
		}
	}
	return nil
}

// discard deletes an object of the ledger that is as it was read.
func (r *repair) discard(ctx context.Context, c *state.Claim) error {
	err := r.ledger.Delete(ctx, c)
	if !errors.Is(err, ledger.ErrAgain) {
		return err
	}
	now, err := r.ledger.Get(ctx, c.Name())
	switch {
	case err != nil:
		return err
	case now != nil && now.UID == c.UID:
		return errChanged
	}
	return nil
}

// takeServed claims what the lease serves already.
func (r *run) takeServed(ctx context.Context, want state.Hold) error {
	r.req.Lease = want.Parts[0].Lease
	r.group = r.req.Lease.Group()
	err := r.take(ctx, want)
	if err == nil {
		err = r.checkWildcards(ctx)
	}
	if err != nil {
		return r.giveUp(ctx, err)
	}
	return r.settle(ctx)
}

// reask lets a Service ask for an address, and takes the grant of another out of its status.
func (r *repair) reask(ctx context.Context, work *run, m state.Mend) error {
	if err := work.ask(ctx, *m.Reask, "loadBalancerIPs", m.Address.String()); err != nil {
		return err
	}
	err := wait.ExponentialBackoffWithContext(ctx, ledger.Retries, func(ctx context.Context) (bool, error) {
		now, err := r.cluster.Get(ctx, render.Service, m.Reask.Namespace, m.Reask.Name)
		if now == nil || err != nil {
			return err == nil, err
		}
		other := func(u state.Use) bool {
			return u.Granted && u.Address != m.Address && u.Address.BitLen() == m.Address.BitLen()
		}
		if !slices.ContainsFunc(state.AddressUses(now), other) {
			return true, nil
		}
		err = dropGrant(ctx, r.cluster, now)
		if errors.Is(err, errChanged) {
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return errChanged
	}
	return err
}

// makePool makes the pool of an address: the configured one, or one of it alone.
func (r *repair) makePool(ctx context.Context, m state.Mend) error {
	opts := r.opts
	if m.Alone {
		cfg := *opts.Config
		cfg.IP.Mode, cfg.IP.Ranges = config.ModeDedicated, config.Ranges{}
		opts.Config = &cfg
	}
	a := New(r.cluster, opts)
	work := a.newRun(nil, state.Request{})
	work.snapshot, work.pools, work.quiet = r.snapshot, newPools(a, r.snapshot), true
	work.addresses = render.Addresses{"": []netip.Addr{m.Address}}
	return work.pools.ensure(ctx, work)
}

func kindOf(ref state.ObjectRef) render.Kind {
	for _, k := range slices.Concat(kinds.OfLease, kinds.Records, kinds.Pools) {
		if k.Singular == ref.Kind {
			return k
		}
	}
	return render.Kind{}
}

// unmark ends the run of a group on a claim that stands as it was read.
func unmark(ctx context.Context, l ledger.Ledger, claim *state.Claim, group lease.Group, named func(state.Part) bool) error {
	entries := claim.Entries(group)
	for i := range entries {
		if named(entries[i]) {
			entries[i].Run = ""
		}
	}
	_, err := l.Put(ctx, claim, group, entries)
	if errors.Is(err, ledger.ErrAgain) {
		return errChanged
	}
	return err
}

// dropOldManagers takes managed fields of another API version out of an object: the API server
// fails every apply over them (kubernetes/kubernetes#111937).
func dropOldManagers(ctx context.Context, c *cluster.Cluster, kind render.Kind, live *unstructured.Unstructured) error {
	return wait.ExponentialBackoffWithContext(ctx, ledger.Retries, func(ctx context.Context) (bool, error) {
		kept, _ := managed.OfVersion(live, kind.GroupVersion())
		if len(kept) == 0 {
			kept = []metav1.ManagedFieldsEntry{{}} // an empty list would be taken for none given
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "managedFields": kept,
		}})
		if err != nil {
			return false, err
		}
		err = c.Write(ctx, func(write context.Context) error {
			_, err := c.Metadata.Resource(kind.Resource()).Namespace(live.GetNamespace()).Patch(write, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager})
			return err
		})
		if err == nil || !cluster.IsUnclear(err) || ctx.Err() != nil {
			return err == nil, err
		}
		now, err := c.Get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err == nil, err
		}
		live = now
		_, dropped := managed.OfVersion(live, kind.GroupVersion())
		return dropped == 0, nil // it may have taken effect
	})
}
