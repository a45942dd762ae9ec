package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// groupRun is an apply of a deployment group's definition, or a move of its routes.
type groupRun struct {
	group          lease.Group
	prune, reclaim bool
}

// applyDefinition applies the definition of a deployment group: the given one, or the stored one, limited to what the
// lease holds.
func (r *repair) applyDefinition(ctx context.Context, work groupRun) error {
	g, opts := work.group, r.options()
	opts.Prune, opts.Reclaim, opts.Report, opts.Progress = work.prune, work.reclaim || opts.Reclaim, nil, nil
	def := r.defs[g]
	if def == nil {
		var err error
		if def, err = r.snapshot.Definitions[kept.Name(g)].Decode(); err != nil {
			return err
		}
		opts.Heal, opts.Prove = true, nil // nothing is claimed
	}
	return apply.New(r.command.Cluster, opts).Apply(ctx, []*lease.Definition{def})
}

// migrateRoutes moves the routes of a deployment group to the configured kind, and reports what the new routes lack.
func (r *repair) migrateRoutes(ctx context.Context, g lease.Group) error {
	opts := r.options()
	opts.Progress = nil
	opts.Report = func(e report.Event) {
		if e.Action == report.Lacks || e.Action.Undone() {
			r.command.Send(e)
		}
	}
	m, err := migrate.Plan(ctx, command.New(r.command.Cluster, opts), func(id lease.ID) bool { return id.Group() == g },
		migrate.Options{Overlap: migrate.Overlap, Settle: migrate.ForTTL})
	switch {
	case err != nil:
		return err
	case m.Routes() == 0:
		return errors.New("no route of it is to move: one that neither this program nor Akash's provider wrote is not moved; delete the one that is not wanted")
	}
	if err := m.Run(ctx); err != nil {
		return err
	}
	if staying := m.Staying(); len(staying) > 0 {
		return fmt.Errorf("for now %s stays, until DNS leads to the new route", strings.Join(staying, ", "))
	}
	return nil
}

// forgetStray deletes a stored definition that is as it was read, unless its lease holds something again.
func (r *repair) forgetStray(ctx context.Context, m state.ForgetDefinition) error {
	d := r.snapshot.Definitions[m.Definition.Name]
	if m.Group != (lease.Group{}) {
		claims, err := r.command.Ledger.ListOwner(ctx, m.Group.Owner)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(claims, func(c *state.Claim) bool { return len(c.Entries(m.Group)) > 0 }) {
			return report.ErrChanged
		}
		now, err := observed.ReadDefinition(ctx, r.command.Ledger, m.Group)
		if now == nil || err != nil {
			return err
		}
		if now.ResourceVersion != d.ResourceVersion {
			return report.ErrChanged
		}
	}
	return asChanged(observed.UntilKept(ctx, r.command.Ledger, m.Group, func(ctx context.Context) error { return r.command.Ledger.Forget(ctx, d) }))
}
