package repair

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// openLedger opens the ledger that an uninstall has closed, unless the uninstall works by now.
func (r *repair) openLedger(ctx context.Context, nonce string) error {
	now, err := r.command.Ledger.Announcement(ctx, nonce)
	if err != nil {
		return err
	}
	if now != nil && !now.Dead(r.command.Cluster.Now(), r.asked.CrashedAfter) {
		return report.ErrChanged
	}
	return r.command.Ledger.OpenAfter(ctx, nonce)
}

// live returns an object as it was read, or nil.
func (r *repair) live(ref state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.At(kinds.Of(ref.Kind), ref.Namespace, ref.Name)
}

// execute carries out a repair. The note says what else people have to do.
func (r *repair) execute(ctx context.Context, mend state.Mend) (note string, err error) {
	switch m := mend.(type) {
	case state.LeaveParts:
		return "", r.giveUpParts(ctx, m)
	case state.FreeAddresses:
		for _, leave := range m.Leave {
			if err := r.giveUpParts(ctx, leave); err != nil {
				return "", err
			}
		}
		return "", nil
	case state.FollowMove:
		return "", r.followDeclared(ctx, m)
	case state.EndRun:
		return "", r.change(ctx, m.Parts, func(p *state.Part) {
			if p.Run = ""; p.Expires == state.WhileTurned {
				p.Expires = ""
			}
		})
	case state.OpenLedger:
		return "", r.openLedger(ctx, m.Nonce)
	case state.ReleaseClaim:
		return "", r.release(ctx, m.Claim)
	case state.DiscardClaim:
		return "", r.discard(ctx, m.Claim)
	case state.DropFromLedger:
		claim := &reserved.Claim{ObjectName: m.Object.Name, UID: types.UID(m.Object.UID), ResourceVersion: m.Object.ResourceVersion}
		return "", asChanged(r.command.Ledger.DropReservation(ctx, claim))
	case state.ForgetDefinition:
		return "", r.forgetStray(ctx, m)
	case state.TakeServed:
		return "", r.takeServed(ctx, m)
	case state.NarrowPool:
		return r.narrow(ctx, m)
	case state.MakePool:
		return "", r.makePool(ctx, m)
	case state.WriteRecords:
		return "", r.rerecord(ctx, m)
	case state.RewriteRoute:
		return "", r.rewrite(ctx, m.Route, m.Part)
	case state.SetSharingKey:
		return "", r.ask(ctx, m.Service, "allow-shared-ip", m.SharingKey)
	case state.AskAddress:
		return "", r.askAddress(ctx, m)
	case state.DropGrant:
		return "", dropGrant(ctx, r.command.Cluster, r.live(m.Service))
	case state.ClearReports:
		return "", r.clearReports(ctx, m.Route)
	case state.RestoreMarks:
		return "", r.mark(ctx, kinds.Of(m.Object.Kind), r.live(m.Object), m.Hash)
	case state.OwnParts:
		return "", r.takeFields(ctx, m.Claim)
	case state.DropManagedFields:
		return "", r.dropOld(ctx, m)
	case state.RejectObjects:
		return "", r.reject(ctx, m)
	case state.DeleteObjects:
		return "", r.remove(ctx, m)
	}
	// Definitions are applied and routes moved once for all problems of a lease, by fix. The end of a turn deletes the
	// announcements of crashed commands.
	return "", fmt.Errorf("%T cannot be carried out by itself", mend)
}

// leaseOf returns the lease of a problem, without order and provider if the problem names only a deployment group.
func leaseOf(p state.Problem) lease.ID {
	if id, err := lease.ParseID(p.Lease); err == nil {
		return id
	}
	g, err := lease.ParseGroup(p.Lease)
	if err != nil {
		return lease.ID{}
	}
	return lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}
}

// place returns the file and line of a definition.
func place(at lease.Place) string {
	if at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}
