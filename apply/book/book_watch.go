package book

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// rewatch spaces the restarts of a watch.
var rewatch = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}

// settle is how long Watch collects changes at least before it reads the book again. It reads for half of the time at most, however
// often endpoints change.
const settle = 200 * time.Millisecond

// Watch passes the book to show, and again whenever something changes that it is computed from, until the context ends
// or show fails. It watches only metadata.
func Watch(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject,
	show func(*view.Book) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	changed, err := watchAll(ctx, c, cfg, subjects, rewatch, cancel)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	for {
		began := time.Now()
		book, err := Read(ctx, c, cfg, subjects...)
		took := time.Since(began)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		if err := show(book); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-holdEnds(c, book):
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(max(settle, took)):
		}
		select { // the next book contains the changes until now
		case <-changed:
		default:
		}
	}
}

// holdEnds returns a channel that receives when the next reservation of the book expires, which no write announces.
func holdEnds(c *cluster.Cluster, book *view.Book) <-chan time.Time {
	end := book.NextEnd(c.Now())
	if end.IsZero() {
		return nil
	}
	return time.After(end.Sub(c.Now()))
}

// watched is a resource that the book is computed from.
type watched struct {
	resource            schema.GroupVersionResource
	namespace, selector string
	// refused is called if the resource may not be watched, even if it may be listed.
	refused func(error)
}

// watchAll watches what the subjects are computed from. The channel has a value if something has changed since the last
// receive. Each watch starts at a version from before watchAll returns, so that no change falls between a watch and a
// book that is read later. Optional kinds that the cluster does not serve are not watched. again spaces restarts of a
// watch. refused is called if a watch is forbidden: otherwise no change would ever be noticed.
func watchAll(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, again wait.Backoff,
	refused func(error),
) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	resources := []watched{{resource: cluster.Leases, namespace: cfg.LedgerNamespace, selector: ledger.ClaimsOnly}}
	if slices.Contains(subjects, view.SubjectOrders) {
		resources[0].selector = ledger.Reserved
	}
	if slices.Contains(subjects, view.SubjectLeases) {
		resources = append(resources, watched{resource: cluster.Leases, namespace: cfg.LedgerNamespace, selector: ledger.OnlySuspended})
	}
	add := func(kind kinds.Kind, selector string) {
		if kinds.Optional(kind) {
			_, err := version(ctx, c, watched{resource: kind.Resource()})
			if cluster.IsMissingKind(err) {
				return
			}
		}
		resources = append(resources, watched{resource: kind.Resource(), selector: selector})
	}
	for _, kind := range bookKinds(subjects) {
		add(kind, bookSelector(kind))
	}
	if slices.Contains(subjects, view.SubjectRoutes) {
		for _, kind := range kinds.RouteKinds {
			add(kind, "")
		}
		resources = append(resources, watched{resource: cluster.Namespaces})
	}
	if slices.Contains(subjects, view.SubjectEndpoints) {
		resources = append(resources, backendKinds(ctx, c)...)
	}
	others := len(resources)
	if slices.Contains(subjects, view.SubjectWorkloads) {
		resources = append(resources, workloadKinds(cfg.ManifestNamespace)...)
	}
	for i, w := range resources {
		explain := func(err error) error { return err }
		if i >= others {
			explain = func(err error) error { return cluster.NeedsRole(unlessMissing(err, kinds.Manifest), statusRole) }
		}
		w.refused = func(err error) { refused(explain(err)) }
		begun, err := begin(ctx, c, w)
		if err = explain(err); err != nil {
			return nil, err
		}
		if begun == nil {
			continue
		}
		go report(ctx, c, w, begun, changed, again)
	}
	return changed, nil
}

// version returns the resource version at which a watch can start.
func version(ctx context.Context, c *cluster.Cluster, w watched) (string, error) {
	var list *metav1.PartialObjectMetadataList
	err := c.ReadOf(ctx, w.resource, func() (err error) {
		list, err = c.Metadata.Resource(w.resource).Namespace(w.namespace).List(ctx, metav1.ListOptions{LabelSelector: w.selector, Limit: 1})
		return err
	})
	if err != nil {
		return "", c.Explain(err, "list", w.resource)
	}
	return list.GetResourceVersion(), nil
}

// begin starts a watch at the present. It resumes when the server closes the connection.
func begin(ctx context.Context, c *cluster.Cluster, w watched) (watch.Interface, error) {
	version, err := version(ctx, c, w)
	if err != nil {
		return nil, err
	}
	client := c.Metadata.Resource(w.resource).Namespace(w.namespace)
	return watchtools.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector = w.selector
			changes, err := client.Watch(ctx, o)
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				w.refused(c.Explain(err, "watch", w.resource))
			}
			return changes, err
		},
	})
}

// report signals each change until the context ends. If the watch cannot resume (410), changes may have been missed:
// report signals a change and starts a new watch.
func report(
	ctx context.Context, c *cluster.Cluster, w watched, begun watch.Interface, changed chan<- struct{},
	again wait.Backoff,
) {
	signal := func() {
		select {
		case changed <- struct{}{}:
		default: // an earlier signal is pending
		}
	}
	backoff := again
	for {
		for e := range begun.ResultChan() {
			if e.Type != watch.Bookmark && e.Type != watch.Error {
				backoff = again
				signal()
			}
		}
		begun.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(backoff.Step()):
			}
			var err error
			if begun, err = begin(ctx, c, w); err == nil {
				break
			}
		}
		signal()
	}
}

const (
	// ours selects the objects of Akash's leases.
	ours = lease.LabelManaged + "=true"
	// fewNamespaces is how many namespaces a selector names at most; of more, all are read.
	fewNamespaces = 50
	// statusRole is the ClusterRole that allows reading what leases run.
	statusRole = "akash-net-status"
)

// workloadKinds returns the resources that show the rollout state of what leases run.
func workloadKinds(manifestNamespace string) []watched {
	return []watched{
		{resource: cluster.Namespaces, selector: OfLeases},
		{resource: kinds.Manifest.Resource(), namespace: manifestNamespace},
		{resource: kinds.Deployment.Resource(), selector: ours},
		{resource: kinds.StatefulSet.Resource(), selector: ours},
		{resource: kinds.Pod.Resource(), selector: ours},
	}
}

// workloads reads what leases run: a LIST of each kind, then the pods of workloads that are not rolled out, which show
// why, and events if there are no such pods. It returns a cluster.RoleError if the user lacks the role.
func (r *bookReader) workloads(ctx context.Context) error {
	all := workloadKinds(r.cfg.ManifestNamespace)
	group, listCtx := parallel.WithContext(ctx)
	for _, w := range all[:len(all)-1] {
		group.Go(func() error { return r.listWorkloads(listCtx, w, "") })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if namespaces := r.contents.Workloads.Unsettled(); len(namespaces) > 0 {
		pods := all[len(all)-1]
		if len(namespaces) <= fewNamespaces {
			pods.selector += fmt.Sprintf(",%s in (%s)", lease.LabelNamespace, strings.Join(namespaces, ","))
		}
		if err := r.listWorkloads(ctx, pods, ""); err != nil {
			return err
		}
	}
	namespaces := r.contents.Workloads.LackPods()
	if len(namespaces) == 0 {
		return nil
	}
	events := watched{resource: kinds.Event.Resource()}
	if len(namespaces) == 1 {
		events.namespace = namespaces[0]
	}
	return r.listWorkloads(ctx, events, "type=Warning,reason=FailedCreate,involvedObject.kind=StatefulSet")
}

// listWorkloads lists a resource of what leases run and adds the objects.
func (r *bookReader) listWorkloads(ctx context.Context, w watched, fields string) error {
	var err error
	opts := metav1.ListOptions{LabelSelector: w.selector, FieldSelector: fields}
	if w.resource == cluster.Namespaces {
		err = cluster.EachMeta(ctx, r.cluster, w.resource, "", opts, func(m *metav1.ObjectMeta) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.contents.Workloads.AddNamespace(m)
		}, func() {})
	} else {
		add := func(o *unstructured.Unstructured) []struct{} {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.contents.Workloads.Add(o)
			return nil
		}
		_, err = cluster.ListObjects(ctx, r.cluster, w.resource, w.namespace, opts, add)
	}
	if w.resource == kinds.Manifest.Resource() {
		err = unlessMissing(err, kinds.Manifest)
	}
	return cluster.NeedsRole(err, statusRole)
}

// ReadPools reads MetalLB's pools, the addresses that it has assigned and those of nodes, without the claims.
func ReadPools(ctx context.Context, c *cluster.Cluster) (view.Contents, error) {
	r := bookReader{cluster: c}
	group, ctx := parallel.WithContext(ctx)
	r.listKinds(ctx, group, []view.Subject{view.SubjectPools})
	err := group.Wait()
	return r.contents, err
}
