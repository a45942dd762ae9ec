package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
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
	return c.applyObject(ctx, o, metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation})
}

// ApplyOver applies an object pinned to the one that was seen, or, if over is nil, to there being none; with force, it takes the
// fields of other managers. made reports whether it created the object.
func (c *Cluster) ApplyOver(
	ctx context.Context, o render.Object, manager string, over *unstructured.Unstructured, force bool,
) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	return c.applyObject(ctx, pinned(o, over), metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: SkipFieldValidation})
}

// pinned returns an object for an apply that fails unless the one that was seen is there; nil for none.
func pinned(o render.Object, over *unstructured.Unstructured) render.Object {
	body := render.Rendered(o)
	if body.SetResourceVersion(Unwritten); over != nil {
		body.SetUID(over.GetUID())
		body.SetResourceVersion(over.GetResourceVersion())
	}
	o.Config = body
	return o
}

func (c *Cluster) applyObject(
	ctx context.Context, o render.Object, opts metav1.PatchOptions,
) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, false, err
	}
	status := 0
	meta, err = c.patch(context.WithValue(ctx, statusKey{}, &status), o.Kind, o.Namespace, o.Name, types.ApplyPatchType, body, opts)
	return meta, status == http.StatusCreated, err
}

// AsYAML escapes the characters of JSON strings that YAML does not allow as they are: the API server parses the body of
// an apply as YAML, even if it is JSON (YAML 1.2, 5.1).
func AsYAML(body []byte) []byte {
	escaped := func(r rune) bool {
		return r >= 0x7f && r <= 0x9f || r == 0xfeff || r == 0xfffe || r == 0xffff
	}
	if !bytes.ContainsFunc(body, escaped) {
		return body
	}
	var out bytes.Buffer
	for _, r := range string(body) {
		if escaped(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// patch sends a patch and returns the resulting metadata.
func (c *Cluster) patch(
	ctx context.Context, kind kinds.Kind, namespace, name string, how types.PatchType, body []byte, opts metav1.PatchOptions,
	subresources ...string,
) (meta *metav1.PartialObjectMetadata, err error) {
	client := c.Metadata.Resource(kind.Resource()).Namespace(namespace)
	if how == types.ApplyPatchType {
		body = AsYAML(body)
	}
	err = c.Write(ctx, func(write context.Context) (err error) {
		meta, err = client.Patch(write, name, how, body, opts, subresources...)
		return err
	})
	return meta, err
}

// statusKey is the context key of a pointer to the status code of the answer.
type statusKey struct{}

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
	return c.create(ctx, o, metav1.CreateOptions{FieldManager: manager, FieldValidation: SkipFieldValidation})
}

func (c *Cluster) create(ctx context.Context, o render.Object, opts metav1.CreateOptions) error {
	body := render.Rendered(o)
	body.SetResourceVersion("")
	return c.Write(ctx, func(write context.Context) error {
		_, err := c.Dynamic.Resource(o.Kind.Resource()).Namespace(o.Namespace).Create(write, body, opts)
		return err
	})
}

// CreateRefusal returns the error with which the API server would refuse to create an object, or nil. The object may
// exist already: RBAC and admission policies are checked before that.
func (c *Cluster) CreateRefusal(ctx context.Context, o render.Object, manager string) error {
	opts := metav1.CreateOptions{FieldManager: manager, FieldValidation: SkipFieldValidation, DryRun: []string{metav1.DryRunAll}}
	err := c.create(ctx, o, opts)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Seize applies an object with force, pinned to the live object.
func (c *Cluster) Seize(ctx context.Context, o render.Object, manager string, live *unstructured.Unstructured) error {
	_, _, err := c.ApplyOver(ctx, o, manager, live, true)
	return err
}

// Refusal returns the error with which the API server would refuse an apply to the object that was seen, nil for none, or nil. If
// the object has changed since it was read, IsOvertaken is true for the error. taken is the object with the managed fields that it gets
// before the apply, or nil: who has none any more refuses nothing.
func (c *Cluster) Refusal(ctx context.Context, o render.Object, manager string, live, taken *unstructured.Unstructured) error {
	opts := metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation, DryRun: []string{metav1.DryRunAll}}
	_, _, err := c.applyObject(ctx, pinned(o, live), opts)
	stays := func(manager string) bool {
		return slices.ContainsFunc(taken.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
	}
	if taken != nil && IsOwned(err) && !slices.ContainsFunc(Owners(err), stays) {
		force := true
		opts.Force = &force
		_, _, err = c.applyObject(ctx, pinned(o, live), opts)
	}
	return err
}

// MergePinned sends a JSON merge patch (RFC 7386), pinned to the live object. It sets the patch's UID and resource version.
func (c *Cluster) MergePinned(
	ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, patch map[string]any, manager string,
	subresources ...string,
) error {
	_, err := c.mergePinned(ctx, kind, live, patch, manager, subresources...)
	return err
}

func (c *Cluster) mergePinned(
	ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, patch map[string]any, manager string,
	subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	pinned := unstructured.Unstructured{Object: patch}
	pinned.SetUID(live.GetUID())
	pinned.SetResourceVersion(live.GetResourceVersion())
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	opts := metav1.PatchOptions{FieldManager: manager, FieldValidation: SkipFieldValidation}
	return c.patch(ctx, kind, live.GetNamespace(), live.GetName(), types.MergePatchType, body, opts, subresources...)
}

// SetManagers gives an object the managed fields of taken, pinned to the object that was seen. It returns the object as it is then.
func (c *Cluster) SetManagers(ctx context.Context, kind kinds.Kind, taken *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	meta, err := c.mergePinned(ctx, kind, taken, map[string]any{"metadata": map[string]any{"managedFields": taken.GetManagedFields()}}, manager)
	if err != nil {
		return nil, err
	}
	now := taken.DeepCopy()
	now.SetResourceVersion(meta.ResourceVersion)
	return now, nil
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

// ErrMoving reports that every attempt lost a race against other writers, or got no answer. wait.Interrupted is true for it.
var ErrMoving = wait.ErrorInterrupted(errors.New("every attempt lost a race against other writers, or got no answer"))

// Retry calls try until it is done or fails, at most as often as Retries allows; then it returns ErrMoving.
func (c *Cluster) Retry(ctx context.Context, try wait.ConditionWithContextFunc) error {
	err := wait.ExponentialBackoffWithContext(ctx, c.Retries, try)
	if wait.Interrupted(err) && ctx.Err() == nil {
		return ErrMoving
	}
	return err
}

// Rewrite changes an object that was read. decide returns the write to send, pinned to the object it is given, or nil
// for none. If the write loses a race or its effect is unclear, Rewrite reads the object and decides again. It returns
// nil if the object is gone.
func (c *Cluster) Rewrite(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured,
	decide func(context.Context, *unstructured.Unstructured) (write func(context.Context) error, err error),
) error {
	now, read := live, true
	return c.Retry(ctx, func(ctx context.Context) (_ bool, err error) {
		if !read {
			if now, err = c.Get(ctx, kind, live.GetNamespace(), live.GetName()); err != nil || now == nil || now.GetUID() != live.GetUID() {
				return err == nil, err
			}
		}
		read = false
		write, err := decide(ctx, now)
		if write == nil || err != nil {
			return err == nil, err
		}
		if now != live {
			ctx = Anew(ctx)
		}
		if err = write(ctx); err != nil && ctx.Err() == nil && (IsOvertaken(err) || IsUnclear(err)) {
			return false, nil
		}
		return err == nil, err
	})
}

// Remove deletes an object if may allows it, pinned to the version that may was asked about, and asks again if the object
// has changed. It returns the version that it has deleted, also if the answer was lost and the object is gone; nil if may
// has forbidden it or somebody else was first.
func (c *Cluster) Remove(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured,
	may func(context.Context, *unstructured.Unstructured) (bool, error),
) (deleted *unstructured.Unstructured, err error) {
	err = c.Rewrite(ctx, kind, live, func(ctx context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		deleted = nil
		if ok, err := may(ctx, now); err != nil || !ok {
			return nil, err
		}
		return func(ctx context.Context) error {
			err := c.DeletePinned(ctx, kind, now.GetNamespace(), now.GetName(), now.GetUID(), now.GetResourceVersion())
			if err == nil || IsUnclear(err) {
				deleted = now
			}
			return c.Explain(err, "delete", kind.Resource())
		}, nil
	})
	if err != nil {
		return nil, err
	}
	return deleted, nil
}
