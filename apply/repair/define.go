package repair

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// ending is the application of a definition, or the move of the routes, of a deployment group.
type ending struct {
	group lease.Group
	prune bool
}

// define applies the definition of a deployment group: the one that is given, or else the one that the ledger keeps, as
// far as the lease holds what it names.
func (r *repair) define(ctx context.Context, g lease.Group, prune bool) error {
	opts := r.Options
	opts.Prune, opts.Report, opts.Progress = prune, nil, nil
	def := r.defs[g]
	if def == nil {
		var err error
		if def, err = r.snapshot.Definitions[kept.Name(g)].Decode(); err != nil {
			return err
		}
		opts.Heal = true
	}
	return apply.New(r.Cluster, opts).Apply(ctx, []*lease.Definition{def})
}

// migrate moves the routes of a deployment group to the configured kind. What the new routes lack is
// told.
func (r *repair) migrate(ctx context.Context, g lease.Group) error {
	opts := r.Options
	opts.Progress = nil
	opts.Report = func(e report.Event) {
		if e.Action == report.Lacks || e.Action == report.Left {
			r.Send(e)
		}
	}
	m, err := migrate.Plan(ctx, command.New(r.Cluster, opts), func(id lease.ID) bool { return id.Group() == g }, migrate.Options{Overlap: migrate.Overlap, Settle: migrate.ForTTL})
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
