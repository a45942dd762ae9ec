package apply

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"slices"
	"strings"

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
	case m.Follow != nil:
		return "", r.follow(ctx, m)
	case m.Unmark != nil:
		return "", r.unmark(ctx, m)
	case m.Release != nil:
		return "", r.release(ctx, m.Release)
	case m.Discard != nil:
		return "", r.discard(ctx, m.Discard)
	case m.Take != nil:
		err := work.takeServed(ctx, m)
		if now, unread := readClaim(ctx, r.ledger, m.Take.Name()); unread == nil {
			r.knows(m.Take.Name(), now)
		}
		return "", err
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
	case m.Mark != nil:
		return "", r.mark(ctx, kindOf(*m.Mark), r.live(m.Mark), m.Hash)
	case m.Own != nil:
		return "", r.own(ctx, m.Own)
	case m.DropManagedFields != nil:
		return "", r.dropOld(ctx, m)
	case len(m.Reject) > 0:
		if err := r.reserved(ctx, m); err != nil {
			return "", err
		}
		return "", r.reject(ctx, work, m.Reject)
	}
	for _, also := range m.Also {
		if _, err := r.do(ctx, also); err != nil {
			return "", err
		}
	}
	if err := r.reserved(ctx, m); err != nil {
		return "", err
	}
	return "", r.remove(ctx, work, m)
}

// leave gives up parts of a claim that are as they were read, with what stands for them. A run that
// only stood still may have ended meanwhile: what it holds is live.
func (r *repair) leave(ctx context.Context, work *run, m state.Mend) error {
	name := m.Leave.Name()
	known := r.snapshot.claims[name] // as it was read, or as an earlier mend has left it
	named := func(p state.Part) bool { return slices.Contains(m.Keys, p.Key) }
	if !slices.ContainsFunc(known.PartsOf(m.Group), named) {
		return nil // an earlier mend has given it up
	}
	now, err := readClaim(ctx, r.ledger, name)
	if err != nil {
		return err
	}
	for _, p := range known.PartsOf(m.Group) {
		if is := now.Part(p.Key); named(p) && (now.UID != known.UID || is == nil || !samePart(*is, p)) {
			return errChanged
		}
	}
	if m.Namespace != "" {
		// A live lease is not told from a dead one by its parts: nothing of the claim may have changed.
		if err := r.isGone(ctx, m.Namespace); err != nil || now.ResourceVersion != known.ResourceVersion {
			return cmp.Or(err, errChanged)
		}
	}
	for _, ref := range m.Delete {
		if err := r.removeRead(ctx, work, ref); err != nil {
			return err
		}
	}
	left, _, err := r.ledger.Leave(ctx, now, m.Group, named)
	if errors.Is(err, ledger.ErrAgain) {
		return errChanged
	}
	if err == nil {
		r.knows(name, left)
	}
	return err
}

// isGone says that a namespace has come back.
func (r *repair) isGone(ctx context.Context, namespace string) error {
	now, err := r.cluster.Get(ctx, namespaceKind, "", namespace)
	if err == nil && now != nil {
		err = errChanged
	}
	return err
}

// knows notes what a mend has made of a claim; nil is for one that is gone.
func (r *repair) knows(name string, now *state.Claim) {
	r.snapshot.knows(name, now)
}

// unmark ends the run of a group on a claim that stands as it was read.
func (r *repair) unmark(ctx context.Context, m state.Mend) error {
	return r.change(ctx, m.Unmark, m, func(p *state.Part) { p.Run = "" })
}

// reserved makes parts a reservation of which this call has deleted all that stood for them: that nothing is
// left is no news then.
func (r *repair) reserved(ctx context.Context, m state.Mend) error {
	if m.Reserve == nil {
		return nil
	}
	return r.change(ctx, m.Reserve, m, func(p *state.Part) { p.Applied = false })
}

// change changes parts of a claim that stands as it was read.
func (r *repair) change(ctx context.Context, claim *state.Claim, m state.Mend, set func(*state.Part)) error {
	claim = r.snapshot.claims[claim.Name()] // as it was read, or as an earlier mend has left it
	entries, changed := claim.Entries(m.Group), false
	for i := range entries {
		if was := entries[i]; slices.Contains(m.Keys, was.Key) {
			set(&entries[i])
			changed = changed || !samePart(was, entries[i])
		}
	}
	if !changed {
		return nil
	}
	now, err := r.ledger.Put(ctx, claim, m.Group, entries)
	if errors.Is(err, ledger.ErrAgain) {
		return errChanged
	}
	if err == nil {
		r.knows(now.Name(), now)
	}
	return err
}

// unmoved says that a claim by which a problem was found says something else by now. What is to be
// written was read before.
func (r *repair) unmoved(ctx context.Context, thing string) error {
	if strings.Contains(thing, "/") { // an object, or a lease
		return nil
	}
	names := []string{state.HostName(thing)}
	if a, err := netip.ParseAddr(thing); err == nil {
		names = []string{state.AddressName(a)}
	} else if over := state.WildcardOver(thing); over != "" && r.snapshot.claims[names[0]] == nil {
		names = append(names, state.HostName(over))
	}
	if r.snapshot.claims[state.EndpointName(thing)] != nil {
		names = []string{state.EndpointName(thing)}
	}
	for _, name := range names {
		now, err := readClaim(ctx, r.ledger, name)
		if err != nil {
			return err
		}
		if !now.SaysAs(r.snapshot.claims[name]) {
			return errChanged
		}
	}
	return nil
}

// remove deletes objects that this program wrote, while the claims say of them what they did.
func (r *repair) remove(ctx context.Context, work *run, m state.Mend) error {
	for _, ref := range m.Delete {
		var err error
		switch live := r.live(&ref); {
		case live == nil, slices.Contains(kinds.Records, kindOf(ref)):
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
	grounds, err := readGrounds(ctx, r.ledger, owned{kind: r.kindOf(live), live: live, group: id.Group()})
	if err == nil && slices.ContainsFunc(grounds, func(g ground) bool { return g.standing() == state.Entitled }) {
		err = errChanged
	}
	return err
}

// isAlone says that something serves by now what one of Akash's objects stands for, or that a run is
// under way.
func (r *repair) isAlone(ctx context.Context, live *unstructured.Unstructured) error {
	id, _ := lease.IDFromLabels(live.GetLabels())
	o := owned{kind: r.kindOf(live), live: live, group: id.Group()}
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
	if o.kind == render.ProviderHost {
		if slices.ContainsFunc(now.hostUses[live.GetName()], func(u state.Use) bool { return u.Kind != o.kind.Singular }) {
			return errChanged
		}
		return nil
	}
	port := state.PortObjectOf(live)
	for _, s := range now.live[render.Service.Plural] {
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
	return work.removeWhile(ctx, owned{kind: kindOf(ref), live: live, group: id.Group()}, Deleted, "", func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if now.GetResourceVersion() != live.GetResourceVersion() {
			return false, errChanged
		}
		return true, nil
	})
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
	opts := r.opts
	opts.Report = nil
	return New(r.cluster, opts).Release(ctx, c.Groups(), c.Thing)
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

// takeServed claims what the lease serves already. Whether it does is looked at once more when it is
// claimed: what a release has removed meanwhile is not to be held.
func (r *run) takeServed(ctx context.Context, m state.Mend) error {
	want := *m.Take
	r.req.Lease = want.Parts[0].Lease
	r.group = r.req.Lease.Group()
	err := r.take(ctx, want)
	if err == nil {
		err = r.checkWildcards(ctx)
	}
	if err == nil {
		err = r.checkOpen(ctx)
	}
	if h := r.holds[want.Name()]; err == nil && (h == nil || !h.took) {
		return errChanged // somebody of the same owner was first
	}
	if err == nil {
		err = r.stillServed(ctx, m.Serving)
	}
	if err != nil {
		return r.giveUp(ctx, err)
	}
	// What a pipeline has delivered may stand for it before the lease's namespace is there: it is not applied.
	if r.snapshot.namespaces[r.req.Lease.Namespace()] {
		for _, p := range want.Parts {
			r.standsFor(want.Name(), p.Key)
		}
	}
	return r.settle(ctx)
}

// stillServed says that none of the objects for which something is claimed is there as it was.
func (r *run) stillServed(ctx context.Context, refs []state.ObjectRef) error {
	for _, ref := range refs {
		now, err := r.cluster.Get(ctx, kindOf(ref), ref.Namespace, ref.Name)
		if err != nil {
			return err
		}
		if now == nil || string(now.GetUID()) != ref.UID || now.GetDeletionTimestamp() != nil {
			continue
		}
		if id, ok := lease.IDFromLabels(now.GetLabels()); ok && id.Group() == r.group {
			return nil
		}
	}
	return errChanged
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

func (r *repair) kindOf(live *unstructured.Unstructured) render.Kind {
	return kindOf(state.ObjectRef{Kind: strings.ToLower(live.GetKind())})
}

func kindOf(ref state.ObjectRef) render.Kind {
	for _, k := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Records, kinds.Pools) {
		if k.Singular == ref.Kind {
			return k
		}
	}
	return render.Kind{}
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
