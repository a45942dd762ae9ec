package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// typedPageSize is how many whole objects one LIST brings, of which no more is kept than sums.
const typedPageSize = 500

// List is a list of one of Kubernetes' own kinds, such as *corev1.PodList.
type List interface {
	runtime.Object
	metav1.ListInterface
}

// typedAccept asks for protobuf, which takes a fraction of the time of JSON to read.
const typedAccept = "application/vnd.kubernetes.protobuf,application/json"

// EachPage hands over the whole objects of a resource of Kubernetes' own, of all namespaces, page by page; of the
// answers no more than one is held at a time. After restart they all come again. Of opts the selectors count.
func EachPage[L List](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, opts metav1.ListOptions, page func() L, read func(L), restart func()) error {
	opts.Limit = typedPageSize
	path := []string{"/apis", resource.Group, resource.Version, resource.Resource}
	if resource.Group == "" {
		path = []string{"/api", resource.Version, resource.Resource}
	}
	return c.pages(ctx, resource, &opts, func() (metav1.ListInterface, error) {
		list := page()
		err := c.discovery.RESTClient().Get().AbsPath(path...).SpecificallyVersionedParams(&opts, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
			SetHeader("Accept", typedAccept).Do(ctx).Into(list)
		if err != nil {
			return nil, err
		}
		read(list)
		return list, nil
	}, restart)
}
