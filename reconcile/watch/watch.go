// Package watch reconciles for ever: watches say what has changed, and what is due is done. It is built on controller-runtime, whose
// start costs milliseconds, and is imported by the reconciler's own program only.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	controllers "sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/sources"
	"github.com/akash-net/kubectl-akash-net/state"
)

const (
	// Elects is the name of the Lease with which reconcilers elect the one that works, in the namespace of the ledger.
	Elects = "akash-net-reconciler"
	// stopping is how long the commands that are under way may take when the reconciler stops.
	stopping = 8 * time.Second
	// batchesAtOnce is how many commands the reconciler runs at a time.
	batchesAtOnce = 4
	// others is how long a lease waits for another command that is announced for it, before it is worked on alone: then that command
	// has ended, or is taken for crashed.
	others = 15 * time.Second
	// pause is how long the reconciler waits before it begins anew.
	pause = 2 * time.Second
)

// Run reconciles until the context ends. It fails if it cannot begin. Later it begins anew after a while whatever has ended it: if the API
// server is away for so long that another reconciler may be at work, it stands for election again.
func Run(ctx context.Context, opts reconcile.Watching) error {
	start, err := prepare(ctx, opts)
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
			start, err = prepare(ctx, opts)
		}
	}
	return err
}

// errEnded is the error of watches that have ended without one.
var errEnded = errors.New("the watches have ended")

// prepare returns a reconciler that reconciles until the context ends, or until another one may be at work.
func prepare(ctx context.Context, opts reconcile.Watching) (start func(context.Context) error, _ error) {
	logger := logr.FromSlogHandler(slog.NewTextHandler(opts.Log, &slog.HandlerOptions{Level: slog.LevelError}))
	log.SetLogger(logger)
	shared, again, grace := true, true, stopping
	mgr, err := manager.New(opts.Rest, manager.Options{
		Cache: cache.Options{
			ReaderFailOnMissingInformer: true, DefaultUnsafeDisableDeepCopy: &shared, ByObject: narrowed(opts),
		},
		LeaderElection: opts.Elect, LeaderElectionID: Elects, LeaderElectionNamespace: opts.Command.Config.LedgerNamespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: &grace,
		Metrics: server.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	r := &reconciler{opts: opts, mapper: mgr.GetRESTMapper(), client: mgr.GetClient(), manifests: make(chan struct{}, 1), watched: &watched{
		cache: mgr.GetCache(), kinds: map[schema.GroupVersionResource]watching{}, missing: map[schema.GroupVersionResource]bool{},
	}}
	watching := opts.Cluster.Watching(r.watched)
	r.leases = reconcile.New(watching, opts.Command, opts.Limits)
	r.sources, r.names = slices.Clone(opts.Sources), slices.Clone(opts.Names)
	if opts.Manifests != nil {
		r.sources, r.names = append(r.sources, sources.Changing{
			Read: func(ctx context.Context) sources.Set { return opts.Manifests(cluster.Early(ctx), watching) }, Changed: r.manifests,
		}), append(r.names, reconcile.OfManifests)
	}
	r.batches = newBatches(batchesAtOnce, state.MaxAnnounced, r.work)
	silent := func(*lease.Group) logr.Logger { return logr.Discard() } // the events of the commands say what has failed
	c, err := controller.NewTyped("leases", mgr, controller.TypedOptions[lease.Group]{
		Reconciler: r, SkipNameValidation: &again, MaxConcurrentReconciles: 2 * state.MaxAnnounced, LogConstructor: silent,
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[lease.Group](time.Second, 5*time.Minute),
	})
	if err != nil {
		return nil, err
	}
	if err := r.watchAll(ctx, c); err != nil {
		return nil, err
	}
	if err := c.Watch(source.TypedFunc[lease.Group](func(ctx context.Context, q workqueue.TypedRateLimitingInterface[lease.Group]) error {
		go r.follow(ctx, c, q)
		return nil
	})); err != nil {
		return nil, err
	}
	return mgr.Start, nil
}

// narrowed limits watches to the namespaces from which something is read.
func narrowed(opts reconcile.Watching) map[client.Object]cache.ByObject {
	in := func(namespace string) cache.ByObject {
		return cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	}
	return map[client.Object]cache.ByObject{
		metaOf(leaseKind):                          in(opts.Command.Config.LedgerNamespace),
		wholeOf(kinds.Deployment.GroupVersionKind): in(observed.OperatorsNamespace),
		wholeOf(kinds.Manifest.GroupVersionKind):   in(opts.Command.Config.ManifestNamespace),
	}
}

var (
	leaseKind = schema.GroupVersionKind{Group: cluster.Leases.Group, Version: cluster.Leases.Version, Kind: "Lease"}
	nodeKind  = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	nodes     = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
)

func metaOf(kind schema.GroupVersionKind) client.Object {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	return o
}

func wholeOf(kind schema.GroupVersionKind) client.Object {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

// reconciler does what is due for deployment groups.
type reconciler struct {
	opts    reconcile.Watching
	mapper  meta.RESTMapper
	client  client.Client
	watched *watched
	leases  *reconcile.Reconciler
	batches *batches
	failing failures
	// sources say which leases there are to be, by their names. manifests has an item if a Manifest has changed.
	sources   []sources.Source
	names     []string
	manifests chan struct{}
}

// Reconcile does what is due for a deployment group. While another command is announced for it, it waits for the end of that, and then is
// worked on alone: that command may not have ended.
func (r *reconciler) Reconcile(ctx context.Context, g lease.Group) (controllers.Result, error) {
	err := r.batches.do(ctx, g)
	if busy, is := errors.AsType[*busyError](err); is {
		if wait := others - r.opts.Cluster.Now().Sub(busy.since); wait > 0 {
			return controllers.Result{RequeueAfter: wait}, nil
		}
		err = r.leases.Work(ctx, []lease.Group{g})[g]
	}
	r.failing.note(g, err, time.Now())
	return controllers.Result{}, err
}

// busyError says that another command is announced for a deployment group.
type busyError struct{ since time.Time }

func (e *busyError) Error() string { return "another command is at work on it" }

// work does what is due for those deployment groups for which no other command is announced.
func (r *reconciler) work(ctx context.Context, groups []lease.Group) map[lease.Group]error {
	busy, err := r.announced(ctx)
	if err != nil {
		return reconcile.FailAll(groups, err)
	}
	free := slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return busy[g] != nil })
	failed := map[lease.Group]error{}
	if len(free) > 0 {
		failed = r.leases.Work(ctx, free)
	}
	for _, g := range groups {
		if busy[g] != nil {
			failed[g] = busy[g]
		}
	}
	return failed
}

// announced returns the deployment groups for which commands are announced that have not ended.
func (r *reconciler) announced(ctx context.Context) (map[lease.Group]*busyError, error) {
	all, err := r.watched.Metas(ctx, cluster.Leases, r.opts.Command.Config.LedgerNamespace)
	busy := map[lease.Group]*busyError{}
	for _, m := range all {
		if _, ok := state.AnnouncedNonce(m.Name); !ok || m.Annotations[state.AnnotationPhase] == string(state.Fenced) { // it is over
			continue
		}
		for _, g := range groupsIn(m) {
			busy[g] = &busyError{m.CreationTimestamp.Time}
		}
	}
	return busy, err
}

// watchAll watches the kinds that are read and that the cluster serves, unless they are watched. Who may not watch nodes, or whether
// Akash's operators run, lists them each time, or goes on without them.
func (r *reconciler) watchAll(ctx context.Context, c controller.TypedController[lease.Group]) error {
	cfg := r.opts.Command.Config
	all := []watching{
		{cluster.Leases, metaOf(leaseKind), cfg.LedgerNamespace, true}, {cluster.Namespaces, metaOf(kinds.Namespace.GroupVersionKind), "", true},
		{nodes, wholeOf(nodeKind), "", false}, {kinds.Deployment.Resource(), wholeOf(kinds.Deployment.GroupVersionKind), observed.OperatorsNamespace, false},
		{kinds.Manifest.Resource(), wholeOf(kinds.Manifest.GroupVersionKind), cfg.ManifestNamespace, true},
	}
	for _, k := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Pools, kinds.RecordsOf(cfg)) {
		all = append(all, watching{k.Resource(), wholeOf(k.GroupVersionKind), "", true})
	}
	for _, one := range all {
		if err := r.watch(ctx, c, one); err != nil {
			return err
		}
	}
	return nil
}

// watching is a resource to watch, in all namespaces if namespace is empty.
type watching struct {
	resource  schema.GroupVersionResource
	object    client.Object
	namespace string
	required  bool
}

// may reports whether this user may watch a resource.
func (r *reconciler) may(ctx context.Context, w watching) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: w.namespace, Verb: "watch", Group: w.resource.Group, Version: w.resource.Version, Resource: w.resource.Resource,
		},
	}}
	err := r.client.Create(ctx, review)
	return err == nil && review.Status.Allowed, err
}

// watch watches a kind if the cluster serves it.
func (r *reconciler) watch(ctx context.Context, c controller.TypedController[lease.Group], w watching) error {
	resource, o := w.resource, w.object
	kind := o.GetObjectKind().GroupVersionKind()
	r.watched.mu.RLock()
	_, done := r.watched.kinds[resource]
	r.watched.mu.RUnlock()
	if done {
		return nil
	}
	_, err := r.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		r.watched.mu.Lock()
		r.watched.missing[resource] = true
		r.watched.mu.Unlock()
		return nil
	}
	if err != nil {
		return err
	}
	switch allowed, err := r.may(ctx, w); {
	case err != nil:
		return err
	case !allowed && !w.required:
		return nil
	case !allowed:
		return r.opts.Cluster.Explain(apierrors.NewForbidden(resource.GroupResource(), "", nil), "watch", resource)
	}
	if err := c.Watch(source.TypedKind[client.Object, lease.Group](r.watched.cache, o, r.handler(resource))); err != nil {
		return err
	}
	r.watched.mu.Lock()
	defer r.watched.mu.Unlock()
	r.watched.kinds[resource] = w
	delete(r.watched.missing, resource)
	return nil
}

// handler makes the deployment groups due that an object concerns, as it was and as it is: those that do not fail, because what a command
// that has failed has written is no reason to try it again. Where the object may have been in the way, those that fail are due too.
func (r *reconciler) handler(resource schema.GroupVersionResource) handler.TypedEventHandler[client.Object, lease.Group] {
	type queue = workqueue.TypedRateLimitingInterface[lease.Group]
	see := func(q queue, was, is client.Object) {
		var groups []lease.Group
		for _, o := range []client.Object{was, is} {
			if o != nil {
				groups = append(groups, r.concerned(resource, o)...)
			}
		}
		for _, g := range r.failing.due(groups, r.frees(resource, was, is)) {
			q.Add(g)
		}
		if resource == kinds.Manifest.Resource() {
			select {
			case r.manifests <- struct{}{}:
			default:
			}
		}
	}
	return handler.TypedFuncs[client.Object, lease.Group]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) { see(q, nil, e.Object) },
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) { see(q, e.Object, nil) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			see(q, e.ObjectOld, e.ObjectNew)
		},
	}
}

// follow follows the sources, and decides everything anew from time to time.
func (r *reconciler) follow(ctx context.Context, c controller.TypedController[lease.Group], q workqueue.TypedRateLimitingInterface[lease.Group]) {
	work := parallel.New(len(r.sources) + 1)
	for i, s := range r.sources {
		work.Go(func() error {
			return s.Run(ctx, func(set sources.Set) {
				r.opts.Warn(set.Warnings)
				if set.Err != nil {
					r.opts.Complain(set.Err)
				}
				changed := r.leases.Says(i, reconcile.SaidOf(r.names[i], set))
				r.add(ctx, q, func(v *reconcile.View) []lease.Group { return append(changed, v.Over()...) })
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
				if err := r.watchAll(ctx, c); err != nil {
					r.opts.Complain(err)
				}
				r.add(ctx, q, (*reconcile.View).Groups)
			}
		}
	})
	if err := work.Wait(); err != nil && ctx.Err() == nil {
		r.opts.Complain(err)
	}
}

// add makes deployment groups due.
func (r *reconciler) add(ctx context.Context, q workqueue.TypedRateLimitingInterface[lease.Group], which func(*reconcile.View) []lease.Group) {
	view, err := r.leases.Look(ctx)
	if err != nil {
		r.opts.Complain(err)
		return
	}
	for _, g := range which(view) {
		q.Add(g)
	}
}
