package repair

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// unreserve deletes the reservation of an order that is as it was read.
func (r *repair) unreserve(ctx context.Context, ref *state.ObjectRef) error {
	claim := &reserved.Claim{ObjectName: ref.Name, UID: types.UID(ref.UID), ResourceVersion: ref.ResourceVersion}
	return asChanged(r.Ledger.DropReservation(ctx, claim))
}

// workFor returns the work on a lease's claims and objects. It reports no events.
func (r *repair) workFor(g lease.Group) *leaseRepair {
	work := &leaseRepair{records.New(r.Command, nil, state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}})}
	work.Snapshot, work.Pools, work.Quiet = r.snapshot, pools.New(r.Options.Config, r.snapshot), true
	return work
}

// live returns an object as it was read, or nil.
func (r *repair) live(ref *state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.Live[kinds.Of(ref.Kind).Plural][ref.Namespace+"/"+ref.Name]
}

// execute carries out a repair. The note says what else people have to do.
func (r *repair) execute(ctx context.Context, m state.Mend) (note string, err error) {
	work := r.workFor(m.Group)
	switch {
	case len(m.Groups) > 0: // the end of this command's turn deletes the announcement of the crashed one
		return "", nil
	case m.Leave != nil:
		return "", r.giveUpParts(ctx, work, m)
	case m.Follow != nil:
		return "", r.followDeclared(ctx, m)
	case m.Unmark != nil:
		return "", r.removeMark(ctx, m)
	case m.Release != nil:
		return "", r.release(ctx, m.Release)
	case m.Discard != nil:
		return "", r.discard(ctx, m.Discard)
	case m.Unreserve != nil:
		return "", r.unreserve(ctx, m.Unreserve)
	case m.Forget != nil:
		return "", r.forgetStray(ctx, m)
	case m.Take != nil:
		err := work.takeServed(ctx, m)
		if now, unread := observed.ReadClaim(ctx, r.Ledger, m.Take.Name()); unread == nil {
			r.snapshot.Knows(m.Take.Name(), now)
		}
		return "", err
	case m.Narrow != nil:
		return r.narrow(ctx, work, m)
	case m.Pool:
		return "", r.makePool(ctx, m)
	case m.Record != "":
		return "", work.Rerecord(ctx, m.Record, m.Part)
	case m.Rewrite != nil:
		return "", work.rewrite(ctx, *m.Rewrite, m.Part)
	case m.Reshare != nil:
		return "", work.ask(ctx, *m.Reshare, "allow-shared-ip", m.SharingKey)
	case m.Reask != nil:
		return "", r.reask(ctx, work, m)
	case m.Regrant != nil:
		return "", dropGrant(ctx, r.Cluster, r.live(m.Regrant))
	case m.Clear != nil:
		return "", r.clearReports(ctx, m.Clear)
	case m.Mark != nil:
		return "", r.mark(ctx, kinds.Of(m.Mark.Kind), r.live(m.Mark), m.Hash)
	case m.Own != nil:
		return "", r.takeFields(ctx, m.Own)
	case m.DropManagedFields != nil:
		return "", r.dropOld(ctx, m)
	case len(m.Reject) > 0:
		if err := r.keepReserved(ctx, m); err != nil {
			return "", err
		}
		return "", r.reject(ctx, work, m)
	}
	for _, also := range m.Also {
		if _, err := r.execute(ctx, also); err != nil {
			return "", err
		}
	}
	if err := r.keepReserved(ctx, m); err != nil {
		return "", err
	}
	return "", r.remove(ctx, work, m)
}
