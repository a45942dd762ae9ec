package watch

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
)

// between is how long a deployment group that fails is left alone after it was tried, whatever is gone that its error does not wait for.
const between = 10 * time.Second

// The limits of failures, as Akash's operators have them: how many are remembered, and for how long beyond that.
const (
	mostFailures = 131072
	oldFailure   = 726 * time.Hour
)

// failures are the deployment groups that fail. Each is tried again by itself, after a time that doubles, or when something is gone that
// may have been in its way.
type failures struct {
	mu sync.Mutex
	by map[lease.Group]reconcile.Failing
	// changed has an item if something of it has changed; nil tells nobody.
	changed chan struct{}
}

// tell says that something has changed. The caller holds mu.
func (f *failures) tell() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// unanswered reports whether an error says nothing of the deployment group: the API server gave no answer, or the command was stopped.
func unanswered(err error) bool {
	return cluster.IsAway(err) || errors.Is(err, cluster.ErrMoving) || errors.Is(err, context.Canceled)
}

// note records how the work for a deployment group has ended, and reports whether it had failed before and does not any more.
func (f *failures) note(g lease.Group, err error, now time.Time) (recovered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		if _, recovered = f.by[g]; recovered {
			delete(f.by, g)
			f.tell()
		}
		return recovered
	}
	if unanswered(err) {
		return false
	}
	if f.by == nil {
		f.by = map[lease.Group]reconcile.Failing{}
	}
	one := f.by[g]
	if one.Count++; one.Count == 1 {
		one.Since = now
	}
	one.Group, one.Err, one.Last = g, err, now
	f.by[g] = one
	prune(f.by, mostFailures, now.Add(-oldFailure))
	f.tell()
	return false
}

// prune forgets failures if there are too many: those from before a time, and then those that failed first, until there are few enough.
func prune(by map[lease.Group]reconcile.Failing, most int, old time.Time) {
	if len(by) <= most {
		return
	}
	maps.DeleteFunc(by, func(_ lease.Group, one reconcile.Failing) bool { return one.Last.Before(old) })
	if len(by) <= most {
		return
	}
	groups := slices.SortedFunc(maps.Keys(by), func(a, b lease.Group) int { return cmp.Or(by[a].Last.Compare(by[b].Last), a.Compare(b)) })
	for _, g := range groups[:len(by)-most] {
		delete(by, g)
	}
}

// all returns the deployment groups that fail.
func (f *failures) all() map[lease.Group]reconcile.Failing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.by)
}

// has reports whether a deployment group fails.
func (f *failures) has(g lease.Group) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, fails := f.by[g]
	return fails
}

// backoff is the rate limiter of the queue. It records when a deployment group that fails is tried again.
type backoff struct {
	limiter workqueue.TypedRateLimiter[lease.Group]
	failing *failures
}

// When returns after what time a deployment group that has failed is tried again.
func (b backoff) When(g lease.Group) time.Duration {
	after := b.limiter.When(g)
	b.failing.mu.Lock()
	defer b.failing.mu.Unlock()
	if one, ok := b.failing.by[g]; ok {
		one.Next = time.Now().Add(after)
		b.failing.by[g] = one
		b.failing.tell()
	}
	return after
}

// Forget begins anew with a deployment group, unless it fails: one that only waits for another command has not succeeded.
func (b backoff) Forget(g lease.Group) {
	if !b.failing.has(g) {
		b.limiter.Forget(g)
	}
}

// NumRequeues returns how often a deployment group has failed.
func (b backoff) NumRequeues(g lease.Group) int { return b.limiter.NumRequeues(g) }

// dueAfter is a deployment group that is due after a while.
type dueAfter struct {
	group lease.Group
	after time.Duration
}

// due returns which of the deployment groups that an object concerns are due now: those that do not fail. If the object may have made way
// (frees is its name, or that of the thing that was claimed), those that fail are due too: at once if their error waits for it, and else
// not sooner than a while after they were last tried. An object of a group that fails makes way for nobody: each would try again
// because the other has.
func (f *failures) due(concerned []lease.Group, frees string, now time.Time) (due []dueAfter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range concerned {
		if _, fails := f.by[g]; fails {
			frees = ""
		} else {
			due = append(due, dueAfter{group: g})
		}
	}
	if frees == "" {
		return due
	}
	for _, g := range slices.SortedFunc(maps.Keys(f.by), lease.Group.Compare) {
		one := f.by[g]
		after := max(0, one.Last.Add(between).Sub(now))
		if report.WaitsFor(one.Err, frees) {
			after = 0
		}
		due = append(due, dueAfter{g, after})
	}
	return due
}

// complaints passes on what goes wrong and concerns no lease alone: once, until it is over.
type complaints struct {
	complain func(error)

	mu   sync.Mutex
	said string
}

// note notes how some work has ended. nil says that what went wrong before is over.
func (c *complaints) note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.said
	if c.said = ""; err == nil {
		return
	}
	if c.said = err.Error(); c.said != was {
		c.complain(err)
	}
}

// betweenRecords is the least time between two records of the leases that fail.
const betweenRecords = 2 * time.Second

// recording records which leases fail, for state --problems, while this reconciler is elected: at its beginning and when that changes.
func (r *reconciler) recording(c *cluster.Cluster) manager.RunnableFunc {
	l, failed := ledger.New(c, r.opts.Command.Config.LedgerNamespace), complaints{complain: r.opts.Complain}
	return func(ctx context.Context) error {
		for {
			failed.note(r.record(ctx, l))
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(betweenRecords):
			}
			select {
			case <-ctx.Done():
				return nil
			case <-r.failing.changed:
			}
		}
	}
}

// record records the leases that fail now, those first that have failed longest.
func (r *reconciler) record(ctx context.Context, l ledger.Ledger) error {
	view, err := r.leases.Look(ctx)
	if err != nil {
		return err
	}
	by := r.failing.all()
	groups := slices.SortedFunc(maps.Keys(by), func(a, b lease.Group) int { return cmp.Or(by[a].Since.Compare(by[b].Since), a.Compare(b)) })
	all := make([]state.Failing, 0, len(groups))
	for _, g := range groups {
		f := by[g]
		one := state.Failing{Lease: g.String(), Error: reason(f.Err), Count: f.Count, Since: f.Since, Next: f.Next}
		if def := view.Definition(g); def != nil {
			one.Lease = def.Lease.String()
		}
		all = append(all, one)
	}
	return l.RecordFailing(ctx, r.opts.Set, all)
}

// reason returns the text of an error without the lease that it names.
func reason(err error) string {
	if of, ok := errors.AsType[*report.LeaseError](err); ok {
		err = of.Err
	}
	return err.Error()
}
