package watch

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue" // registers the metrics of work queues

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// worker does what is due for deployment groups.
type worker func(context.Context, []lease.Group) (map[lease.Group]error, error)

// queue has the deployment groups of which something may be due. Those that become due while others are worked on are worked on together, so
// that one command, with one announcement and one reading, does for many what it does for one.
type queue struct {
	due workqueue.TypedRateLimitingInterface[lease.Group]
	// work returns what has failed, with a busyError of each group for which another command is announced, or why nothing was done. after works
	// on those in the same way, which wait for the same command. Neither gets more groups than one announcement can name.
	work, after worker
	failing     *failures
	// ended is told why nothing was done for a batch, and with nil that something was.
	ended func(error)
	now   func() time.Time
	// afters has an item for each command that works after another one. waiting has, by the nonce of that one, the groups that such a command
	// is to work on: one at a time does, and what becomes due meanwhile is the next one's.
	afters  chan struct{}
	mu      sync.Mutex
	waiting map[string][]lease.Group
}

// newQueue returns an empty queue.
func newQueue(work, after worker, failing *failures, ended func(error), now func() time.Time) *queue {
	limiter := backoff{workqueue.NewTypedItemExponentialFailureRateLimiter[lease.Group](time.Second, 5*time.Minute), failing}
	return &queue{
		due:  workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[lease.Group]{Name: "leases"}),
		work: work, after: after, failing: failing, ended: ended, now: now,
		afters: make(chan struct{}, aftersAtOnce), waiting: map[string][]lease.Group{},
	}
}

// run works on what is due until the context ends, and returns when nothing is under way any more.
func (q *queue) run(ctx context.Context) {
	defer context.AfterFunc(ctx, q.due.ShutDown)()
	var under sync.WaitGroup
	free, room := make(chan struct{}, batchesAtOnce), semaphore.NewWeighted(leasesAtOnce)
	for {
		free <- struct{}{}
		groups := q.next()
		if len(groups) == 0 {
			break
		}
		size := int64(len(groups))
		_ = room.Acquire(context.Background(), size) // what is under way ends, also when ctx does
		under.Go(func() {
			defer func() { <-free }()
			defer room.Release(size)
			q.batch(ctx, groups, &under)
			if size == state.MaxAnnounced && q.due.Len() == 0 {
				debug.FreeOSMemory() // a reconciler that starts takes several times what it keeps
			}
		})
	}
	under.Wait()
}

// next waits until something is due, and takes all that is then, at most what one announcement can name. It returns nothing once the queue is
// shut down and empty.
func (q *queue) next() (groups []lease.Group) {
	for len(groups) == 0 || len(groups) < state.MaxAnnounced && q.due.Len() > 0 { // nobody else takes from it
		g, over := q.due.Get()
		if over {
			break
		}
		groups = append(groups, g)
	}
	return groups
}

// batch works on deployment groups. Those for which another command is announced are worked on after that one, with others for which it is
// announced: it may have crashed. Before, they wait for the end of it.
func (q *queue) batch(ctx context.Context, groups []lease.Group, under *sync.WaitGroup) {
	failed, after := q.do(ctx, q.work, groups), map[string][]lease.Group{}
	for _, g := range groups {
		busy, is := errors.AsType[*busyError](failed[g])
		if !is {
			q.end(g, failed[g])
			continue
		}
		if wait := others - q.now().Sub(busy.by.Begun); wait > 0 {
			q.again(g, wait)
			continue
		}
		after[busy.by.Nonce] = append(after[busy.by.Nonce], g)
	}
	for nonce, groups := range after {
		if q.wait(nonce, groups) {
			under.Go(func() { q.follow(ctx, nonce) })
		}
	}
}

// wait lets deployment groups wait for the command that works after another one, and tells whether nobody follows that one yet.
func (q *queue) wait(nonce string, groups []lease.Group) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting, followed := q.waiting[nonce]
	q.waiting[nonce] = append(waiting, groups...)
	return !followed
}

// follow works on what waits for another command, until nothing does.
func (q *queue) follow(ctx context.Context, nonce string) {
	for over := false; !over; {
		q.afters <- struct{}{}
		var groups []lease.Group
		if groups, over = q.waitedFor(nonce); !over {
			failed := q.do(ctx, q.after, groups)
			for _, g := range groups {
				q.end(g, failed[g])
			}
		}
		<-q.afters
	}
}

// waitedFor takes what waits for another command, at most what one announcement can name. Nothing waits for it any more when over is true.
func (q *queue) waitedFor(nonce string) (groups []lease.Group, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting[nonce]
	if len(all) == 0 {
		delete(q.waiting, nonce)
		return nil, true
	}
	n := min(len(all), state.MaxAnnounced)
	q.waiting[nonce] = all[n:]
	return all[:n], false
}

// do works on deployment groups, and returns the error of each. A panic is the error of all, as is why nothing was done.
func (q *queue) do(ctx context.Context, work worker, groups []lease.Group) (failed map[lease.Group]error) {
	err := ctx.Err()
	if err == nil {
		err = parallel.Guard(func() (err error) {
			failed, err = work(ctx, groups)
			return err
		})
	}
	if q.ended(err); err != nil {
		failed = reconcile.FailAll(groups, err)
	}
	return failed
}

// end ends the work on a deployment group.
func (q *queue) end(g lease.Group, err error) {
	switch recovered := q.failing.note(g, err, time.Now()); {
	case recovered: // what has happened meanwhile made it not due
		q.again(g, time.Millisecond)
		return
	case err != nil:
		q.due.AddRateLimited(g)
	default:
		q.due.Forget(g)
	}
	q.due.Done(g)
}

// again ends the work on a deployment group that is due again after a while.
func (q *queue) again(g lease.Group, after time.Duration) {
	q.due.Forget(g)
	q.due.AddAfter(g, after)
	q.due.Done(g)
}

// busyError says that another command is announced for a deployment group.
type busyError struct{ by *state.Announcement }

func (e *busyError) Error() string { return e.by.InTheWay() }

// busy returns those of the deployment groups for which commands are announced that have not ended.
func (r *reconciler) busy(ctx context.Context, groups []lease.Group) (map[lease.Group]*busyError, error) {
	all, err := r.leases.Announced(ctx)
	if err != nil {
		return nil, err
	}
	book := ledger.New(r.opts.Cluster, r.opts.Command.Config.LedgerNamespace)
	return busyOf(groups, all, func(nonce string) (now *state.Announcement, err error) {
		err = book.Objects.Until(ctx, func(ctx context.Context) (err error) {
			if now, err = book.Announcements.Get(ctx, nonce); now != nil && now.Unreadable != "" {
				err = nil // it is in the way all the same
			}
			return err
		})
		return now, err
	})
}

// busyOf returns those of the deployment groups that announcements name, by the metadata of the ledger's objects. That may be a moment
// old, and show announcements of commands that have ended, also the reconciler's own: each that is in the way is read again.
func busyOf(
	groups []lease.Group, all []*metav1.ObjectMeta, read func(nonce string) (*state.Announcement, error),
) (map[lease.Group]*busyError, error) {
	asked, busy := make(map[lease.Group]bool, len(groups)), map[lease.Group]*busyError{}
	for _, g := range groups {
		asked[g] = true
	}
	for _, m := range all {
		nonce, announced := state.AnnouncedNonce(m.Name)
		if !announced || m.Annotations[state.AnnotationPhase] == string(state.Fenced) {
			continue
		}
		var named []lease.Group
		for _, g := range groupsIn(m) {
			if asked[g] {
				named = append(named, g)
			}
		}
		if len(named) == 0 {
			continue
		}
		now, err := read(nonce)
		if err != nil {
			return nil, err
		}
		for _, g := range named {
			if !protocol.Lost(now) && now.Names(g) {
				busy[g] = &busyError{now}
			}
		}
	}
	return busy, nil
}

// changedFor returns the deployment groups for which an object has changed: not that whose own command has written what is there now.
func (r *reconciler) changedFor(resource schema.GroupVersionResource, was, is client.Object) (groups []lease.Group) {
	var writer []lease.Group
	if is != nil && r.memory.IsOwn(listed.VersionOf(is)) {
		writer = r.concerned(resource, is)
	}
	for _, o := range []client.Object{was, is} {
		if o != nil {
			groups = append(groups, r.concerned(resource, o)...)
		}
	}
	return slices.DeleteFunc(groups, func(g lease.Group) bool { return slices.Contains(writer, g) })
}

// concerned returns the deployment groups that an object concerns.
func (r *reconciler) concerned(resource schema.GroupVersionResource, o client.Object) []lease.Group {
	meta, ok := o.(*metav1.PartialObjectMetadata)
	switch {
	case resource == cluster.Leases && ok:
		return r.inLedger(&meta.ObjectMeta)
	case resource == nodes:
		return nil
	}
	if id, ok := lease.IDFromLabels(o.GetLabels()); ok {
		return []lease.Group{id.Group()}
	}
	return nil
}

// inLedger returns the deployment groups that an object of the ledger concerns: those that an announcement names, that have an entry on
// a claim, or of which it keeps the definition.
func (r *reconciler) inLedger(meta *metav1.ObjectMeta) []lease.Group {
	if nonce, ok := state.AnnouncedNonce(meta.Name); ok {
		if r.memory.IsOwn(nonce) { // that command tells how it ends
			return nil
		}
		return groupsIn(meta)
	}
	if d, ok := kept.Read(meta); ok {
		if g, ok := r.leases.Kept(d); ok {
			return []lease.Group{g}
		}
		return nil
	}
	c, ok := state.ReadClaim(meta)
	if !ok {
		return nil
	}
	return c.Writers()
}

// over returns the deployment group whose failure is over because of what became of its kept definition: it is kept no more, and none of the
// source that names the lease, if one does; or it is another source's; or a person has suspended or resumed the lease. A command that is
// refused takes the definition back that it has written, which is none of these.
func (r *reconciler) over(resource schema.GroupVersionResource, was, is client.Object) (groups []lease.Group) {
	meta, ok := was.(*metav1.PartialObjectMetadata)
	if resource != cluster.Leases || !ok {
		return nil
	}
	before, ok := kept.Read(&meta.ObjectMeta)
	if !ok {
		return nil
	}
	g, ok := r.leases.Kept(before)
	if now, there := is.(*metav1.PartialObjectMetadata); there {
		after, _ := kept.Read(&now.ObjectMeta)
		ok = ok && (after.Suspended != before.Suspended || after.Source != before.Source)
	} else {
		def, by := r.leases.DefinedBy(g)
		ok = ok && (def == nil || by != before.Source)
	}
	if ok {
		groups = append(groups, g)
	}
	return groups
}

// frees returns the name of what may have made way for leases that fail, empty if nothing has: an object is gone, or a claim or something
// that somebody else has written is another one.
func (r *reconciler) frees(resource schema.GroupVersionResource, was, is client.Object) string {
	switch {
	case resource == nodes || was == nil:
		return ""
	case resource == cluster.Leases:
		meta, _ := was.(*metav1.PartialObjectMetadata)
		if c, claim := state.ReadClaim(&meta.ObjectMeta); claim {
			return c.Thing
		}
		return ""
	case is == nil, was.GetGeneration() != is.GetGeneration(), is.GetGeneration() == 0:
		return was.GetName()
	}
	return ""
}

// groupsIn returns the deployment groups that an announcement names.
func groupsIn(meta *metav1.ObjectMeta) (groups []lease.Group) {
	for _, text := range strings.Fields(meta.Annotations[state.AnnotationGroups]) {
		if g, err := lease.ParseGroup(text); err == nil {
			groups = append(groups, g)
		}
	}
	return groups
}
