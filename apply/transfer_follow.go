package apply

import (
	"context"
	"errors"
	"slices"

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
// them. The write is pinned to the claim as it was read; written reports whether it was made. What a command that has crashed has
// taken is left to it: ErrChanged.
func Follow(
	ctx context.Context, c *command.Command, s *observed.Snapshot, claim *state.Claim, from lease.Group,
	parts []Handover,
) (written bool, err error) {
	to := parts[0].To.Group()
	moved := claim.Entries(to)
	for _, h := range parts {
		p := h.Part
		if p.Run != "" || claim.Kind == state.Wildcard && !p.Bound {
			return false, report.ErrChanged
		}
		p.From = ""
		if slices.ContainsFunc(s.Written[from], func(o observed.Owned) bool {
			return slices.Contains(s.ClaimsNear(o), claim.Name()) && observed.StandsFor(o, claim, h.Part)
		}) {
			p.From = from.String()
		}
		p.Lease, p.Service, p.Port, p.HTTP, p.Definition, p.Applied, p.Expires = h.To, h.Service, h.Port, nil, "", true, ""
		moved = slices.DeleteFunc(moved, func(own state.Part) bool { return own.Key == p.Key || own.For == p.Key })
		moved = append(moved, p)
	}
	now, err := c.Ledger.Seize(ctx, claim, to, moved)
	if errors.Is(err, ledger.ErrAgain) {
		return false, report.ErrChanged
	}
	if err == nil && slices.Contains(now.Former, from) {
		_, err = c.Ledger.Withdraw(ctx, now, from)
	}
	return now != nil, err
}
