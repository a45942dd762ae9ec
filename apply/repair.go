package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Unmended says that problems are left which only people can decide on.
type Unmended struct{ Problems int }

func (e *Unmended) Error() string {
	return fmt.Sprintf("%d problems are left that need a hand; the lines above say which", e.Problems)
}

// Repair mends the problems that it can, each for itself, and says of the others what to do. It
// touches nothing that belongs to a live claim: each write is pinned to what was read, and what
// has changed since is left for the next call.
func (a *Applier) Repair(ctx context.Context, crashedAfter time.Duration) error {
	s, err := read(ctx, a.cluster, a.ledger, true, recordKinds...)
	if err != nil {
		return err
	}
	there, err := a.cluster.routers(ctx, s)
	if err != nil {
		return err
	}
	facts, err := s.facts(ctx, a, crashedAfter, there)
	if err != nil {
		return err
	}
	problems := state.Problems(facts)
	left := 0
	for _, p := range problems {
		e := Event{Time: time.Now(), Action: Repaired, Kind: p.Problem, Namespace: p.Namespace, Name: p.Thing, Message: p.Plan}
		switch {
		case p.Manual:
			left++
			e.Action, e.Message = Left, p.Message+"; "+p.Plan
		case a.opts.DryRun == "":
			if err := a.mend(ctx, s, p, there); err != nil {
				left++
				e.Action, e.Message = Left, fmt.Sprintf("%s failed: %v", p.Plan, err)
			}
		}
		a.send(e)
	}
	if left > 0 {
		return &Unmended{Problems: left}
	}
	return nil
}

func (a *Applier) mend(ctx context.Context, s *snapshot, p state.Problem, there state.Routers) error {
	m := p.Mend
	r := a.newRun(nil, state.Request{Lease: lease.ID{Owner: m.Group.Owner, DSeq: m.Group.DSeq, GSeq: m.Group.GSeq}})
	r.snapshot, r.pools, r.quiet = s, newPools(a, s), true
	for _, ref := range m.Delete {
		kind := kindOf(ref)
		if live := s.live[kind.Plural][ref.Namespace+"/"+ref.Name]; live != nil {
			if err := r.remove(ctx, owned{kind: kind, live: live}, Deleted); err != nil {
				return err
			}
		}
	}
	named := func(p state.Part) bool { return slices.Contains(m.Keys, p.Key) }
	switch {
	case m.Leave != nil:
		_, err := a.ledger.leave(ctx, m.Leave.Name(), m.Group, named)
		return err
	case m.Unmark != nil:
		return a.ledger.unmark(ctx, m.Unmark, m.Group, named)
	case m.Take != nil:
		r.req.Lease = m.Take.Parts[0].Lease
		r.group = r.req.Lease.Group()
		err := r.take(ctx, *m.Take)
		if err == nil {
			err = r.checkWildcards(ctx)
		}
		if err != nil {
			return r.giveUp(ctx, err)
		}
		return r.settle(ctx)
	case m.Pool.IsValid():
		r.addresses = render.Addresses{"": []netip.Addr{m.Pool}}
		return r.pools.ensure(ctx, r)
	case m.Record != "":
		return r.rerecord(ctx, m.Record, m.Part)
	case m.Rewrite != nil:
		return r.rewrite(ctx, *m.Rewrite, m.Part)
	case m.Reshare != nil:
		return r.reshare(ctx, *m.Reshare, m.SharingKey)
	case m.Clear != nil:
		kind := kindOf(*m.Clear)
		return a.cluster.clearReports(ctx, kind, s.live[kind.Plural][m.Clear.Namespace+"/"+m.Clear.Name], there)
	case m.Migrate != nil:
		return a.cluster.dropOldManagers(ctx, kindOf(*m.Migrate), s.live[kindOf(*m.Migrate).Plural][m.Migrate.Namespace+"/"+m.Migrate.Name])
	}
	return nil
}

func kindOf(ref state.ObjectRef) render.Kind {
	for _, k := range slices.Concat(leaseKinds, recordKinds) {
		if k.Singular == ref.Kind {
			return k
		}
	}
	return render.Kind{}
}

// unmark ends the run of a group on a claim that stands as it was read.
func (l ledger) unmark(ctx context.Context, claim *state.Claim, group lease.Group, named func(state.Part) bool) error {
	entries := claim.Entries(group)
	for i := range entries {
		if named(entries[i]) {
			entries[i].Run = ""
		}
	}
	_, err := l.put(ctx, claim, group, entries)
	if errors.Is(err, errAgain) {
		return errors.New("the claim has changed meanwhile: its run goes on")
	}
	return err
}

// dropOldManagers takes managed fields of another API version out of an object: the API server
// fails every apply over them (kubernetes/kubernetes#111937).
func (c *Cluster) dropOldManagers(ctx context.Context, kind render.Kind, live *unstructured.Unstructured) error {
	old := func(m metav1.ManagedFieldsEntry) bool { return m.APIVersion != kind.GroupVersion().String() }
	return wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		kept := slices.DeleteFunc(slices.Clone(live.GetManagedFields()), old)
		if len(kept) == 0 {
			kept = []metav1.ManagedFieldsEntry{{}} // an empty list would be taken for none given
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(), "managedFields": kept,
		}})
		if err != nil {
			return false, err
		}
		err = c.write(ctx, func(write context.Context) error {
			_, err := c.metadata.Resource(kind.Resource()).Namespace(live.GetNamespace()).Patch(write, live.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: lease.FieldManager})
			return err
		})
		if err == nil || !isUnclear(err) || ctx.Err() != nil {
			return err == nil, err
		}
		now, err := c.get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err == nil, err
		}
		live = now
		return !slices.ContainsFunc(live.GetManagedFields(), old), nil // it may have taken effect
	})
}
