package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// contentsPage is how many objects of one resource Contents lists: a namespace with more is not empty.
const contentsPage = 50

// derived are resources whose objects Kubernetes derives from others, and events.
var derived = []string{"events", "endpoints", "endpointslices.discovery.k8s.io", "events.events.k8s.io", "pods.metrics.k8s.io"}

// usual are the objects that Kubernetes and OpenShift create in every namespace.
var usual = map[string][]string{
	"serviceaccounts":                        {"default", "builder", "deployer"},
	"configmaps":                             {"kube-root-ca.crt", "openshift-service-ca.crt"},
	"rolebindings.rbac.authorization.k8s.io": {"system:deployers", "system:image-builders", "system:image-pullers"},
}

// Contents returns the sorted names of the objects in a namespace, such as "configmap/settings". It leaves out what
// Kubernetes creates in every namespace, and what the caller does not count. It looks at every kind that the server
// serves, and fails if it cannot list one of them.
func (c *Cluster) Contents(
	ctx context.Context, namespace string, uncounted func(resource schema.GroupResource, labels map[string]string) bool,
) ([]string, error) {
	resources, err := c.namespaced(ctx)
	if err != nil {
		return nil, err
	}
	found := make([][]string, len(resources))
	group, ctx := parallel.WithContext(ctx)
	for i, r := range resources {
		group.Go(func() (err error) {
			found[i], err = c.contentsOf(ctx, r, namespace, uncounted)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	names := slices.Concat(found...)
	slices.Sort(names)
	return slices.Compact(names), nil
}

// listed is a resource whose objects can be listed, with its singular name.
type listed struct {
	schema.GroupVersionResource
	singular string
}

// namespaced returns the namespaced resources that can be listed, each once, in the server's preferred version.
func (c *Cluster) namespaced(ctx context.Context) ([]listed, error) {
	var lists []*metav1.APIResourceList
	err := c.Read(ctx, func() (err error) {
		lists, err = discovery.ServerPreferredNamespacedResourcesWithContext(ctx, c.discovery)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("the kinds that this cluster serves cannot be listed: %w", err)
	}
	var out []listed
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			resource := version.WithResource(r.Name)
			if !slices.Contains(derived, resource.GroupResource().String()) {
				out = append(out, listed{resource, strings.ToLower(r.Kind)})
			}
		}
	}
	return out, nil
}

// contentsOf returns the names of the counted objects of one resource in a namespace.
func (c *Cluster) contentsOf(
	ctx context.Context, r listed, namespace string, uncounted func(schema.GroupResource, map[string]string) bool,
) (names []string, _ error) {
	var page *metav1.PartialObjectMetadataList
	err := c.ReadOf(ctx, r.GroupVersionResource, func() (err error) {
		page, err = c.Metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: contentsPage})
		return err
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, forbiddenNamespaces(err, "list", r.GroupVersionResource)
	case apierrors.IsMethodNotSupported(err) || IsMissingKind(err): // the kind was removed since discovery
		return nil, nil
	case err != nil:
		return nil, c.Explain(err, "list", r.GroupVersionResource)
	}
	for i := range page.Items {
		if m := &page.Items[i].ObjectMeta; !isUsual(r.GroupResource(), m) && !uncounted(r.GroupResource(), m.Labels) {
			names = append(names, r.singular+"/"+m.Name)
		}
	}
	if page.Continue != "" {
		names = append(names, "more "+r.Resource)
	}
	return names, nil
}

// isUsual reports whether Kubernetes or OpenShift creates the object in every namespace, or it is a token of such a
// ServiceAccount.
func isUsual(resource schema.GroupResource, m *metav1.ObjectMeta) bool {
	if resource.String() == "secrets" {
		return slices.Contains(usual["serviceaccounts"], m.Annotations["kubernetes.io/service-account.name"])
	}
	return slices.Contains(usual[resource.String()], m.Name)
}
