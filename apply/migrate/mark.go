package migrate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// YieldedError reports that another run of the lease has taken a host whose routes a migration was moving.
type YieldedError struct {
	Host string
	Why  string
}

func (e *YieldedError) Error() string {
	return fmt.Sprintf("host %s: %s; its old route stays, and the same command goes on when no other run of the lease is under way",
		e.Host, e.Why)
}

// marks are those of a migration on the claims of its lease, while it is its command's turn.
type marks struct {
	// turn is nil if the command has none.
	turn *turn.Turn
	run  string
	// claims are those that have the mark, by name.
	claims map[string]*markedClaim
}

// markedClaim is a claim with the mark. touch is true if another run had marked it: the objects that depend on it have to
// change, because that run may delete them as it has read them.
type markedClaim struct {
	now   *state.Claim
	touch bool
}

// touches reports whether an object has to be written even if it is as wanted.
func (t *marks) touches(o render.Object, g lease.Group) bool {
	return t.turn.Succeeds(g) || slices.ContainsFunc(observed.GroundsOf(observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: g}, nil),
		func(ground observed.Ground) bool { c := t.claims[ground.Name]; return c != nil && c.touch })
}

// whileMarked waits for the command's turn to write for the lease, marks the claims on the hosts of the routes, calls
// do, and ends the turn. A migration takes several turns, because it may wait for long in between. Routes whose claim
// the lease no longer holds are no longer ready.
func (m *leaseMigration) whileMarked(ctx context.Context, routes []*crossing, do func(context.Context, *marks) error) error {
	t := &marks{turn: m.x.Options.Turn, claims: map[string]*markedClaim{}}
	if t.turn != nil || len(routes) == 0 {
		return m.marking(ctx, t, routes, do)
	}
	t.turn = m.x.NewTurn([]lease.Group{m.x.Group})
	return errors.Join(parallel.Guard(func() error { return m.marking(ctx, t, routes, do) }), t.turn.Commit(ctx))
}

// marking is whileMarked in a turn that somebody else ends.
func (m *leaseMigration) marking(ctx context.Context, t *marks, routes []*crossing, do func(context.Context, *marks) error) error {
	if t.turn != nil {
		t.run = t.turn.Mark()
	}
	if len(routes) == 0 {
		return do(ctx, t)
	}
	if err := t.turn.Begin(ctx); err != nil && !errors.Is(err, turn.ErrAgain) { // mark reads outdated claims again
		return err
	}
	ctx = t.turn.Context(ctx)
	err := m.markRoutes(ctx, t, routes)
	if !command.CannotUndo(err) {
		err = errors.Join(err, do(ctx, t))
	}
	if !command.CannotUndo(err) {
		m.unmark(t)
	}
	return err
}

// markRoutes marks the parts that the routes serve, as an apply does before it writes or deletes.
func (m *leaseMigration) markRoutes(ctx context.Context, t *marks, routes []*crossing) error {
	var errs []error
	for _, c := range routes {
		name := state.HostName(c.use.Host)
		claim := cmp.Or(m.claims[name], m.x.Snapshot.Claim(name))
		if claim == nil {
			continue // stillMarked checks later that nobody has claimed it
		}
		if err := m.mark(ctx, t, claim, c); err != nil {
			c.ready = false
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// mark marks one part, and retries after lost races.
func (m *leaseMigration) mark(ctx context.Context, t *marks, claim *state.Claim, c *crossing) error {
	name, key := claim.Name(), state.RouteKey(c.use.Path)
	h := cmp.Or(t.claims[name], &markedClaim{now: claim})
	anew := false
	claim = h.now
	err := m.x.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		if !m.isMine(claim, key) {
			return false, m.yielded(claim, c)
		}
		entries := claim.Entries(m.x.Group)
		i := slices.IndexFunc(entries, func(p state.Part) bool { return p.Key == key })
		anew = anew || entries[i].Run != "" && entries[i].Run != t.run
		entries[i].Run = t.run
		now, err := m.x.Ledger.Put(ctx, claim, m.x.Group, entries)
		if err == nil {
			claim = now
			return true, nil
		}
		if _, err := ledger.Retry(err); err != nil {
			return false, err
		}
		claim, err = m.x.Ledger.Get(ctx, name)
		_, err = ledger.Retry(err)
		return false, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("host %s: %w", c.use.Host, ledger.ErrAgain)
	}
	if err != nil {
		return err
	}
	h.now, h.touch = claim, h.touch || anew
	t.claims[name] = h
	return nil
}

// isMine reports whether the migration's lease holds the part.
func (m *leaseMigration) isMine(claim *state.Claim, key string) bool {
	if claim == nil || claim.Deleting || claim.Unreadable != "" || claim.Owner != m.x.Group.Owner {
		return false
	}
	part := claim.Part(key)
	return part != nil && part.Lease.Group() == m.x.Group
}

// yielded returns a YieldedError that names the host's new holder.
func (m *leaseMigration) yielded(claim *state.Claim, c *crossing) error {
	key := state.RouteKey(c.use.Path)
	switch {
	case claim == nil || claim.Deleting || claim.Part(key) == nil:
		return &YieldedError{Host: c.use.Host, Why: "the lease has given it up meanwhile"}
	case !m.isMine(claim, key):
		return &YieldedError{Host: c.use.Host, Why: "lease " + claim.Part(key).Lease.String() + " has got it meanwhile"}
	}
	return &YieldedError{Host: c.use.Host, Why: "another run of the lease has taken it over meanwhile"}
}

// overtaken returns the error of a host that somebody else holds by now.
func (m *leaseMigration) overtaken(host string) error {
	return &report.OvertakenError{Kind: state.Host, Thing: host, Lease: m.x.Request.Lease}
}

// unmark records the claims without the marks, which mean nothing after the turn.
func (m *leaseMigration) unmark(t *marks) {
	for name, h := range t.claims {
		claim := *h.now
		claim.Parts = slices.Clone(claim.Parts)
		claim.Settle(func(p state.Part) bool { return p.Run == t.run })
		m.claims[name] = &claim
	}
}

// stillMarked reads the claim on a route's host, and returns a YieldedError if the run no longer holds it. Read the
// route before.
func (m *leaseMigration) stillMarked(ctx context.Context, t *marks, c *crossing) error {
	name := state.HostName(c.use.Host)
	claim, err := observed.ReadClaim(ctx, m.x.Ledger, name)
	switch before := m.x.Snapshot.Claim(name); {
	case err != nil:
		return err
	case before == nil && claim == nil:
		return nil
	case before == nil:
		return &YieldedError{Host: c.use.Host, Why: "it was claimed meanwhile"}
	case !m.isMine(claim, state.RouteKey(c.use.Path)) || claim.Part(state.RouteKey(c.use.Path)).Run != t.run:
		return m.yielded(claim, c)
	}
	return nil
}

// checkSuccessor checks once more that the new form of a route exists before the old one is deleted. If another run of
// the lease was under way, it changes the new form, so that a run that has read it cannot prune it.
func (m *leaseMigration) checkSuccessor(ctx context.Context, t *marks, c *crossing) error {
	o := c.main()
	live, err := m.x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if err != nil {
		return err
	}
	if live == nil || live.GetDeletionTimestamp() != nil {
		return &YieldedError{Host: c.use.Host, Why: fmt.Sprintf("its new route, %s %s/%s, is gone again", o.Kind.Singular, o.Namespace, o.Name)}
	}
	if why := m.leadsElsewhere(c, live); why != "" {
		return &YieldedError{Host: c.use.Host, Why: why}
	}
	if _, touch := m.touched(t, o, live); touch {
		_, err = m.put(ctx, t, o, live, true)
	}
	return err
}

// differing returns the routes whose new form has to be written.
func (m *leaseMigration) differing() (routes []*crossing) {
	for _, c := range m.routes {
		if c.why == "" && slices.ContainsFunc(c.objects, func(o render.Object) bool {
			live := m.x.Snapshot.Find(o)
			return !cluster.Unchanged(observed.KeepsTaken(o, live, lease.FieldManager), live, lease.FieldManager)
		}) {
			routes = append(routes, c)
		}
	}
	return routes
}

// mayEnd allows deleting an old route if it has not changed since it was read and its claim has the run's mark.
func (m *leaseMigration) mayEnd(t *marks, c *crossing) observed.MayGo {
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if err := m.stillMarked(ctx, t, c); err != nil {
			return false, err
		}
		if !executor.SameRoute(now, c.old.Live) {
			return false, fmt.Errorf("%s %s/%s was changed meanwhile; it stays, and the same command carries the change over",
				c.old.Kind.Singular, now.GetNamespace(), now.GetName())
		}
		return true, nil
	}
}
