package repair

import (
	"context"
	"errors"
	"fmt"

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
func (r *repair) unreserve(ctx context.Context, ref state.ObjectRef) error {
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
func (r *repair) live(ref state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.Live[kinds.Of(ref.Kind).Plural][ref.Namespace+"/"+ref.Name]
}

// do carries a repair out. The note is what people have to do besides.
func (r *repair) do(ctx context.Context, mend state.Mend) (note string, err error) {
	switch m := mend.(type) {
	case state.DropAnnouncement: // the command's turn has taken over from the crashed one, and its end takes the announcement away
	case state.LeaveParts:
		return "", r.leave(ctx, m)
	case state.FreeAddresses:
		for _, leave := range m.Leave {
			if err := r.leave(ctx, leave); err != nil {
				return "", err
			}
		}
	case state.FollowMove:
		return "", r.followDeclared(ctx, m)
	case state.EndRun:
		return "", r.change(ctx, m.Parts, func(p *state.Part) { p.Run = "" })
	case state.ReleaseClaim:
		return "", r.release(ctx, m.Claim)
	case state.DiscardClaim:
		return "", r.discard(ctx, m.Claim)
	case state.DropReservation:
		return "", r.unreserve(ctx, m.Reservation)
	case state.ForgetDefinition:
		return "", r.forgetStray(ctx, m)
	case state.TakeServed:
		err := r.runFor(lease.Group{}).takeServed(ctx, m)
		if now, unread := observed.ReadClaim(ctx, r.Ledger, m.Hold.Name()); unread == nil {
			r.knows(m.Hold.Name(), now)
		}
		return "", err
	case state.NarrowPool:
		return r.narrow(ctx, m)
	case state.MakePool:
		return "", r.makePool(ctx, m)
	case state.WriteRecords:
		return "", r.runFor(lease.Group{}).Rerecord(ctx, m.Host, m.Part)
	case state.RewriteRoute:
		return "", r.runFor(lease.Group{}).rewrite(ctx, m.Route, m.Part)
	case state.SetSharingKey:
		return "", r.runFor(lease.Group{}).ask(ctx, m.Service, "allow-shared-ip", m.SharingKey)
	case state.AskAddress:
		return "", r.askAddress(ctx, m)
	case state.DropGrant:
		return "", dropGrant(ctx, r.Cluster, r.live(m.Service))
	case state.ClearReports:
		return "", observed.ClearReports(ctx, r.Cluster, kinds.Of(m.Route.Kind), r.live(m.Route), r.there)
	case state.RestoreMarks:
		return "", r.mark(ctx, kinds.Of(m.Object.Kind), r.live(m.Object), m.Hash)
	case state.OwnParts:
		return "", r.own(ctx, m.Claim)
	case state.DropManagedFields:
		return "", r.dropOld(ctx, m)
	case state.RejectObjects:
		if err := r.reserved(ctx, m.Reserve); err != nil {
			return "", err
		}
		return "", r.reject(ctx, m)
	case state.DeleteObjects:
		if err := r.reserved(ctx, m.Reserve); err != nil {
			return "", err
		}
		return "", r.remove(ctx, m)
	default: // a definition is applied, and routes are moved, once for all problems of a lease
		return "", fmt.Errorf("repair does not know how to do %T", mend)
	}
	return "", nil
}
