package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// pageSize is the page size when listing whole objects: one page for nearly every cluster.
const pageSize = 5000

// metaPageSize is the page size when listing metadata. A page this small hardly adds to the memory that a hundred
// thousand claims take.
const metaPageSize = 400

// OnePage as the limit of a LIST returns all objects in one answer.
const OnePage = -1

// Objects lists whole objects of a resource, in all namespaces if namespace is empty.
func (c *Cluster) Objects(
	ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
) ([]*unstructured.Unstructured, error) {
	all, err := c.List(ctx, resource, namespace, opts)
	var out []*unstructured.Unstructured
	for _, o := range all {
		out = append(out, o.Whole())
	}
	return out, err
}

// List is Objects of which those of files are not decoded yet.
func (c *Cluster) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions) ([]*listed.Object, error) {
	if all, err := c.earlyObjects(ctx, resource, namespace, opts.LabelSelector); !errors.Is(err, ErrUnwatched) {
		return all, err
	}
	all, err := ListObjects(ctx, c, resource, namespace, opts, func(o *unstructured.Unstructured) []*unstructured.Unstructured {
		return []*unstructured.Unstructured{o}
	})
	return listed.Of(all), err
}

// ListObjects lists whole objects of a resource and returns what read makes of each.
func ListObjects[T any](
	ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	read func(*unstructured.Unstructured) []T,
) ([]T, error) {
	var out []T
	if all, err := c.earlyObjects(ctx, resource, namespace, opts.LabelSelector); !errors.Is(err, ErrUnwatched) {
		for _, o := range all {
			out = append(out, read(o.Look())...)
		}
		return out, err
	}
	opts.Limit = pageSize
	err := c.pages(ctx, resource, &opts, func() (metav1.ListInterface, func(), error) {
		list, err := c.page(ctx, resource, namespace, opts)
		return list, func() {
			for i := range list.Items {
				out = append(out, read(&list.Items[i])...)
			}
		}, err
	}, func() { out = nil })
	return out, err
}

// page lists whole objects, which it decodes in one go: the dynamic client reads each answer three times.
func (c *Cluster) page(ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	body, err := c.raw(ctx, resource, namespace, opts, runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	var answer struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]any   `json:"metadata"`
		Items           []map[string]any `json:"items"`
	}
	if err := utiljson.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: map[string]any{"metadata": answer.Metadata}, Items: make([]unstructured.Unstructured, len(answer.Items))}
	for i, o := range answer.Items {
		if list.Items[i].Object = o; o["kind"] == nil { // the items of a built-in kind have none
			list.Items[i].SetAPIVersion(answer.APIVersion)
			list.Items[i].SetKind(strings.TrimSuffix(answer.Kind, "List"))
		}
	}
	return list, nil
}

// raw returns the answer to a LIST.
func (c *Cluster) raw(ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, accept string) ([]byte, error) {
	path := []string{"/apis", resource.Group, resource.Version}
	if resource.Group == "" {
		path = []string{"/api", resource.Version}
	}
	if namespace != "" {
		path = append(path, Namespaces.Resource, namespace)
	}
	answer := c.discovery.RESTClient().Get().AbsPath(append(path, resource.Resource)...).
		SpecificallyVersionedParams(&opts, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", accept).Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, err
	}
	return answer.Raw()
}

// Metas lists the metadata of a resource's objects, without managed fields.
func (c *Cluster) Metas(
	ctx context.Context, resource schema.GroupVersionResource, namespace string,
) ([]*metav1.ObjectMeta, error) {
	return ListMetas(ctx, c, resource, namespace, metav1.ListOptions{}, func(meta *metav1.ObjectMeta) (*metav1.ObjectMeta, bool) {
		kept := *meta
		kept.ManagedFields = nil
		return &kept, true
	})
}

// ListMetas lists the metadata of a resource's objects and returns what read makes of each. It holds no more than two
// pages of the answers.
func ListMetas[T any](
	ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	read func(*metav1.ObjectMeta) (T, bool),
) ([]T, error) {
	var out []T
	err := EachMeta(ctx, c, resource, namespace, opts, func(meta *metav1.ObjectMeta) {
		if kept, ok := read(meta); ok {
			out = append(out, kept)
		}
	}, func() { out = nil })
	return out, err
}

// EachMeta passes the metadata of a resource's objects to read, page by page unless the limit is OnePage. It calls
// restart before it starts over from the first page.
func EachMeta(
	ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	read func(*metav1.ObjectMeta), restart func(),
) error {
	if all, err := c.earlyMetas(ctx, resource, namespace, opts.LabelSelector); !errors.Is(err, ErrUnwatched) {
		for _, meta := range all {
			read(meta)
		}
		return err
	}
	switch opts.Limit {
	case 0:
		opts.Limit = metaPageSize
	case OnePage:
		opts.Limit = 0
	}
	return c.pages(ctx, resource, &opts, func() (metav1.ListInterface, func(), error) {
		list, err := c.Metadata.Resource(resource).Namespace(namespace).List(ctx, opts)
		return list, func() {
			for i := range list.Items {
				read(&list.Items[i].ObjectMeta)
			}
		}, err
	}, restart)
}

// pages lists page by page, and reads each while the next one is on its way: what page returns besides the list is called for one after the
// other. If a continue token expires (410), it calls restart and starts over: the pages so far belong to an older state. Nothing is listed
// with resourceVersion=0: such LISTs were seen to miss claims that existed.
func (c *Cluster) pages(
	ctx context.Context, resource schema.GroupVersionResource, opts *metav1.ListOptions,
	page func() (metav1.ListInterface, func(), error), restart func(),
) error {
	reading := parallel.New(1)
	then := func(do func()) { reading.Go(func() error { do(); return nil }) }
	var err error
	for more := true; more; {
		var list metav1.ListInterface
		var read func()
		err = c.ReadOf(ctx, resource, func() (err error) {
			list, read, err = page()
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			opts.Continue = ""
			then(restart)
		case err != nil:
			err, more = c.Explain(err, "list", resource), false
		default:
			then(read)
			opts.Continue = list.GetContinue()
			more = opts.Continue != ""
		}
	}
	return cmp.Or(reading.Wait(), err)
}

// typedPageSize is the page size of EachPage, whose callers keep only sums.
const typedPageSize = 500

// List is a list of one of Kubernetes' own kinds, such as *corev1.PodList.
type List interface {
	metav1.ListInterface
	// Unmarshal decodes the list from protobuf.
	Unmarshal(body []byte) error
}

// typedAccept prefers protobuf, which decodes in a fraction of the time of JSON.
const typedAccept = "application/vnd.kubernetes.protobuf,application/json"

// EachPage passes whole objects of a built-in resource to read, page by page, in all namespaces if namespace is empty.
// It holds two pages at a time and calls restart before it starts over. Of opts it uses the selectors.
func EachPage[L List](
	ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	page func() L, read func(L), restart func(),
) error {
	opts.Limit = typedPageSize
	return c.pages(ctx, resource, &opts, func() (metav1.ListInterface, func(), error) {
		list := page()
		body, err := c.raw(ctx, resource, namespace, opts, typedAccept)
		if err == nil {
			err = decodeList(body, list)
		}
		return list, func() { read(list) }, err
	}, restart)
}

// decodeList decodes a list in one of the formats of typedAccept. It ignores the kind in the answer: not every server
// sets it.
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
