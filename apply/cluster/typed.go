package cluster

import (
	"bytes"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// typedPageSize is how many whole objects one LIST brings, of which no more is kept than sums.
const typedPageSize = 500

// List is a list of one of Kubernetes' own kinds, such as *corev1.PodList.
type List interface {
	metav1.ListInterface
	// Unmarshal reads the list from protobuf.
	Unmarshal(body []byte) error
}

// typedAccept asks for protobuf, which takes a fraction of the time of JSON to read.
const typedAccept = "application/vnd.kubernetes.protobuf,application/json"

// EachPage hands over the whole objects of a resource of Kubernetes' own, of a namespace or of all, page by page; of the
// answers no more than one is held at a time. After restart they all come again. Of opts the selectors count.
func EachPage[L List](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, page func() L, read func(L), restart func()) error {
	opts.Limit = typedPageSize
	path := []string{"/apis", resource.Group, resource.Version}
	if resource.Group == "" {
		path = []string{"/api", resource.Version}
	}
	if namespace != "" {
		path = append(path, Namespaces.Resource, namespace)
	}
	path = append(path, resource.Resource)
	return c.pages(ctx, resource, &opts, func() (metav1.ListInterface, error) {
		list := page()
		answer := c.discovery.RESTClient().Get().AbsPath(path...).SpecificallyVersionedParams(&opts, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
			SetHeader("Accept", typedAccept).Do(ctx)
		if err := answer.Error(); err != nil {
			return nil, err
		}
		body, err := answer.Raw()
		if err == nil {
			err = decodeList(body, list)
		}
		if err != nil {
			return nil, err
		}
		read(list)
		return list, nil
	}, restart)
}

// decodeList reads a list from an answer in one of the formats of typedAccept. What the answer calls the list does not count:
// not every server gives it the name of its kind.
func decodeList(body []byte, list List) error {
	inProtobuf, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return utiljson.Unmarshal(body, list)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(inProtobuf); err != nil {
		return err
	}
	return list.Unmarshal(envelope.Raw)
}
