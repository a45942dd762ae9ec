package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// openLedger opens the ledger that an uninstall has closed, unless the uninstall works by now.
func (r *repair) openLedger(ctx context.Context, f *state.Fix) error {
	now, err := r.command.Ledger.Announcement(ctx, f.Value)
	if err != nil {
		return err
	}
	if now != nil && !now.Dead(r.command.Cluster.Now(), r.asked.CrashedAfter) {
		return report.ErrChanged
	}
	return r.command.Ledger.OpenAfter(ctx, f.Value)
}

// live returns an object as it was read, or nil.
func (r *repair) live(ref state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.At(kinds.Of(ref.Kind), ref.Namespace, ref.Name)
}

// ways carry out repairs, but for definitions and moves of routes: these are done once for all problems of a lease, by fix; and the end of
// a turn deletes the announcements of crashed commands. A note says what else people have to do.
var ways = map[state.Way]func(*repair, context.Context, *state.Fix) (note string, err error){
	state.OpenLedger:   quiet((*repair).openLedger),
	state.Release:      quiet((*repair).release),
	state.Discard:      quiet((*repair).discard),
	state.Drop:         quiet((*repair).drop),
	state.Forget:       quiet((*repair).forgetStray),
	state.Take:         quiet((*repair).takeServed),
	state.NarrowPool:   (*repair).narrow,
	state.MakePool:     quiet((*repair).makePool),
	state.WriteRecords: quiet((*repair).writeRecords),
	state.OwnParts:     quiet((*repair).takeFields),
}

// quiet is a way that leaves nothing to do.
func quiet(way func(*repair, context.Context, *state.Fix) error) func(*repair, context.Context, *state.Fix) (string, error) {
	return func(r *repair, ctx context.Context, f *state.Fix) (string, error) { return "", way(r, ctx, f) }
}

func (r *repair) drop(ctx context.Context, f *state.Fix) error {
	o := f.Object()
	return asChanged(r.command.Ledger.DropReservation(ctx, &reserved.Claim{ObjectName: o.Name, UID: types.UID(o.UID), ResourceVersion: o.ResourceVersion}))
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

// groupRun is an apply of a deployment group's definition, or a move of its routes.
type groupRun struct {
	group          lease.Group
	prune, reclaim bool
}

// applyDefinition applies the definition of a deployment group: the given one, or the stored one, limited to what the
// lease holds.
func (r *repair) applyDefinition(ctx context.Context, work groupRun) error {
	g, opts := work.group, r.options()
	opts.Prune, opts.Reclaim = work.prune, work.reclaim || opts.Reclaim
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
func (r *repair) forgetStray(ctx context.Context, m *state.Fix) error {
	d := r.snapshot.Definitions[m.Object().Name]
	if m.Group != (lease.Group{}) {
		claims, err := r.command.Ledger.ListOwner(ctx, m.Group.Owner)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(claims, func(c *state.Claim) bool { return len(c.Entries(m.Group)) > 0 }) {
			return report.ErrChanged
		}
		now, err := reading.ReadDefinition(ctx, r.command.Ledger, m.Group)
		if now == nil || err != nil {
			return err
		}
		if now.ResourceVersion != d.ResourceVersion {
			return report.ErrChanged
		}
	}
	return asChanged(reading.UntilKept(ctx, r.command.Ledger, m.Group, func(ctx context.Context) error { return r.command.Ledger.Forget(ctx, d) }))
}

// takeFields makes the managers of the leases own their parts of a claim again.
func (r *repair) takeFields(ctx context.Context, f *state.Fix) error {
	c := f.Parts.Claim
	for _, g := range c.Unmanaged {
		now, err := r.command.Ledger.Seize(ctx, c, g, c.Entries(g))
		if err != nil {
			return asChanged(err)
		}
		c = now
	}
	return nil
}
