package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
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
	if all, err := c.Cache.objects(ctx, resource, namespace, opts.LabelSelector); !errors.Is(err, ErrUnwatched) {
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
	if all, err := c.Cache.objects(ctx, resource, namespace, opts.LabelSelector); !errors.Is(err, ErrUnwatched) {
		for _, o := range all {
			out = append(out, read(o.Look())...)
		}
		return out, err
	}
	opts.Limit = pageSize
	err := c.pages(ctx, resource, &opts, func() (string, func() error, error) {
		list, err := c.page(ctx, resource, namespace, opts)
		return list.GetContinue(), func() error {
			for i := range list.Items {
				out = append(out, read(&list.Items[i])...)
			}
			return nil
		}, err
	}, func() { out = nil })
	return out, err
}

// page lists whole objects, which it decodes in one go: the dynamic client reads each answer three times.
func (c *Cluster) page(ctx context.Context, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	list := &unstructured.UnstructuredList{}
	body, err := c.raw(ctx, resource, namespace, opts, runtime.ContentTypeJSON)
	if err != nil {
		return list, err
	}
	var answer struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        map[string]any   `json:"metadata"`
		Items           []map[string]any `json:"items"`
	}
	if err := utiljson.Unmarshal(body, &answer); err != nil {
		return list, err
	}
	list.Object, list.Items = map[string]any{"metadata": answer.Metadata}, make([]unstructured.Unstructured, len(answer.Items))
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
	if all, err := c.Cache.metas(ctx, resource, namespace, opts.LabelSelector); !errors.Is(err, ErrUnwatched) {
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
	return eachPage(ctx, c, resource, namespace, opts, metasAccept, func() *metav1.PartialObjectMetadataList { return &metav1.PartialObjectMetadataList{} },
		func(list *metav1.PartialObjectMetadataList) {
			for i := range list.Items {
				read(&list.Items[i].ObjectMeta)
			}
		}, restart)
}

// pages lists page by page, and reads each while the next one is on its way: page returns the token of the next one, and what is called for
// one after the other. If a continue token expires (410), it calls restart and starts over: the pages so far belong to an older state. Nothing is listed
// with resourceVersion=0: such LISTs were seen to miss claims that existed.
func (c *Cluster) pages(
	ctx context.Context, resource schema.GroupVersionResource, opts *metav1.ListOptions,
	page func() (next string, read func() error, err error), restart func(),
) error {
	reading := parallel.New(1)
	var err error
	for more := true; more; {
		var next string
		var read func() error
		err = c.ReadOf(ctx, resource, func() (err error) {
			next, read, err = page()
			return err
		})
		switch {
		case apierrors.IsResourceExpired(err) && opts.Continue != "":
			opts.Continue = ""
			reading.Go(func() error { restart(); return nil })
		case err != nil:
			more = false
		default:
			reading.Go(read)
			opts.Continue = next
			more = next != ""
		}
	}
	return cmp.Or(reading.Wait(), c.Explain(err, "list", resource))
}

// typedPageSize is the page size of EachPage, whose callers keep only sums.
const typedPageSize = 500

// List is a list of one of Kubernetes' own kinds, such as *corev1.PodList.
type List interface {
	metav1.ListInterface
	// Unmarshal decodes the list from protobuf.
	Unmarshal(body []byte) error
}

// typedAccept prefers protobuf, which decodes in a fraction of the time of JSON. metasAccept asks for metadata alone.
const (
	typedAccept = "application/vnd.kubernetes.protobuf,application/json"
	metasAccept = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// EachPage passes whole objects of a built-in resource to read, page by page, in all namespaces if namespace is empty.
// It holds two pages at a time and calls restart before it starts over. Of opts it uses the selectors.
func EachPage[L List](
	ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions,
	page func() L, read func(L), restart func(),
) error {
	opts.Limit = typedPageSize
	return eachPage(ctx, c, resource, namespace, opts, typedAccept, page, read, restart)
}

// eachPage passes a list page by page. It decodes a page while the next one is on its way.
func eachPage[L List](
	ctx context.Context, c *Cluster, resource schema.GroupVersionResource, namespace string, opts metav1.ListOptions, accept string,
	page func() L, read func(L), restart func(),
) error {
	return c.pages(ctx, resource, &opts, func() (string, func() error, error) {
		body, err := c.raw(ctx, resource, namespace, opts, accept)
		if err != nil {
			return "", nil, err
		}
		next, err := continueOf(body)
		return next, func() error {
			list := page()
			err := decodeList(body, list)
			if err == nil {
				read(list)
			}
			return c.Explain(err, "list", resource)
		}, err
	}, restart)
}

// decodeList decodes a list in one of the formats of typedAccept. It ignores the kind in the answer: not every server
// sets it.
func decodeList(body []byte, list List) error {
	message, err := messageIn(body)
	if message == nil {
		return cmp.Or(err, utiljson.Unmarshal(body, list))
	}
	return list.Unmarshal(message)
}

// continueOf returns the token for the page after a list, of which it decodes nothing else.
func continueOf(body []byte) (string, error) {
	var list struct {
		Metadata metav1.ListMeta `json:"metadata"`
	}
	message, err := messageIn(body)
	switch {
	case err != nil:
	case message == nil:
		err = utiljson.Unmarshal(body, &list)
	default:
		if message, err = fieldOf(message, 1); err == nil {
			err = list.Metadata.Unmarshal(message)
		}
	}
	return list.Metadata.Continue, err
}

// messageIn returns the object of an answer in protobuf, which is the second field of a runtime.Unknown; nil if the answer is in JSON.
func messageIn(body []byte) ([]byte, error) {
	envelope, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return nil, nil
	}
	return fieldOf(envelope, 2)
}

// fieldOf returns a field of a message in protobuf that has a length.
func fieldOf(message []byte, field protowire.Number) ([]byte, error) {
	for {
		number, kind, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		if number == field && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			value, _ := protowire.ConsumeBytes(message[tag:])
			return value, nil
		}
		message = message[n:]
	}
}
