// Package book reads from the cluster what the book is computed from, once or each time that something
// changes. The book itself is a pure fold in package state.
package book

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// fewHosts is how many ProviderHosts are read one by one rather than by one LIST of them all.
const fewHosts = 16

// OfLeases selects the objects that leases have in all namespaces.
const OfLeases = lease.LabelOwner

// Read reads what the subjects need, one LIST of each kind, and computes the book. Metadata is
// enough of claims and ports; of routes it is not, for live is what the live object says.
// It names no resource version, so that what is read is not older than the request.
func Read(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, subjects ...view.Subject) (*view.Book, error) {
	r := bookReader{cluster: c, cfg: cfg}
	group, listCtx := parallel.WithContext(ctx)
	if slices.ContainsFunc(subjects, func(s view.Subject) bool { return s != view.SubjectOrders }) {
		group.Go(func() error { return r.listClaims(listCtx, slices.Contains(subjects, view.SubjectRoutes)) })
	}
	if slices.Contains(subjects, view.SubjectOrders) || slices.Contains(subjects, view.SubjectResources) {
		group.Go(func() (err error) {
			r.contents.Reservations, err = ledger.New(c, cfg.LedgerNamespace).Reservations(listCtx, "")
			return err
		})
	}
	for _, kind := range bookKinds(subjects) {
		group.Go(func() error { return r.list(listCtx, kind) })
	}
	if slices.Contains(subjects, view.SubjectRoutes) {
		for _, kind := range kinds.RouteKinds {
			group.Go(func() error { return r.listRoutes(listCtx, kind) })
		}
		group.Go(func() error { return r.listNamespaces(listCtx) })
	}
	if slices.Contains(subjects, view.SubjectWorkloads) {
		group.Go(func() error { return r.workloads(listCtx) })
	}
	if slices.Contains(subjects, view.SubjectResources) {
		group.Go(func() error { return capacity.Read(listCtx, c, &r.contents.Capacity) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if slices.Contains(subjects, view.SubjectHosts) {
		if err := r.complete(ctx); err != nil {
			return nil, err
		}
	}
	r.contents.Now = c.Now()
	return view.NewBook(cfg, r.contents, subjects...), nil
}

// bookKinds are the kinds, beside claims, that the subjects are computed from.
func bookKinds(subjects []view.Subject) []kinds.Kind {
	var all []kinds.Kind
	of := func(subject view.Subject, needed ...kinds.Kind) {
		if slices.Contains(subjects, subject) {
			for _, k := range needed {
				if !slices.Contains(all, k) {
					all = append(all, k)
				}
			}
		}
	}
	of(view.SubjectHosts, slices.Concat(kinds.RouteKinds, []kinds.Kind{kinds.ProviderHost})...)
	of(view.SubjectIPs, kinds.ProviderLeasedIP, kinds.Service, kinds.IPAddressPool)
	of(view.SubjectLeases, slices.Concat(kinds.ServingKinds, kinds.ClaimLike)...)
	of(view.SubjectPools, kinds.Service, kinds.IPAddressPool)
	of(view.SubjectResources, kinds.Service, kinds.IPAddressPool)
	of(view.SubjectDNS, kinds.Records...)
	return all
}

// bookSelector chooses the objects of a kind that belong to leases.
func bookSelector(kind kinds.Kind) string {
	switch {
	case slices.Contains(kinds.RouteKinds, kind), slices.Contains(kinds.Records, kind):
		return OfLeases
	case kind == kinds.Service:
		return kinds.LeasedPort
	}
	return ""
}

// bookReader collects what a book is computed from.
type bookReader struct {
	cluster  *cluster.Cluster
	cfg      *config.ProviderConfig
	mu       sync.Mutex
	contents view.Contents
}

// listClaims reads the claims, page by page; of those on hosts only what the book shows is kept,
// unless they are needed whole.
func (r *bookReader) listClaims(ctx context.Context, whole bool) error {
	runs, err := ledger.New(r.cluster, r.cfg.LedgerNamespace).Announcements(ctx)
	if err != nil {
		return err
	}
	r.contents.Now = r.cluster.Now()
	r.contents.AddRuns(runs...)
	return cluster.EachMeta(ctx, r.cluster, cluster.Leases, r.cfg.LedgerNamespace, metav1.ListOptions{LabelSelector: ledger.ClaimsOnly}, func(meta *metav1.ObjectMeta) {
		if claim, ok := state.ReadClaim(meta); ok {
			claim.UID, claim.ResourceVersion = "", "" // a book writes nothing
			r.contents.AddClaim(&claim, whole)
		}
	}, r.contents.DropClaims)
}

func (r *bookReader) list(ctx context.Context, kind kinds.Kind) error {
	opts := metav1.ListOptions{LabelSelector: bookSelector(kind)}
	var err error
	switch kind {
	case kinds.Service, kinds.IPAddressPool, kinds.DNSRecord, kinds.DNSEndpoint:
		var objects []*unstructured.Unstructured
		objects, err = r.cluster.Objects(ctx, kind.Resource(), "", opts)
		r.addObjects(kind, objects)
	case kinds.Ingress, kinds.HTTPRoute, kinds.TLSRoute, kinds.Route:
		var hosts []state.HostObject
		hosts, err = cluster.ListObjects(ctx, r.cluster, kind.Resource(), "", opts, state.HostObjectsOf)
		r.mu.Lock()
		r.contents.Hosts = append(r.contents.Hosts, hosts...)
		r.mu.Unlock()
	case kinds.ProviderLeasedIP:
		r.contents.Ports, err = cluster.ListMetas(ctx, r.cluster, kind.Resource(), "", opts, func(m *metav1.ObjectMeta) (state.PortObject, bool) {
			return state.PortObjectOf(m), true
		})
	default:
		var hosts []state.HostObject
		hosts, err = cluster.ListMetas(ctx, r.cluster, kind.Resource(), "", opts, func(m *metav1.ObjectMeta) (state.HostObject, bool) {
			return state.HostObjectOf(kind.Kind, m), true
		})
		r.mu.Lock()
		r.contents.Hosts = append(r.contents.Hosts, hosts...)
		r.mu.Unlock()
	}
	return unlessMissing(err, kind)
}

// unlessMissing is the error, unless it says that the cluster lacks a kind which it may lack.
func unlessMissing(err error, kind kinds.Kind) error {
	if cluster.IsMissingKind(err) && kinds.Optional(kind) {
		return nil
	}
	return err
}

// listRoutes reads all objects of a kind, page by page: of the objects no more is kept than their
// hosts and paths.
func (r *bookReader) listRoutes(ctx context.Context, kind kinds.Kind) error {
	routes, err := cluster.ListObjects(ctx, r.cluster, kind.Resource(), "", metav1.ListOptions{}, view.RoutesOf)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contents.Routes = append(r.contents.Routes, routes...)
	return unlessMissing(err, kind)
}

// listNamespaces reads the labels by which shards select namespaces, and by which a namespace is known
// to be a lease's.
func (r *bookReader) listNamespaces(ctx context.Context) error {
	metas, err := r.cluster.Metas(ctx, cluster.Namespaces, "")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range metas {
		r.contents.AddNamespace(m)
	}
	return err
}

func (r *bookReader) addObjects(kind kinds.Kind, objects []*unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range objects {
		switch kind {
		case kinds.Service:
			r.contents.Services = append(r.contents.Services, state.ServiceObjectOf(o))
		case kinds.IPAddressPool:
			r.contents.Pools = append(r.contents.Pools, state.PoolObjectOf(o))
		default:
			r.contents.Records = append(r.contents.Records, view.RecordObjectOf(o))
		}
	}
}

// complete reads the ProviderHosts without a claim whole: their backends stand nowhere else.
func (r *bookReader) complete(ctx context.Context) error {
	unclaimed := map[string]bool{}
	for _, h := range r.contents.Hosts {
		if h.Kind == kinds.ProviderHost.Singular {
			unclaimed[h.Name] = true
		}
	}
	for host := range r.contents.ClaimedHosts() {
		delete(unclaimed, host)
	}
	incomplete := map[string]*state.HostObject{}
	for i, h := range r.contents.Hosts {
		if h.Kind == kinds.ProviderHost.Singular && unclaimed[h.Name] {
			incomplete[h.Namespace+"/"+h.Name] = &r.contents.Hosts[i]
		}
	}
	if len(incomplete) > fewHosts {
		hosts, err := r.cluster.Objects(ctx, kinds.ProviderHost.Resource(), "", metav1.ListOptions{})
		for _, o := range hosts {
			if h := incomplete[o.GetNamespace()+"/"+o.GetName()]; h != nil {
				h.Complete(o)
			}
		}
		return err
	}
	group, ctx := parallel.WithContext(ctx)
	for _, h := range incomplete {
		group.Go(func() error {
			o, err := r.cluster.Get(ctx, kinds.ProviderHost, h.Namespace, h.Name)
			if o != nil && err == nil {
				h.Complete(o)
			}
			return err
		})
	}
	return group.Wait()
}

// settle is how long changes are gathered before the book is read again.
const settle = 200 * time.Millisecond

// Watch hands over the book as it is, and again each time that something changes of which it
// is computed, until the context ends or show fails. Metadata is all that is watched.
func Watch(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, subjects []view.Subject, show func(*view.Book) error) error {
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
		book, err := Read(ctx, c, cfg, subjects...)
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
		case <-time.After(settle):
		}
		select { // what came while it settled is in the book that is read next
		case <-changed:
		default:
		}
	}
}

// holdEnds has a value when the next hold of the book ends: nothing is written then.
func holdEnds(c *cluster.Cluster, book *view.Book) <-chan time.Time {
	end := book.NextEnd(c.Now())
	if end.IsZero() {
		return nil
	}
	return time.After(end.Sub(c.Now()))
}
