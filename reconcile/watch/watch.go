// Package watch reconciles for ever: watches say what has changed, and what is due is done. It is built on controller-runtime, whose
// start costs milliseconds, and is imported by the reconciler's own program only.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/reconcile/serve"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/state"
)

const (
	// renewed is how long the elected one may try to renew that before it gives up.
	renewed = 10 * time.Second
	// stopping is how long the commands that are under way may take when the reconciler stops.
	stopping = 8 * time.Second
	// batchesAtOnce is how many commands the reconciler runs at a time, leasesAtOnce for how many leases, each of which takes about 100 KiB
	// meanwhile: a large command that waits leaves room for another one. aftersAtOnce is how many commands beside them wait for others.
	batchesAtOnce = 4
	leasesAtOnce  = 2 * state.MaxAnnounced
	aftersAtOnce  = 16
	// others is how long a lease waits for another command that is announced for it, before it is worked on after that one: then that one
	// has ended, or is taken for crashed.
	others = 15 * time.Second
	// answered is after what time the answer to a write has come, too, of which a watch has told.
	answered = 50 * time.Millisecond
	// pause is how long the reconciler waits before it begins anew.
	pause = 2 * time.Second
)

// Run reconciles until the context ends. It fails if it cannot begin. Later it begins anew after a while whatever has ended it: if the API
// server is away for so long that another reconciler may be at work, it stands for election again.
func Run(ctx context.Context, opts reconcile.Watching) error {
	shown := &serve.Shown{}
	metrics, shows := serve.NewMetrics(shown), page.New(ctx, page.Options{Look: shown.Seen, Every: time.Minute})
	return serve.Beside(ctx, serve.Options{
		Listen: opts.Listen, Rest: opts.Rest, Shown: shown, Metrics: metrics, Version: opts.Command.Version, Page: shows,
	}, func(ctx context.Context) error { return run(ctx, opts, shown, metrics, shows.Changed) })
}

// run reconciles, and begins anew whenever that has ended.
func run(ctx context.Context, opts reconcile.Watching, shown *serve.Shown, metrics *serve.Metrics, changed func()) error {
	start, err := prepare(ctx, opts, shown, metrics, changed)
	for err == nil {
		if err = start(ctx); ctx.Err() != nil {
			return err
		}
		said := ""
		for err = cmp.Or(err, errEnded); err != nil; {
			err = opts.Cluster.Explain(err, "watch", cluster.Leases)
			if said != err.Error() {
				opts.Complain(fmt.Errorf("%w\nIt begins anew, until it is stopped", err))
			}
			said = err.Error()
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(pause):
			}
			start, err = prepare(ctx, opts, shown, metrics, changed)
		}
	}
	return err
}

// errEnded is the error of watches that have ended without one.
var errEnded = errors.New("the watches have ended")

// prepare returns a reconciler that reconciles until the context ends, or until another one may be at work. What it watches is shown.
func prepare(
	ctx context.Context, opts reconcile.Watching, shown *serve.Shown, metrics *serve.Metrics, changed func(),
) (start func(context.Context) error, _ error) {
	logger := logr.FromSlogHandler(slog.NewTextHandler(opts.Log, &slog.HandlerOptions{Level: slog.LevelError}))
	log.SetLogger(logger)
	elects, err := newElection(opts)
	if err != nil {
		return nil, err
	}
	shared, grace, deadline := true, stopping, renewed
	mgr, err := manager.New(opts.Rest, manager.Options{
		LeaderElection: opts.Elect, LeaderElectionID: state.ElectionName(opts.Set), LeaderElectionResourceLockInterface: elects,
		LeaderElectionReleaseOnCancel: true, RenewDeadline: &deadline, GracefulShutdownTimeout: &grace,
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	elects.events = mgr.GetEventRecorder(state.Reconciler)
	seen := &watched{kinds: map[schema.GroupVersionResource]watching{}, missing: map[schema.GroupVersionResource]bool{}}
	seen.cache, err = cache.New(opts.Rest, cache.Options{ // not the manager's, which waits for all kinds
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultWatchErrorHandler: seen.fails,
		ReaderFailOnMissingInformer: true, DefaultUnsafeDisableDeepCopy: &shared, DefaultTransform: (&sharing{}).transform, ByObject: narrowed(opts),
	})
	if err != nil {
		return nil, err
	}
	r := &reconciler{
		opts: opts, changed: changed, mapper: mgr.GetRESTMapper(), client: mgr.GetClient(), manifests: make(chan struct{}, 1), said: make(chan struct{}), watched: seen,
	}
	watching := opts.Cluster.Watching(r.watched)
	r.failing.changed = make(chan struct{}, 1)
	r.memory = watching.Cache.Memory
	r.leases = reconcile.New(watching, opts.Command, opts.Limits)
	r.leases.Ran = metrics.Ran
	r.sources, r.names = slices.Clone(opts.Sources), slices.Clone(opts.Names)
	if opts.Manifests != nil {
		r.sources, r.names = append(r.sources, sources.Changing{
			Read: func(ctx context.Context) sources.Set { return opts.Manifests(cluster.Early(ctx), watching) }, Changed: r.manifests,
		}), append(r.names, reconcile.OfManifests)
	}
	r.whole.complain = opts.Complain
	r.queue = newQueue(r.work, r.leases.WorkAfter, &r.failing, r.whole.note, opts.Cluster.Now)
	if err := r.watchAll(ctx); err != nil {
		return nil, err
	}
	w := r.world(watching, metrics)
	all := []manager.Runnable{
		unelected(seen.cache.Start),
		unelected(seen.then(func(ctx context.Context) error {
			shown.Show(ctx, w)
			return nil
		})),
		seen.then(r.reconcile), seen.then(r.recording(opts.Cluster)),
	}
	if opts.Events != nil {
		all = append(all, seen.then(r.carrying(watching))) // the manager waits for the end of it
	}
	for _, one := range all {
		if err := mgr.Add(one); err != nil {
			return nil, err
		}
	}
	return mgr.Start, nil
}

// reconciler does what is due for deployment groups.
type reconciler struct {
	opts reconcile.Watching
	// changed is called whenever something that is watched has changed, also while another reconciler is elected.
	changed func()
	mapper  meta.RESTMapper
	client  client.Client
	watched *watched
	leases  *reconcile.Reconciler
	queue   *queue
	elected atomic.Bool
	failing failures
	whole   complaints
	memory  *listed.Memory
	// sources say which leases there are to be, by their names. manifests has an item if a Manifest has changed.
	sources   []sources.Source
	names     []string
	manifests chan struct{}
	// said is closed when each source has said what it says, or will never.
	said chan struct{}
}

// reconcile works on what is due until the context ends. It begins with all that is watched, once each source has been asked: what the
// ledger has of a lease that no source names is given up.
func (r *reconciler) reconcile(ctx context.Context) error {
	r.elected.Store(true)
	for _, w := range r.watched.kinds {
		if err := r.dueAll(w); err != nil {
			return err
		}
	}
	var following sync.WaitGroup
	following.Go(func() { r.follow(ctx) })
	select {
	case <-r.said:
		r.queue.run(ctx)
	case <-ctx.Done():
	}
	following.Wait()
	return nil
}

// work does what is due for those deployment groups for which no other command is announced. The error says why nothing was done.
func (r *reconciler) work(ctx context.Context, groups []lease.Group) (map[lease.Group]error, error) {
	busy, err := r.busy(ctx, groups)
	if err != nil {
		return nil, err
	}
	free := slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return busy[g] != nil })
	failed := map[lease.Group]error{}
	if len(free) > 0 {
		if failed, err = r.leases.Work(ctx, free); err != nil {
			return nil, err
		}
	}
	for g, by := range busy {
		failed[g] = by
	}
	return failed, nil
}

// follow follows the sources, and decides everything anew from time to time.
func (r *reconciler) follow(ctx context.Context) {
	work := parallel.New(len(r.sources) + 2)
	var first sync.WaitGroup
	first.Add(len(r.sources))
	work.Go(func() error {
		first.Wait()
		close(r.said)
		return nil
	})
	for i, s := range r.sources {
		said := sync.OnceFunc(first.Done)
		work.Go(func() error {
			defer said()
			return s.Run(ctx, func(set sources.Set) {
				r.opts.Warn(set.Warnings)
				if set.Err != nil {
					r.opts.Complain(set.Err)
				}
				changed := r.leases.Says(i, reconcile.SaidOf(r.names[i], set))
				said()
				r.add(ctx, func(v *reconcile.View) []lease.Group { return append(changed, v.Over()...) })
			})
		})
	}
	work.Go(func() error {
		tick := time.NewTicker(r.opts.Resync)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
				r.memory.Clear()
				if err := errors.Join(r.watchAll(ctx), r.leases.Forget(ctx)); err != nil {
					r.opts.Complain(err)
				}
				r.add(ctx, (*reconcile.View).Groups)
			}
		}
	})
	if err := work.Wait(); err != nil && ctx.Err() == nil {
		r.opts.Complain(err)
	}
}

// add makes deployment groups due.
func (r *reconciler) add(ctx context.Context, which func(*reconcile.View) []lease.Group) {
	view, err := r.leases.Look(ctx)
	if r.whole.note(err); err != nil {
		return
	}
	for _, g := range which(view) {
		r.queue.due.Add(g)
	}
}

// election is the Lease by which one of several reconcilers is elected (resourcelock.Interface). Who waits reads it every two seconds, and
// whoever is elected renews it: so each says who is elected when it learns of it, and sends no request of its own for that.
type election struct {
	lease resourcelock.Interface
	say   func(string)
	// events receives what a leader election tells of itself. It is there once the manager is.
	events recorder.EventRecorder
	// holder is who was elected when that was said last.
	holder string
}

// newElection returns the election in which this reconciler stands, under a name that no other has.
func newElection(opts reconcile.Watching) (*election, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	to := rest.CopyConfig(opts.Rest)
	to.Timeout = renewed / 2 // as resourcelock.NewFromKubeconfig: one that hangs is sent again in time
	client, err := coordinationv1.NewForConfig(to)
	if err != nil {
		return nil, err
	}
	e := &election{say: opts.Say}
	e.lease = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: opts.Command.Config.LedgerNamespace, Name: state.ElectionName(opts.Set)}, Client: client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID()), EventRecorder: e},
		Labels:     map[string]string{state.LabelComponent: state.ComponentElection, state.LabelInstance: state.Instance(opts.Set)},
	}
	return e, nil
}

// elected says who is elected, unless that was said last. Nobody is while the name is empty.
func (e *election) elected(holder string) {
	switch {
	case holder == e.holder || holder == "":
		return
	case holder == e.Identity():
		e.say(fmt.Sprintf("reconciler %s is elected; it is this one", holder))
	default:
		e.say(fmt.Sprintf("reconciler %s is elected; this one stands by", holder))
	}
	e.holder = holder
}

// Get reads who is elected.
func (e *election) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := e.lease.Get(ctx)
	if err == nil {
		e.elected(record.HolderIdentity)
	}
	return record, raw, err
}

// Create makes this reconciler the elected one, the first time.
func (e *election) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.wrote(record, e.lease.Create(ctx, record))
}

// Update makes this reconciler the elected one, renews that, or gives it up.
func (e *election) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return e.wrote(record, e.lease.Update(ctx, record))
}

func (e *election) wrote(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		e.elected(record.HolderIdentity)
	}
	return err
}

// RecordEvent tells of this reconciler in an event.
func (e *election) RecordEvent(what string) { e.lease.RecordEvent(what) }

// Eventf writes that event (resourcelock.EventRecorder).
func (e *election) Eventf(about runtime.Object, kind, reason, format string, args ...any) {
	e.events.Eventf(about, nil, kind, reason, "Elect", format, args...)
}

// Identity is the name under which this reconciler stands for election.
func (e *election) Identity() string { return e.lease.Identity() }

// Describe names the Lease.
func (e *election) Describe() string { return e.lease.Describe() }
