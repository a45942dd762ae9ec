package apply

import (
	"context"
	"errors"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Handover is a part of a claim that Akash's provider has moved to another lease of its owner, with its new backend.
type Handover struct {
	Part    state.Part
	To      lease.ID
	Service string
	Port    uint16
}

// Follow transfers parts of a claim, all of one deployment group, to the lease to which Akash's provider has moved
// them. The write is pinned to the claim as it was read; written reports whether it was made.
func Follow(
	ctx context.Context, c *command.Command, s *observed.Snapshot, claim *state.Claim, from lease.Group,
	parts []Handover,
) (written bool, err error) {
	r := newTransfer(c, parts[0].To, s)
	r.Quiet = true
	moved := &move{claim: claim, from: []lease.Group{from}}
	for _, h := range parts {
		to := r.newPart(claim, h.Part)
		to.Lease, to.HTTP, to.Definition = h.To, nil, ""
		to.Service, to.Port = h.Service, h.Port
		moved.old, moved.new = append(moved.old, h.Part), append(moved.new, to)
	}
	now, err := r.Ledger.Seize(ctx, claim, r.Group, withEntries(moved.new, claim.Entries(r.Group)))
	if errors.Is(err, ledger.ErrAgain) {
		return false, report.ErrChanged
	}
	if err != nil {
		return false, err
	}
	moved.claim, moved.taken, moved.done = now, true, true
	if err = r.disown(ctx, moved); err == nil {
		err = r.confirmMoves(ctx, []*move{moved})
	}
	if err != nil {
		return true, err
	}
	for _, p := range moved.new {
		r.StandsFor(claim.Name(), p.Key)
	}
	return true, r.Settle(ctx)
}
