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

// Get reads one whole object. It returns nil if there is none.
func (c *Cluster) Get(ctx context.Context, kind kinds.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	var o *unstructured.Unstructured
	err := c.ReadOf(ctx, kind.Resource(), func() (err error) {
		o, err = c.Dynamic.Resource(kind.Resource()).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absence is an answer
	}
	return o, c.Explain(err, "get", kind.Resource())
}

// Applicable returns an unstructured object in the form in which it is applied.
func Applicable(kind kinds.Kind, o *unstructured.Unstructured) render.Object {
	return render.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}
}

// Patch applies an object without force. made reports whether it created the object.
func (c *Cluster) Patch(
	ctx context.Context, o render.Object, manager string,
) (meta *metav1.PartialObjectMetadata, made bool, err error) {
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

// statusKey is the context key of a pointer to the status code of the answer.
type statusKey struct{}

func notingStatus(ctx context.Context, status *int) context.Context {
	return context.WithValue(ctx, statusKey{}, status)
}

// noteStatus stores the status code of an answer if the request's context asks for it. The API server answers an apply
// that creates the object with 201, which the clients do not return.
func noteStatus(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if status, wanted := r.Context().Value(statusKey{}).(*int); wanted && err == nil {
			*status = response.StatusCode
		}
		return response, err
	})
}

// Create creates an object. The error is AlreadyExists if there is one.
func (c *Cluster) Create(ctx context.Context, o render.Object, manager string) error {
	opts := metav1.CreateOptions{FieldManager: manager, FieldValidation: SkipFieldValidation}
	return c.Write(ctx, func(write context.Context) error {
		_, err := c.Dynamic.Resource(o.Kind.Resource()).Namespace(o.Namespace).Create(write, Rendered(o), opts)
		return err
	})
}

// CreateRefusal returns the error with which the API server would refuse to create an object, or nil. The object may
// exist already: RBAC and admission policies are checked before that.
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

// Seize applies an object with force, pinned to the live object.
func (c *Cluster) Seize(ctx context.Context, o render.Object, manager string, live *unstructured.Unstructured) error {
	force := true
	return c.applyPinned(ctx, o, live, metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: SkipFieldValidation})
}

// Refusal returns the error with which the API server would refuse an apply to the live object, or nil. If the object
// has changed since it was read, IsOvertaken is true for the error.
func (c *Cluster) Refusal(ctx context.Context, o render.Object, manager string, live *unstructured.Unstructured) error {
	return c.applyPinned(ctx, o, live, metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation, DryRun: []string{metav1.DryRunAll}})
}

func (c *Cluster) applyPinned(
	ctx context.Context, o render.Object, live *unstructured.Unstructured, opts metav1.PatchOptions,
) error {
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

// MergePinned sends a JSON merge patch (RFC 7386), pinned to the live object. It sets the patch's UID and resource version.
func (c *Cluster) MergePinned(
	ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, patch map[string]any, manager string, subresources ...string,
) error {
	pinned := unstructured.Unstructured{Object: patch}
	pinned.SetUID(live.GetUID())
	pinned.SetResourceVersion(live.GetResourceVersion())
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	opts := metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation}
	return c.Write(ctx, func(write context.Context) error {
		client := c.Metadata.Resource(kind.Resource()).Namespace(live.GetNamespace())
		_, err := client.Patch(write, live.GetName(), types.MergePatchType, body, opts, subresources...)
		return err
	})
}

// DeletePinned deletes exactly the object that was read. It returns nil if the object is already gone.
func (c *Cluster) DeletePinned(
	ctx context.Context, kind kinds.Kind, namespace, name string, uid types.UID, resourceVersion string,
) error {
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
