// Package migrate moves the routes of leases to another kind without a gap: it deletes an old route only when the new
// one serves.
package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
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
type Migration struct {
	command *command.Command
	opts    Options
	leases  []*leaseMigration
}

// leaseMigration is the work on one lease.
type leaseMigration struct {
	// x reports what happens to the lease, and has what was read.
	x *executor.Executor
	// routes are the routes to move, companions the objects that belong to routes of their kinds.
	routes     []*crossing
	companions []observed.Owned
	// current are the routes that have the target's kind already.
	current []*unstructured.Unstructured
	// hosts are the hosts whose DNS records have to point to the new routes.
	hosts []*hostMove
	// claims are those that the migration has marked, by name: as it wrote them last, without its marks.
	claims map[string]*state.Claim
	// made are the objects that it has created.
	made []madeObject
}

// crossing is a route that moves to its new form.
type crossing struct {
	old     observed.Owned
	use     state.Use
	live    *render.Live
	objects []render.Object
	// why is the reason for leaving the route as it is, if there is one.
	why string
	// ready is true once the new form is accepted and DNS points to it: the old route may be deleted.
	ready bool
	// stays is until when resolvers may return the old route, lag how long that is after its host's records have
	// changed.
	stays time.Time
	lag   time.Duration
}

// StayedError reports routes that could not be moved. The events contain the reasons.
type StayedError struct {
	Lease  lease.ID
	Routes []string
}

func (e *StayedError) Error() string {
	return fmt.Sprintf("lease %s: %d of its routes stay as they are: %s", e.Lease, len(e.Routes), strings.Join(e.Routes, ", "))
}

// Plan reads the cluster and finds the chosen leases that have routes. It writes nothing.
func Plan(ctx context.Context, c *command.Command, choose func(lease.ID) bool, opts Options) (*Migration, error) {
	snapshot, err := observed.ReadAll(ctx, c)
	if err != nil {
		return nil, err
	}
	byLease := map[lease.ID]*leaseMigration{}
	of := func(id lease.ID) *leaseMigration {
		m := byLease[id]
		if m == nil {
			m = &leaseMigration{x: executor.New(c, state.Request{Lease: id}), claims: map[string]*state.Claim{}}
			m.x.Snapshot = snapshot
			byLease[id] = m
		}
		return m
	}
	targets := kinds.OfTarget(c.Options.Config.Target)
	for _, kind := range slices.Concat(kinds.RouteKinds, kinds.Filters, kinds.Policies) {
		for o := range snapshot.Of(kind) {
			whose := snapshot.Ownership(o)
			id := whose.Lease
			if !whose.Labelled || o.GetNamespace() != id.Namespace() || !choose(id) || !whose.Ours && o.GetLabels()[lease.LabelManaged] != "true" {
				continue // neither this program nor Akash's provider wrote it for a lease
			}
			_, _, redirect := lease.ParseRouteName(o.GetName())
			switch m := of(id); {
			case slices.Contains(kinds.RouteKinds, kind) && !redirect && slices.Contains(targets, kind):
				m.current = append(m.current, o)
			case slices.Contains(kinds.RouteKinds, kind) && !redirect:
				if uses := state.HostUses(o); len(uses) > 0 {
					m.routes = append(m.routes, &crossing{old: observed.Owned{Kind: kind, Live: o, Group: id.Group()}, use: uses[0]})
				}
			case c.Options.Config.Target != config.TargetHTTPRoute:
				m.companions = append(m.companions, observed.Owned{Kind: kind, Live: o, Group: id.Group()})
			}
		}
	}
	out := &Migration{command: c, opts: opts}
	for _, m := range byLease {
		out.leases = append(out.leases, m)
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
	errs := []error{m.each("leases (new routes)", func(l *leaseMigration) error { return l.writeRoutes(ctx) })}
	interrupted := m.overlap(ctx)
	if interrupted == nil && !m.opts.KeepOld {
		lacking := m.lacking()
		errs = append(errs,
			m.each("leases (DNS records)", func(l *leaseMigration) error { return l.repointDNS(ctx, m.opts.Settle, lacking) }),
			m.each("leases (DNS)", func(l *leaseMigration) error { return l.awaitDNS(ctx, m.opts.Settle) }))
		interrupted = m.settleDNS(ctx)
	}
	if interrupted != nil {
		return report.Gather(append(errs, interrupted))
	}
	return report.Gather(append(errs,
		m.each("leases (old routes)", func(l *leaseMigration) error { return l.end(ctx, m.opts.KeepOld) })))
}

// each runs a step for all leases and joins their errors.
func (m *Migration) each(step string, do func(*leaseMigration) error) error {
	errs, count := make([]error, len(m.leases)), m.command.Counter(step, len(m.leases))
	group := parallel.New(m.command.Options.Concurrency)
	for i, l := range m.leases {
		group.Go(func() error {
			defer count()
			errs[i] = l.x.Failed(parallel.Guard(func() error { return do(l) }))
			return nil
		})
	}
	_ = group.Wait() // the leases' errors are in errs
	return report.Gather(errs)
}

// Staying returns the old routes that a run has kept, for now or for good.
func (m *Migration) Staying() (names []string) {
	for _, l := range m.leases {
		for _, c := range l.routes {
			if !c.ready || !m.command.Passed(c.stays) {
				names = append(names, c.old.Kind.Singular+"/"+c.old.Live.GetName())
			}
		}
	}
	return names
}

// overlap waits for Options.Overlap if there are routes with two forms.
func (m *Migration) overlap(ctx context.Context) error {
	ready := slices.ContainsFunc(m.leases, func(l *leaseMigration) bool {
		return slices.ContainsFunc(l.routes, func(c *crossing) bool { return c.ready })
	})
	if !ready || m.opts.KeepOld {
		return nil
	}
	return m.command.Pause(ctx, m.opts.Overlap)
}
