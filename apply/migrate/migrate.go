// Package migrate moves the routes of leases to another kind without a gap: it deletes an old route only when the new
// one serves.
package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Overlap is the default for Options.Overlap.
const Overlap = 5 * time.Second

// ForTTL is the value of Options.Settle for the TTL of the records that pointed to the old routes.
const ForTTL time.Duration = -time.Second

// Options configure a migration.
type Options struct {
	// Overlap is how long both routes exist after the new one is accepted: routers need a moment to load what they have
	// accepted, and not all report when they have.
	Overlap time.Duration
	// Settle is how long the old routes stay after DNS points to the new ones; if negative, for the TTL of the records
	// that pointed to them.
	Settle time.Duration
	// KeepOld keeps the old routes, and the DNS records that point to them. Another migration without it completes the
	// work.
	KeepOld bool
}

// Migration moves the routes of leases to the kind of the configured target. It writes only routes, their companion
// objects and DNS records; claims and ProviderHosts do not change. It may stop after any step; the same migration
// continues from there.
//
// It has three transactions, each with its own turn of the command and its own reading of the cluster: the new routes, the DNS
// records, and the end of the old routes. It waits between them, when nobody has to wait for it.
type Migration struct {
	command *command.Command
	opts    Options
	leases  []*leaseMigration
}

// leaseMigration is the work on one lease.
type leaseMigration struct {
	// x reports what happens to the lease, and has what was read last.
	x *executor.Executor
	// objects are its routes and what accompanies them, as read last; routes are those to move.
	objects []observed.Object
	routes  []*crossing
	// hosts are the hosts whose DNS records have to point to the new routes.
	hosts []*hostMove
	// targets are where the new routes are reached, as far as that was awaited.
	targets render.Published
	// left are the routes that were left as they are, failed why others were, for the next error.
	left   []string
	failed []error
}

// Plan reads the cluster and finds the chosen leases that have routes. It writes nothing.
func Plan(ctx context.Context, c *command.Command, choose func(lease.ID) bool, opts Options) (*Migration, error) {
	snapshot, err := reading.ReadAll(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &Migration{command: c, opts: opts}
	for id, objects := range objectsByLease(snapshot) {
		if !choose(id) {
			continue
		}
		m := &leaseMigration{x: executor.New(c, state.Request{Lease: id}), objects: objects}
		m.x.Snapshot = snapshot
		accompanied := c.Options.Config.Target != config.TargetHTTPRoute
		for _, o := range objects {
			isNew, isRoute := m.roleOf(o)
			accompanied = accompanied || isRoute
			if uses := state.HostUses(o.Live); isRoute && !isNew && len(uses) > 0 {
				m.routes = append(m.routes, &crossing{old: o, use: uses[0]})
			}
		}
		if accompanied {
			out.leases = append(out.leases, m)
		}
	}
	slices.SortFunc(out.leases, func(a, b *leaseMigration) int { return a.x.Request.Lease.Compare(b.x.Request.Lease) })
	return out, nil
}

// Leases returns the leases that have routes.
func (m *Migration) Leases() []lease.ID {
	ids := make([]lease.ID, len(m.leases))
	for i, l := range m.leases {
		ids[i] = l.x.Request.Lease
	}
	return ids
}

// Routes returns how many routes are to move.
func (m *Migration) Routes() (n int) {
	for _, l := range m.leases {
		n += len(l.routes)
	}
	return n
}

// Run moves the routes. It writes the new ones and waits, if a router reports, until they are accepted; then it points
// the DNS records of their hosts to them; then it deletes the old ones. Leases are independent of each other; Run joins
// their errors.
func (m *Migration) Run(ctx context.Context) error {
	errs := []error{
		m.transact(ctx, m.leases, true, func(l *leaseMigration) (*engine.Move, error) { return l.newRoutes() }),
		m.await(ctx),
	}
	interrupted := m.overlap(ctx)
	if interrupted == nil && ctx.Err() == nil && !m.opts.KeepOld {
		led := m.with(func(l *leaseMigration) bool { return slices.ContainsFunc(l.ready(), l.isLed) })
		errs = append(errs, m.transact(ctx, led, true, func(l *leaseMigration) (*engine.Move, error) { return l.repointed(ctx), nil }))
		led = m.with(func(l *leaseMigration) bool { return len(l.whole()) > 0 })
		errs = append(errs, m.transact(ctx, led, false, func(l *leaseMigration) (*engine.Move, error) { return l.awaitRecords(m.opts.Settle), nil }))
	}
	if interrupted = cmp.Or(interrupted, ctx.Err()); interrupted != nil {
		return report.Gather(append(errs, interrupted))
	}
	if !m.opts.KeepOld {
		errs = append(errs, m.end(ctx))
	}
	for _, l := range m.leases {
		l.reportDone(m.opts.KeepOld)
	}
	return report.Gather(errs)
}

// Group moves the routes of a deployment group to the configured kind, and fails if one stays.
func Group(ctx context.Context, c *command.Command, g lease.Group) error {
	m, err := Plan(ctx, c, func(id lease.ID) bool { return id.Group() == g }, Options{Overlap: Overlap, Settle: ForTTL})
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

// transact works on leases in one transaction, by another reading of the cluster if read is true. move returns what is done for a lease, or
// why nothing may be. A route goes on if all was done for it.
func (m *Migration) transact(ctx context.Context, leases []*leaseMigration, read bool, move func(*leaseMigration) (*engine.Move, error)) error {
	if len(leases) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	snapshot := leases[0].x.Snapshot
	refused, ended := make([]error, len(leases)), make([]*execute.Lease, len(leases))
	wants, of, groups := make([]engine.Want, len(leases)), make([]*executor.Executor, len(leases)), make([]lease.Group, len(leases))
	for i, l := range leases {
		of[i], groups[i] = l.x, l.x.Group
	}
	errs := []error{execute.Work{
		Command: m.command, Of: of, Fresh: true,
		Read: func(ctx context.Context) (_ *observed.Snapshot, err error) {
			if read {
				snapshot, err = reading.ReadAll(ctx, m.command, groups...)
			}
			return snapshot, err
		},
		Wants: func() []engine.Want {
			objects := objectsByLease(snapshot)
			for _, l := range leases {
				l.x.Snapshot, l.objects = snapshot, objects[l.x.Request.Lease]
			}
			for i, l := range leases {
				wants[i].Request = l.x.Request
				if wants[i].Move, refused[i] = move(l); refused[i] != nil || wants[i].Move == nil {
					wants[i].Move = &engine.Move{}
				}
			}
			return wants
		},
		Barred: func(i int, _ *observed.Snapshot) error { return refused[i] },
		Ended: func(_ context.Context, all []*execute.Lease) {
			for _, one := range all {
				ended[one.Place] = one
			}
		},
	}.Run(ctx)}
	for i, l := range leases {
		outcome := &engine.Outcome{}
		if one := ended[i]; one != nil && (one.Outcome.Err != nil || one.Err() == nil) {
			outcome = one.Outcome
		}
		if outcome.Targets != nil {
			l.targets = outcome.Targets
		}
		for _, c := range l.routes {
			going := refused[i] != nil || wants[i].Move == nil || slices.ContainsFunc(wants[i].Move.Routes, func(r engine.Moving) bool { return r.Old.Live.GetUID() == c.old.Live.GetUID() })
			moved, done := outcome.Moved[c.key()]
			c.ready = c.ready && (!going || done)
			if moved.Live != nil {
				c.old.Live, c.stays = moved.Live, moved.Until
			}
		}
		errs = append(errs, l.x.Failed(l.stayed()))
	}
	return report.Gather(errs)
}

// await waits until the new routes are known to serve, and where they are reached. If that is not known, the old routes stay.
func (m *Migration) await(ctx context.Context) error {
	opts := m.command.Options
	return m.transact(ctx, m.with(hasReady), false, func(l *leaseMigration) (*engine.Move, error) {
		out := &engine.Move{Awaits: true, Changed: l.x.Changed()}
		for _, c := range l.ready() {
			going := l.moving(c, nil)
			for _, o := range c.objects {
				if _, _, redirect := lease.ParseRouteName(o.Name); redirect && slices.Contains(kinds.RouteKinds, o.Kind) && (!opts.AssumeServing || o.Kind != kinds.Ingress) {
					going.With = append(going.With, engine.KeyOf(o))
				}
			}
			if out.Routes = append(out.Routes, going); !m.opts.KeepOld {
				out.Unknown = append(out.Unknown, l.unknown(c)...)
			}
		}
		slices.SortFunc(out.Unknown, func(a, b render.UnknownHost) int { return cmp.Compare(a.Name, b.Name) })
		out.Unknown = slices.CompactFunc(out.Unknown, func(a, b render.UnknownHost) bool { return a.Name == b.Name })
		return out, nil
	})
}

// with returns the leases that are chosen.
func (m *Migration) with(chosen func(*leaseMigration) bool) []*leaseMigration {
	return slices.DeleteFunc(slices.Clone(m.leases), func(l *leaseMigration) bool { return !chosen(l) })
}

func hasReady(l *leaseMigration) bool { return len(l.ready()) > 0 }

// Staying returns the old routes that a run has kept, for now or for good.
func (m *Migration) Staying() (names []string) {
	for _, l := range m.leases {
		for _, c := range l.routes {
			if !c.ready || !m.command.Passed(c.stays) {
				names = append(names, c.name())
			}
		}
	}
	return names
}

// overlap waits for Options.Overlap if there are routes with two forms.
func (m *Migration) overlap(ctx context.Context) error {
	if len(m.with(hasReady)) == 0 || m.opts.KeepOld {
		return nil
	}
	return m.command.Pause(ctx, m.opts.Overlap)
}

// end deletes the old routes whose successors serve and to which resolvers lead nobody, and then their companion objects.
func (m *Migration) end(ctx context.Context) error {
	settles := func(c *crossing) bool { return !m.command.Passed(c.stays) }
	leases := m.with(func(l *leaseMigration) bool {
		l.whole()
		return len(l.routes) == 0 || slices.ContainsFunc(l.ready(), func(c *crossing) bool { return !settles(c) })
	})
	errs := []error{m.transact(ctx, leases, true, func(l *leaseMigration) (*engine.Move, error) { return l.endRoutes() })}
	for _, l := range m.leases {
		settling := &SettlingError{Lease: l.x.Request.Lease}
		for _, c := range l.ready() {
			if settles(c) {
				settling.add(c, m.command.Cluster.Now())
			}
		}
		if len(settling.Routes) > 0 && m.command.Options.Wait > 0 {
			errs = append(errs, l.x.Failed(settling))
		}
	}
	return report.Gather(errs)
}

// reportDone reports the end of a lease's migration, unless a route had to stay.
func (m *leaseMigration) reportDone(keep bool) {
	how := "migrated"
	if len(m.ready()) < len(m.routes) {
		return
	}
	if keep || slices.ContainsFunc(m.routes, func(c *crossing) bool { return !m.x.Command.Passed(c.stays) }) {
		if how = "prepared"; !keep && m.x.Command.Options.Wait > 0 {
			return
		}
	}
	hosts := []string{}
	for _, c := range m.routes {
		hosts = append(hosts, c.use.Host)
	}
	for _, o := range m.current() {
		for _, u := range state.HostUses(o.Live) {
			hosts = append(hosts, u.Host)
		}
	}
	slices.Sort(hosts)
	m.x.Command.Send(report.Event{
		Time: time.Now(), Action: report.Done, Lease: m.x.Request.Lease, Kind: "lease", Name: m.x.Request.Lease.String(), Message: how,
		Summary: &report.Summary{Hosts: slices.Compact(hosts), Changed: m.x.Changed(), Took: m.x.Took()},
	})
}
