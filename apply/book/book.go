// Package book reads what the book is computed from, once or whenever something changes. The pure package state/view
// computes the book.
package book

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// fewHosts is up to how many ProviderHosts are read by GET rather than by one LIST.
const fewHosts = 16

// OfLeases selects the objects of leases in all namespaces.
const OfLeases = lease.LabelOwner

// Read reads what the subjects need, one LIST of each kind, and computes the book. For claims and ports metadata
// suffices; routes are read whole, because the book shows what the live objects contain. The LISTs set no
// resourceVersion, so that the answers are not older than the request.
func Read(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, subjects ...view.Subject) (*view.Book, error) {
	r := bookReader{cluster: c, cfg: cfg}
	group, listCtx := parallel.WithContext(ctx)
	l := ledger.New(c, cfg.LedgerNamespace)
	asked := func(of ...view.Subject) bool {
		return slices.ContainsFunc(of, func(s view.Subject) bool { return slices.Contains(subjects, s) })
	}
	reads := func(is bool, read func(context.Context) error) {
		if is {
			group.Go(func() error { return read(listCtx) })
		}
	}
	reads(slices.ContainsFunc(subjects, func(s view.Subject) bool { return s != view.SubjectOrders }), func(ctx context.Context) error {
		return r.listClaims(ctx, asked(view.SubjectRoutes))
	})
	reads(asked(view.SubjectOrders, view.SubjectResources), func(ctx context.Context) (err error) {
		r.contents.Reservations, err = l.Reservations(ctx, "")
		return err
	})
	reads(asked(view.SubjectLeases), func(ctx context.Context) (err error) {
		r.contents.Suspended, err = l.Suspended(ctx)
		return err
	})
	r.listKinds(listCtx, group, subjects)
	for _, kind := range kinds.RouteKinds {
		reads(asked(view.SubjectRoutes), func(ctx context.Context) error { return r.listRoutes(ctx, kind) })
	}
	reads(asked(view.SubjectRoutes), r.listNamespaces)
	reads(asked(view.SubjectWorkloads), r.workloads)
	reads(asked(view.SubjectResources), func(ctx context.Context) error { return capacity.Read(ctx, c, &r.contents.Capacity) })
	reads(asked(view.SubjectEndpoints), func(ctx context.Context) error { return readServices(ctx, c, &r.contents.Backends) })
	reads(asked(view.SubjectEndpoints), func(ctx context.Context) error { return ReadSlices(ctx, c, &r.contents.Backends) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if slices.Contains(subjects, view.SubjectHosts) {
		if err := r.complete(ctx); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(r.contents.Routes, func(a admission.Route) bool { return slices.ContainsFunc(a.Parents, admission.Parent.IsGateway) }) {
		gateways, err := reading.Gateways(ctx, c)
		if err != nil {
			return nil, err
		}
		r.contents.Gateways = gateways
	}
	r.contents.Now = c.Now()
	return view.NewBook(cfg, r.contents, subjects...), nil
}

// bookKinds returns the kinds, apart from claims, that the subjects are computed from.
func bookKinds(subjects []view.Subject) []kinds.Kind {
	var all []kinds.Kind
	add := func(subject view.Subject, needed ...kinds.Kind) {
		if !slices.Contains(subjects, subject) {
			return
		}
		for _, k := range needed {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	add(view.SubjectHosts, slices.Concat(kinds.RouteKinds, []kinds.Kind{kinds.ProviderHost})...)
	add(view.SubjectIPs, kinds.ProviderLeasedIP, kinds.Service, kinds.IPAddressPool)
	add(view.SubjectLeases, slices.Concat(kinds.ServingKinds, kinds.ClaimLike)...)
	add(view.SubjectPools, kinds.Service, kinds.IPAddressPool)
	add(view.SubjectResources, kinds.Service, kinds.IPAddressPool)
	add(view.SubjectDNS, kinds.Records...)
	return all
}

// bookSelector returns the label selector for the objects of a kind that belong to leases.
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

// listClaims lists the claims page by page. Of claims on hosts it keeps only what the book shows, unless whole is true.
func (r *bookReader) listClaims(ctx context.Context, whole bool) error {
	runs, err := r.announcements(ctx)
	if err != nil {
		return err
	}
	r.contents.Now = r.cluster.Now()
	r.contents.AddRuns(runs...)
	opts := metav1.ListOptions{LabelSelector: ledger.ClaimsOnly}
	return cluster.EachMeta(ctx, r.cluster, cluster.Leases, r.cfg.LedgerNamespace, opts, func(meta *metav1.ObjectMeta) {
		if claim, ok := state.ReadClaim(meta); ok {
			claim.UID, claim.ResourceVersion = "", "" // a book writes nothing
			r.contents.AddClaim(&claim, whole)
		}
	}, r.contents.DropClaims)
}

// announcements lists the announcements of commands. Of what is watched only the metadata is known.
func (r *bookReader) announcements(ctx context.Context) ([]*state.Announcement, error) {
	if !r.cluster.Cache.IsEarly(ctx) {
		return ledger.New(r.cluster, r.cfg.LedgerNamespace).Announcements.List(ctx)
	}
	opts := metav1.ListOptions{LabelSelector: state.LabelKind + "=" + state.KindRun}
	return cluster.ListMetas(ctx, r.cluster, cluster.Leases, r.cfg.LedgerNamespace, opts, func(meta *metav1.ObjectMeta) (*state.Announcement, bool) {
		a, _ := state.AnnouncementOfMeta(meta)
		return a, a != nil
	})
}

// listKinds lists what the subjects need apart from claims.
func (r *bookReader) listKinds(ctx context.Context, group *parallel.Group, subjects []view.Subject) {
	for _, kind := range bookKinds(subjects) {
		group.Go(func() error { return r.list(ctx, kind) })
	}
	if slices.Contains(subjects, view.SubjectPools) || slices.Contains(subjects, view.SubjectResources) {
		group.Go(func() (err error) {
			r.contents.NodeUses, err = reading.NodeUses(ctx, r.cluster)
			return err
		})
	}
}

// list lists the objects of a kind and adds what the book needs of them.
func (r *bookReader) list(ctx context.Context, kind kinds.Kind) error {
	opts := metav1.ListOptions{LabelSelector: bookSelector(kind)}
	var err error
	var objects []*unstructured.Unstructured
	var hosts []state.HostObject
	var ports []state.PortObject
	switch kind {
	case kinds.Service, kinds.IPAddressPool, kinds.DNSRecord, kinds.DNSEndpoint:
		objects, err = r.cluster.Objects(ctx, kind.Resource(), "", opts)
	case kinds.Ingress, kinds.HTTPRoute, kinds.TLSRoute, kinds.Route:
		hosts, err = cluster.ListObjects(ctx, r.cluster, kind.Resource(), "", opts, state.HostObjectsOf)
	case kinds.ProviderLeasedIP:
		ports, err = cluster.ListMetas(ctx, r.cluster, kind.Resource(), "", opts, func(m *metav1.ObjectMeta) (state.PortObject, bool) {
			return state.PortObjectOf(m), true
		})
	default:
		hosts, err = cluster.ListMetas(ctx, r.cluster, kind.Resource(), "", opts, func(m *metav1.ObjectMeta) (state.HostObject, bool) {
			return state.HostObjectOf(kind.Kind, m), true
		})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range objects {
		r.contents.AddObject(o)
	}
	r.contents.Hosts, r.contents.Ports = append(r.contents.Hosts, hosts...), append(r.contents.Ports, ports...)
	return unlessMissing(err, kind)
}

// unlessMissing returns err, or nil if it reports that the cluster does not serve an optional kind.
func unlessMissing(err error, kind kinds.Kind) error {
	if cluster.IsMissingKind(err) && kinds.Optional(kind) {
		return nil
	}
	return err
}

// listRoutes lists all objects of a route kind page by page, and keeps only their hosts and paths.
func (r *bookReader) listRoutes(ctx context.Context, kind kinds.Kind) error {
	routes, err := cluster.ListObjects(ctx, r.cluster, kind.Resource(), "", metav1.ListOptions{}, view.RoutesOf)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contents.Routes = append(r.contents.Routes, routes...)
	return unlessMissing(err, kind)
}

// listNamespaces reads the labels by which shards select namespaces and by which leases' namespaces are known.
func (r *bookReader) listNamespaces(ctx context.Context) error {
	metas, err := r.cluster.Metas(ctx, cluster.Namespaces, "")
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range metas {
		r.contents.AddNamespace(m)
	}
	return err
}

// complete reads the ProviderHosts without a claim whole: only their specs contain their backends.
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
	if len(incomplete) > fewHosts || len(incomplete) > 0 && r.cluster.Cache.IsEarly(ctx) {
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

// readServices adds all Services: one that a person made for a lease may have no label to select it by.
func readServices(ctx context.Context, c *cluster.Cluster, b *view.Backends) error {
	return readBackends(ctx, c, kinds.Service, "", b.ResetServices, func(page *corev1.ServiceList) {
		for i := range page.Items {
			b.AddService(&page.Items[i])
		}
	})
}

// ReadSlices adds the EndpointSlices of all Services: those that the EndpointSlice controller makes have the labels of the Service,
// others may have only its name.
func ReadSlices(ctx context.Context, c *cluster.Cluster, b *view.Backends) error {
	return readBackends(ctx, c, kinds.EndpointSlice, discoveryv1.LabelServiceName, b.ResetSlices, func(page *discoveryv1.EndpointSliceList) {
		for i := range page.Items {
			b.AddSlice(&page.Items[i])
		}
	})
}

// readBackends passes the objects of a kind to add, page by page. If the user may not list them, as before the roles allowed listing
// EndpointSlices, they stay unknown.
func readBackends[T any, L interface {
	*T
	cluster.List
}](ctx context.Context, c *cluster.Cluster, kind kinds.Kind, selector string, reset func(known bool), add func(L)) error {
	again := func() { reset(true) }
	again()
	err := cluster.EachPage(ctx, c, kind.Resource(), "", metav1.ListOptions{LabelSelector: selector}, func() L { return new(T) }, add, again)
	if isUnknown(err) {
		reset(false)
		return nil
	}
	return err
}

// isUnknown reports whether a LIST was refused by RBAC, or the cluster does not serve the kind.
func isUnknown(err error) bool { return apierrors.IsForbidden(err) || cluster.IsMissingKind(err) }

// backendKinds returns what shows that endpoints have changed, as far as the user may list it. Services and EndpointSlices of what
// leases run have the label; others are read, but not followed, because they change all the time in a cluster with much else.
func backendKinds(ctx context.Context, c *cluster.Cluster) []watched {
	var out []watched
	for _, kind := range []kinds.Kind{kinds.Service, kinds.EndpointSlice} {
		w := watched{resource: kind.Resource(), selector: ours}
		if _, err := version(ctx, c, w); !isUnknown(err) {
			out = append(out, w)
		}
	}
	return out
}
