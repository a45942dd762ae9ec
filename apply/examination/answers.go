package examination

import (
	"context"
	"errors"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/examine"
)

// reader collects what was seen. Each read writes a field of its own; mu is for the maps.
type reader struct {
	cluster *cluster.Cluster
	mu      sync.Mutex
	seen    *examine.Seen
}

// answered returns what follows from the error of a read that needs a right: nothing for a kind or an object that does not exist, why
// nothing was read if the server refuses or cannot answer this read, and the error itself if it does not answer at all.
func answered[T any](value T, err error, needs examine.Right) (T, *examine.Unread, error) {
	var none T
	away, isAway := errors.AsType[*cluster.AwayError](err)
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return value, nil, nil
	case apierrors.IsForbidden(err):
		return none, &examine.Unread{Right: needs}, nil
	case cluster.IsMissingKind(err), apierrors.IsNotFound(err):
		return none, nil, nil
	case isAway && away.Resource.Resource != "":
		return none, &examine.Unread{Message: err.Error()}, nil
	case !isAway && errors.As(err, &status) && !apierrors.IsUnauthorized(err):
		return none, &examine.Unread{Message: err.Error()}, nil
	}
	return none, nil, err
}

// answer sets an answer.
func answer[T any](into *examine.Answer[T], value T, err error, needs examine.Right) error {
	into.Value, into.Unread, err = answered(value, err, needs)
	return err
}

// put adds an answer to a map.
func put[K comparable, T any](r *reader, into map[K]examine.Answer[T], key K, value T, err error, needs examine.Right) error {
	var a examine.Answer[T]
	err = answer(&a, value, err, needs)
	r.mu.Lock()
	defer r.mu.Unlock()
	into[key] = a
	return err
}

func right(verb string, of schema.GroupVersionResource, namespace, name string) examine.Right {
	return examine.Right{Verb: verb, Group: of.Group, Resource: of.Resource, Namespace: namespace, Name: name}
}

// fetch reads one object.
func (r *reader) fetch(ctx context.Context, of schema.GroupVersionResource, namespace, name string) (o examine.Object, err error) {
	err = r.cluster.ReadOf(ctx, of, func() (err error) {
		o, err = r.cluster.Dynamic.Resource(of).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		err = r.cluster.Explain(err, "get", of)
	}
	return o, err
}

// get reads one object into an answer; nil if it does not exist.
func get(ctx context.Context, r *reader, into *examine.Answer[examine.Object], of schema.GroupVersionResource, namespace, name string) error {
	o, err := r.fetch(ctx, of, namespace, name)
	return answer(into, o, err, right("get", of, namespace, name))
}

// getInto reads one object of a kind without namespaces into a map.
func getInto(ctx context.Context, r *reader, into map[string]examine.Answer[examine.Object], of schema.GroupVersionResource, name string) error {
	o, err := r.fetch(ctx, of, "", name)
	return put(r, into, name, o, err, right("get", of, "", name))
}

// list reads the objects of a resource; none if it is not served.
func list(ctx context.Context, r *reader, into *examine.Answer[[]examine.Object], of schema.GroupVersionResource, namespace string) error {
	all, err := r.cluster.Objects(ctx, of, namespace, metav1.ListOptions{})
	return answer(into, all, err, right("list", of, namespace, ""))
}

// lists reads the objects of several resources into one answer, which is Unread if any of them is.
func lists(ctx context.Context, r *reader, into *examine.Answer[[]examine.Object], of []schema.GroupVersionResource) error {
	parts := make([]examine.Answer[[]examine.Object], len(of))
	group, reading := parallel.WithContext(ctx)
	for i, resource := range of {
		group.Go(func() error { return list(reading, r, &parts[i], resource, "") })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, part := range parts {
		into.Value = append(into.Value, part.Value...)
		if part.Unread != nil {
			into.Unread = part.Unread
		}
	}
	return nil
}

// page is how many objects firstPage reads.
const page = 500

// firstPage reads some objects of a resource, of all namespaces.
func firstPage(ctx context.Context, r *reader, into *examine.Answer[[]examine.Object], of schema.GroupVersionResource) error {
	var found *unstructured.UnstructuredList
	err := r.cluster.ReadOf(ctx, of, func() (err error) {
		found, err = r.cluster.Dynamic.Resource(of).List(ctx, metav1.ListOptions{Limit: page})
		return err
	})
	var all []examine.Object
	if err == nil {
		for i := range found.Items {
			all = append(all, &found.Items[i])
		}
	}
	return answer(into, all, r.cluster.Explain(err, "list", of), right("list", of, "", ""))
}

// rights asks which rights the caller has. A caller who may do everything is asked about nothing else.
func (r *reader) rights(ctx context.Context) error {
	if err := r.right(ctx, examine.Everything); err != nil || r.seen.Rights[examine.Everything].Value {
		return err
	}
	wanted, err := examine.Asked(r.seen.Config, r.seen.Before)
	if err != nil {
		return err
	}
	group, asking := parallel.WithContext(ctx)
	for _, w := range wanted {
		group.Go(func() error { return r.right(asking, w) })
	}
	return group.Wait()
}

func (r *reader) right(ctx context.Context, of examine.Right) error {
	allowed, err := r.cluster.May(ctx, &authorizationv1.ResourceAttributes{
		Verb: of.Verb, Group: of.Group, Resource: of.Resource, Subresource: of.Subresource, Name: of.Name, Namespace: of.Namespace,
	})
	return put(r, r.seen.Rights, of, allowed, err, examine.Right{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"})
}
