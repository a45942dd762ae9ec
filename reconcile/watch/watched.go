package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientcache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/reconcile/serve"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// watched answers from controller-runtime's cache (cluster.Watched).
type watched struct {
	cache cache.Cache

	mu sync.RWMutex
	// kinds are the resources that are watched, missing those that the cluster did not serve when it was asked.
	kinds   map[schema.GroupVersionResource]watching
	missing map[schema.GroupVersionResource]bool

	// failed is true once a LIST or a watch has failed.
	failed atomic.Bool

	telling sync.Mutex
	// changed are the objects that have changed since Changes has told of them, nil for one that is gone. asked is true once it was called.
	changed map[cluster.Change]client.Object
	asked   bool
}

// kindOf returns the kind of a resource that is watched in a namespace, or in all if that is empty.
func (w *watched) kindOf(resource schema.GroupVersionResource, namespace string) (schema.GroupVersionKind, error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if of, ok := w.kinds[resource]; ok && (of.namespace == "" || of.namespace == namespace) && of.synced() {
		return of.object.GetObjectKind().GroupVersionKind(), nil
	}
	if w.missing[resource] {
		return schema.GroupVersionKind{}, &kinds.MissingError{Resource: resource}
	}
	return schema.GroupVersionKind{}, cluster.ErrUnwatched
}

// Objects returns whole objects.
func (w *watched) Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*unstructured.Unstructured, error) {
	kind, err := w.kindOf(resource, namespace)
	if err != nil {
		return nil, err
	}
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(listOf(kind))
	if err := unwatched(w.cache.List(ctx, &list, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	out := make([]*unstructured.Unstructured, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i]
	}
	return out, nil
}

// Metas returns metadata.
func (w *watched) Metas(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]*metav1.ObjectMeta, error) {
	kind, err := w.kindOf(resource, namespace)
	if err != nil {
		return nil, err
	}
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(listOf(kind))
	if err := unwatched(w.cache.List(ctx, &list, client.InNamespace(namespace))); err != nil {
		return nil, err
	}
	out := make([]*metav1.ObjectMeta, len(list.Items))
	for i := range list.Items {
		out[i] = &list.Items[i].ObjectMeta
	}
	return out, nil
}

// Meta returns the metadata of one object, nil if there is none.
func (w *watched) Meta(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.ObjectMeta, error) {
	kind, err := w.kindOf(resource, namespace)
	if err != nil {
		return nil, err
	}
	var o metav1.PartialObjectMetadata
	o.SetGroupVersionKind(kind)
	err = unwatched(w.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &o))
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return &o.ObjectMeta, err
}

// tell records that an object has changed; none is there any more if now is nil.
func (w *watched) tell(resource schema.GroupVersionResource, was, now client.Object) {
	o := cmp.Or(now, was)
	if o == nil {
		return
	}
	at := cluster.Change{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName()}
	w.telling.Lock()
	defer w.telling.Unlock()
	if w.changed == nil {
		w.changed = map[cluster.Change]client.Object{}
	}
	if w.changed[at] = now; now == nil && !w.asked { // nobody knows of it
		delete(w.changed, at)
	}
}

// Has returns nil for a resource that is watched in all namespaces, and of which all that there was at first is known.
func (w *watched) Has(resource schema.GroupVersionResource) error {
	_, err := w.kindOf(resource, "")
	return err
}

// restsOn reports whether nothing can be done without a resource: the ledger, and the namespaces.
func restsOn(resource schema.GroupVersionResource) bool {
	return resource == cluster.Leases || resource == cluster.Namespaces
}

// fails notes that a LIST or a watch has failed (cache.WatchErrorHandlerWithContext). client-go sends it again.
func (w *watched) fails(ctx context.Context, of *clientcache.Reflector, err error) {
	w.failed.Store(true)
	clientcache.DefaultWatchErrorHandler(ctx, of, err)
}

// isRead reports whether all that is watched was read. A kind that cannot be listed is waited for no longer, unless everything rests on it:
// commands list it themselves.
func (w *watched) isRead() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	for resource, one := range w.kinds {
		if !one.synced() && (restsOn(resource) || !w.failed.Load()) {
			return false
		}
	}
	return true
}

// then returns what runs once all that is watched was read.
func (w *watched) then(run manager.RunnableFunc) manager.RunnableFunc {
	return func(ctx context.Context) error {
		if !clientcache.WaitForCacheSync(ctx.Done(), w.isRead) {
			return nil
		}
		return run(ctx)
	}
}

// Changes returns each object that has changed since it was called last, as it is: at first all that are watched. A kind that cannot be
// listed keeps nobody from what is known of others, unless everything rests on it.
func (w *watched) Changes(ctx context.Context) (changes []cluster.Change, err error) {
	w.mu.RLock()
	var told []clientcache.InformerSynced
	of := map[schema.GroupVersionResource]bool{}
	for resource, one := range w.kinds {
		if of[resource] = one.synced() || restsOn(resource); of[resource] {
			told = append(told, one.told)
		}
	}
	w.mu.RUnlock()
	if !clientcache.WaitForCacheSync(ctx.Done(), told...) { // what there was at first was told
		return nil, ctx.Err()
	}
	w.telling.Lock()
	defer w.telling.Unlock()
	for change, now := range w.changed {
		if !of[change.Resource] {
			continue
		}
		delete(w.changed, change)
		switch now := now.(type) {
		case *unstructured.Unstructured:
			change.Object = now
		case *metav1.PartialObjectMetadata:
			change.Meta = &now.ObjectMeta
		}
		changes = append(changes, change)
	}
	w.asked = true
	return changes, nil
}

func listOf(kind schema.GroupVersionKind) schema.GroupVersionKind {
	kind.Kind += "List"
	return kind
}

// unwatched returns cluster.ErrUnwatched for a resource without a watch.
func unwatched(err error) error {
	if _, not := errors.AsType[*cache.ErrResourceNotCached](err); not {
		return cluster.ErrUnwatched
	}
	return err
}

// unelected runs beside the reconciler, also while another reconciler is elected.
type unelected func(context.Context) error

// Start runs until the context ends (manager.Runnable).
func (u unelected) Start(ctx context.Context) error { return u(ctx) }

// NeedLeaderElection reports that it waits for no election (manager.LeaderElectionRunnable).
func (unelected) NeedLeaderElection() bool { return false }

// carrying carries out the events of a bus while this reconciler is elected, from when its sources have said what they say.
func (r *reconciler) carrying(watching *cluster.Cluster) manager.RunnableFunc {
	return func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-r.said:
			r.opts.Events(ctx, watching, r.leases.Defined)
		}
		return nil
	}
}

// crashedAfter is after which time without a write a command counts as crashed on the page, as for state.
const crashedAfter = 2 * time.Minute

// world is what is shown of the reconciler, by what it watches.
func (r *reconciler) world(watching *cluster.Cluster, metrics *serve.Metrics) *serve.World {
	cfg := r.opts.Command.Config
	reader := &page.Reader{Cluster: watching, Config: cfg, CrashedAfter: crashedAfter}
	return &serve.World{
		Seen: func(ctx context.Context) (*page.Seen, error) { return reader.Read(cluster.Early(ctx)) },
		Book: func(ctx context.Context) (*view.Book, error) {
			return book.Read(cluster.Early(ctx), watching, cfg, view.Holdings...)
		},
		Answers: func(ctx context.Context) (*view.Book, error) {
			return book.Read(cluster.Early(ctx), watching, cfg, view.SubjectHosts, view.SubjectEndpoints)
		},
		Failing: r.failed,
		Definition: func(ctx context.Context, g lease.Group) (*lease.Definition, error) {
			d, err := ledger.New(watching, cfg.LedgerNamespace).Definition(cluster.Early(ctx), g)
			if d == nil || d.Deleting || err != nil {
				return nil, err
			}
			return d.Decode()
		},
		Transfer: func(ctx context.Context, to lease.ID, names []string) (unheld []string, err error) {
			began, opts := time.Now(), r.opts.Command
			opts.Wait = 0
			opts.Report = func(e report.Event) {
				if e.Action == report.Skipped && e.Kind == apply.KindThing {
					unheld = append(unheld, e.Name)
				}
				r.opts.Command.Report(e)
			}
			err = apply.New(r.opts.Cluster, opts).Transfer(ctx, to, names, nil)
			metrics.Ran(serve.Transfer, time.Since(began), err)
			return unheld, err
		},
	}
}

// failed returns the leases that fail.
func (r *reconciler) failed(ctx context.Context) ([]reconcile.Failing, error) {
	by := r.failing.all()
	if len(by) == 0 {
		return nil, nil
	}
	view, err := r.leases.Look(ctx)
	if err != nil {
		return nil, err
	}
	var out []reconcile.Failing
	for _, g := range slices.SortedFunc(maps.Keys(by), lease.Group.Compare) {
		f := by[g]
		f.Definition = view.Definition(g)
		out = append(out, f)
	}
	return out, nil
}

// The limits of what watched objects share: how many strings and maps, and how long they may be.
const (
	mostShared    = 2000
	longestString = 128
	longestMap    = 1024
)

// sharing lets watched objects share what is the same in many of them: strings, and maps, such as those of managed fields. That is most of
// what they take.
type sharing struct {
	mu      sync.Mutex
	strings map[string]string
	// maps are those that were seen first, by their texts. text is that of the value that is being shared.
	maps map[string]any
	text []byte
}

// transform is what the cache does with each object before it keeps it.
func (s *sharing) transform(o any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		o.Labels, o.Annotations = s.all(o.Labels), s.all(o.Annotations)
		for i, entry := range o.ManagedFields {
			o.ManagedFields[i].Manager = s.string(entry.Manager)
			if entry.FieldsV1 != nil {
				o.ManagedFields[i].FieldsV1 = share(s, entry.FieldsV1.GetRawBytes(), entry.FieldsV1)
			}
		}
	case *unstructured.Unstructured:
		for name, v := range o.Object {
			s.text = s.text[:0]
			o.Object[name] = s.value(v)
		}
	}
	return o, nil
}

// all returns the same entries with shared strings.
func (s *sharing) all(entries map[string]string) map[string]string {
	if entries == nil {
		return nil
	}
	out := make(map[string]string, len(entries))
	for k, v := range entries {
		out[s.string(k)] = s.string(v)
	}
	return out
}

// string returns the string of the same text that was seen first.
func (s *sharing) string(text string) string {
	if len(text) > longestString {
		return text
	}
	if first, ok := s.strings[text]; ok {
		return first
	}
	if s.strings == nil || len(s.strings) >= mostShared {
		s.strings = map[string]string{}
	}
	s.strings[text] = text
	return text
}

// value returns the same value, in which strings and maps are shared, and adds its text.
func (s *sharing) value(v any) any {
	switch v := v.(type) {
	case string:
		s.text = strconv.AppendQuote(s.text, v)
		return s.string(v)
	case int64:
		s.text = strconv.AppendInt(s.text, v, 10)
	case []any:
		s.text = append(s.text, '[')
		for i, one := range v {
			v[i] = s.value(one)
			s.text = append(s.text, ',')
		}
		s.text = append(s.text, ']')
	case map[string]any:
		begin, out := len(s.text), make(map[string]any, len(v))
		s.text = append(s.text, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s.text = append(strconv.AppendQuote(s.text, name), ':')
			out[s.string(name)] = s.value(v[name])
		}
		s.text = append(s.text, '}')
		return share(s, s.text[begin:], out)
	default:
		s.text = fmt.Appendf(s.text, "%T(%v)", v, v)
	}
	return v
}

// share returns what was seen first of the same text.
func share[T any](s *sharing, text []byte, v T) T {
	if len(text) > longestMap {
		return v
	}
	if first, ok := s.maps[string(text)].(T); ok {
		return first
	}
	if s.maps == nil || len(s.maps) >= mostShared {
		s.maps = map[string]any{}
	}
	s.maps[string(text)] = v
	return v
}
