package cluster

import (
	"context"
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Patch applies an object without force. Made is true where there was none before.
func (c *Cluster) Patch(ctx context.Context, o render.Object, manager string) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, false, err
	}
	opts := metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation}
	status := 0
	err = c.Write(ctx, func(write context.Context) (err error) {
		meta, err = c.Metadata.Resource(o.Kind.Resource()).Namespace(o.Namespace).Patch(notingStatus(write, &status), o.Name, types.ApplyPatchType, body, opts)
		return err
	})
	return meta, status == http.StatusCreated, err
}

// statusKey is the key of the place in a request's context where the status of its answer is noted.
type statusKey struct{}

func notingStatus(ctx context.Context, status *int) context.Context {
	return context.WithValue(ctx, statusKey{}, status)
}

// noteStatus notes the status of the answers of which somebody wants to know it: the clients do not tell
// a 200 from a 201, by which the API server says whether an apply has made an object.
func noteStatus(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if status, wanted := r.Context().Value(statusKey{}).(*int); wanted && err == nil {
			*status = response.StatusCode
		}
		return response, err
	})
}

// Create makes an object that is not there yet, and changes none that is: its error is AlreadyExists then.
func (c *Cluster) Create(ctx context.Context, o render.Object, manager string) error {
	opts := metav1.CreateOptions{FieldManager: manager, FieldValidation: SkipFieldValidation}
	return c.Write(ctx, func(write context.Context) error {
		_, err := c.Dynamic.Resource(o.Kind.Resource()).Namespace(o.Namespace).Create(write, Rendered(o), opts)
		return err
	})
}

// CreateRefusal is the error with which the server would refuse to make an object; nil where it would not. One that is there
// may be asked for too: rights and policies come before that is looked at.
func (c *Cluster) CreateRefusal(ctx context.Context, o render.Object, manager string) error {
	opts := metav1.CreateOptions{FieldManager: manager, FieldValidation: SkipFieldValidation, DryRun: []string{metav1.DryRunAll}}
	body := Rendered(o)
	body.SetResourceVersion("")
	err := c.Write(ctx, func(write context.Context) error {
		_, err := c.Dynamic.Resource(o.Kind.Resource()).Namespace(o.Namespace).Create(write, body, opts)
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Seize applies an object by force, pinned to what was read.
func (c *Cluster) Seize(ctx context.Context, o render.Object, manager string, live *unstructured.Unstructured) error {
	force := true
	return c.applyPinned(ctx, o, live, metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: SkipFieldValidation})
}

// Refusal is the error with which the server would refuse an apply to the object as it was read; nil where
// it would not. It says that the object was overtaken (IsOvertaken) where it has changed since.
func (c *Cluster) Refusal(ctx context.Context, o render.Object, manager string, live *unstructured.Unstructured) error {
	return c.applyPinned(ctx, o, live, metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation, DryRun: []string{metav1.DryRunAll}})
}

func (c *Cluster) applyPinned(ctx context.Context, o render.Object, live *unstructured.Unstructured, opts metav1.PatchOptions) error {
	pinned := Rendered(o)
	pinned.SetUID(live.GetUID())
	pinned.SetResourceVersion(live.GetResourceVersion())
	body, err := pinned.MarshalJSON()
	if err != nil {
		return err
	}
	return c.Write(ctx, func(write context.Context) error {
		_, err := c.Metadata.Resource(o.Kind.Resource()).Namespace(o.Namespace).Patch(write, o.Name, types.ApplyPatchType, body, opts)
		return err
	})
}

// DeletePinned deletes an object that is the very one that was read. It is done when there is no
// such object any more.
func (c *Cluster) DeletePinned(ctx context.Context, kind kinds.Kind, namespace, name string, uid types.UID, resourceVersion string) error {
	pin := &metav1.Preconditions{UID: &uid}
	if resourceVersion != "" {
		pin.ResourceVersion = &resourceVersion
	}
	err := c.Write(ctx, func(write context.Context) error {
		return c.Metadata.Resource(kind.Resource()).Namespace(namespace).Delete(write, name, metav1.DeleteOptions{Preconditions: pin})
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
