package repair

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// forgetStray deletes a kept definition as it was read. One of a lease that holds something by now stays.
func (r *repair) forgetStray(ctx context.Context, m state.ForgetDefinition) error {
	d := r.snapshot.Definitions[m.Definition.Name]
	if m.Group != (lease.Group{}) {
		claims, err := r.Ledger.ListOwner(ctx, m.Group.Owner)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(claims, func(c *state.Claim) bool { return len(c.Entries(m.Group)) > 0 }) {
			return report.ErrChanged
		}
		now, err := observed.ReadDefinition(ctx, r.Ledger, m.Group)
		if now == nil || err != nil {
			return err
		}
		if now.ResourceVersion != d.ResourceVersion {
			return report.ErrChanged
		}
	}
	err := observed.UntilKept(ctx, r.Ledger, m.Group, func(ctx context.Context) error { return r.Ledger.Forget(ctx, d) })
	if errors.Is(err, ledger.ErrAgain) {
		return report.ErrChanged
	}
	return err
}
