package book

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
