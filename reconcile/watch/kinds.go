package watch

import (
	"cmp"
	"context"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
)

// narrowed limits watches to the namespaces from which something is read.
func narrowed(opts reconcile.Watching) map[client.Object]cache.ByObject {
	in := func(namespace string) cache.ByObject {
		return cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	}
	return map[client.Object]cache.ByObject{
		metaOf(leaseKind):                          in(opts.Command.Config.LedgerNamespace),
		wholeOf(kinds.Deployment.GroupVersionKind): in(manifests.OperatorsNamespace),
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

// watchAll watches the kinds that are read and that the cluster serves, unless they are watched. Who may not watch nodes, or whether
// Akash's operators run, lists them each time, or goes on without them.
func (r *reconciler) watchAll(ctx context.Context) error {
	cfg := r.opts.Command.Config
	all := []watching{
		{cluster.Leases, metaOf(leaseKind), cfg.LedgerNamespace, true, nil, nil, nil}, {cluster.Namespaces, metaOf(kinds.Namespace.GroupVersionKind), "", true, nil, nil, nil},
		{nodes, wholeOf(nodeKind), "", false, nil, nil, nil}, {kinds.Deployment.Resource(), wholeOf(kinds.Deployment.GroupVersionKind), manifests.OperatorsNamespace, false, nil, nil, nil},
		{kinds.Manifest.Resource(), wholeOf(kinds.Manifest.GroupVersionKind), cfg.ManifestNamespace, true, nil, nil, nil},
	}
	for _, k := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Pools, kinds.RecordsOf(cfg)) {
		all = append(all, watching{k.Resource(), wholeOf(k.GroupVersionKind), "", true, nil, nil, nil})
	}
	for _, one := range all {
		if err := r.watch(ctx, one); err != nil {
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
	informer  cache.Informer
	// synced says that all that there was at first was listed, told that it was told.
	synced, told clientcache.InformerSynced
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
func (r *reconciler) watch(ctx context.Context, w watching) error {
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
	informer, err := r.watched.cache.GetInformer(ctx, o, cache.BlockUntilSynced(false)) // who waits to be elected watches too
	if err != nil {
		return err
	}
	see := func(was, is any) {
		before, after := objectOf(was), objectOf(is)
		if r.watched.tell(resource, before, after); isShown(cmp.Or(is, was)) {
			r.changed()
		}
		if r.elected.Load() { // after that was told: a command that begins at once decides by it
			r.due(resource, before, after)
		}
	}
	told, err := informer.AddEventHandler(clientcache.ResourceEventHandlerFuncs{
		AddFunc: func(is any) { see(nil, is) }, UpdateFunc: see, DeleteFunc: func(was any) { see(was, nil) },
	})
	if err != nil {
		return err
	}
	w.informer, w.synced, w.told = informer, informer.HasSynced, told.HasSynced
	r.watched.mu.Lock()
	r.watched.kinds[resource] = w
	delete(r.watched.missing, resource)
	r.watched.mu.Unlock()
	return nil
}

// isShown reports whether something of an object is shown. The elected reconciler renews its Lease every few seconds.
func isShown(object any) bool {
	o, ok := object.(*metav1.PartialObjectMetadata)
	return !ok || !state.IsElection(o.Name)
}

// dueAll makes due what each object of a kind concerns that is there.
func (r *reconciler) dueAll(w watching) error {
	_, err := w.informer.AddEventHandler(clientcache.ResourceEventHandlerDetailedFuncs{AddFunc: func(is any, isThere bool) {
		if isThere { // of what comes later the first handler tells, and then makes it due
			r.due(w.resource, nil, objectOf(is))
		}
	}})
	return err
}

// due makes the deployment groups due that an object concerns, as it was and as it is: those that do not fail, because what a command that
// has failed has written is no reason to try it again. Where the object may have been in the way, or ends a lease, those that fail are due too.
func (r *reconciler) due(resource schema.GroupVersionResource, before, after client.Object) {
	tell := func() {
		for _, one := range r.failing.due(r.changedFor(resource, before, after), r.frees(resource, before, after), time.Now()) {
			r.queue.due.AddAfter(one.group, one.after)
		}
	}
	if after == nil || resource == cluster.Leases {
		tell()
	} else { // the answer to the command that has written it may be on its way
		time.AfterFunc(answered, tell)
	}
	for _, g := range r.over(resource, before, after) {
		r.queue.due.Add(g)
	}
	if resource == kinds.Manifest.Resource() {
		select {
		case r.manifests <- struct{}{}:
		default:
		}
	}
}

// objectOf returns the object of an informer's event, or as it was seen last where its deletion was missed; nil for none.
func objectOf(o any) client.Object {
	if missed, ok := o.(clientcache.DeletedFinalStateUnknown); ok {
		o = missed.Obj
	}
	object, _ := o.(client.Object)
	return object
}
