package repair

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// unreserve deletes the reservation of an order that is as it was read.
func (r *repair) unreserve(ctx context.Context, ref *state.ObjectRef) error {
	err := r.Ledger.DropReservation(ctx, &reserved.Claim{ObjectName: ref.Name, UID: types.UID(ref.UID), ResourceVersion: ref.ResourceVersion})
	if errors.Is(err, ledger.ErrAgain) {
		return report.ErrChanged
	}
	return err
}

// runFor is a run that tells nothing of its own.
func (r *repair) runFor(g lease.Group) *mending {
	work := &mending{records.New(r.Command, nil, state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}})}
	work.Snapshot, work.Pools, work.Quiet = r.snapshot, pools.New(r.Options.Config, r.snapshot), true
	return work
}

// live is an object as it was read, or nil.
func (r *repair) live(ref *state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.Live[kinds.Of(ref.Kind).Plural][ref.Namespace+"/"+ref.Name]
}

// do does the work of a mend. The note is what people have to do beside it.
func (r *repair) do(ctx context.Context, m state.Mend) (note string, err error) {
	work := r.runFor(m.Group)
	switch {
	case m.Leave != nil:
		return "", r.leave(ctx, work, m)
	case m.Follow != nil:
		return "", r.followDeclared(ctx, m)
	case m.Unmark != nil:
		return "", r.unmark(ctx, m)
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
			r.knows(m.Take.Name(), now)
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
		return "", observed.ClearReports(ctx, r.Cluster, kinds.Of(m.Clear.Kind), r.live(m.Clear), r.there)
	case m.Mark != nil:
		return "", r.mark(ctx, kinds.Of(m.Mark.Kind), r.live(m.Mark), m.Hash)
	case m.Own != nil:
		return "", r.own(ctx, m.Own)
	case m.DropManagedFields != nil:
		return "", r.dropOld(ctx, m)
	case len(m.Reject) > 0:
		if err := r.reserved(ctx, m); err != nil {
			return "", err
		}
		return "", r.reject(ctx, work, m)
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
