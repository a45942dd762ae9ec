package book

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// rewatch bounds how fast a watch that has ended is begun anew.
var rewatch = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}

// watched is one resource as the book needs it.
type watched struct {
	resource            schema.GroupVersionResource
	namespace, selector string
	// refused is told that it may not be watched, be it listed.
	refused func(error)
}

// watchAll watches what the subjects are computed from. The channel has a value when something
// has changed since it was last read from. Each watch begins at a version from before the return,
// so that nothing falls between a watch and a book that is read afterwards. A kind that the
// cluster may lack, and does, is not watched. A watch that has ended is begun anew as again says. Refused is told of one that
// is not allowed: without it nothing would ever change.
func watchAll(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, again wait.Backoff, refused func(error)) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	resources := []watched{{resource: cluster.Leases, namespace: cfg.LedgerNamespace, selector: ledger.ClaimsOnly}}
	if slices.Contains(subjects, view.SubjectOrders) {
		resources[0].selector = ledger.Reserved
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
	named := len(resources)
	if slices.Contains(subjects, view.SubjectWorkloads) {
		resources = append(resources, workloadKinds(cfg.ManifestNamespace)...)
	}
	for i, w := range resources {
		needs := func(err error) error { return err }
		if i >= named {
			needs = func(err error) error { return cluster.NeedsRole(unlessMissing(err, kinds.Manifest), statusRole) }
		}
		w.refused = func(err error) { refused(needs(err)) }
		begun, err := begin(ctx, c, w)
		err = needs(err)
		if err != nil {
			return nil, err
		}
		if begun == nil {
			continue
		}
		go report(ctx, c, w, begun, changed, again)
	}
	return changed, nil
}

// version is the resource version of a list, from which a watch begins.
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

// begin watches from now on. A watch that the server closes goes on where it was.
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

// report tells of each change until the context ends. When the watch cannot go on where it was
// (410), something may have been missed: that counts as a change, and a new watch is begun.
func report(ctx context.Context, c *cluster.Cluster, w watched, begun watch.Interface, changed chan<- struct{}, again wait.Backoff) {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // it has been told and not heard yet
		}
	}
	backoff := again
	for {
		for e := range begun.ResultChan() {
			if e.Type != watch.Bookmark && e.Type != watch.Error {
				backoff = again
				tell()
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
		tell()
	}
}
