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

// FieldManager writes objects as one field manager.
type FieldManager struct {
	cluster *Cluster
	name    string
}

// As returns what writes objects as a field manager.
func (c *Cluster) As(manager string) FieldManager { return FieldManager{c, manager} }

// ApplyOver applies an object pinned to the one that was seen, or, if over is nil, to there being none; with force, it takes the
// fields of other managers. made reports whether it created the object.
func (m FieldManager) ApplyOver(
	ctx context.Context, o render.Object, over *unstructured.Unstructured, force bool,
) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	return m.applyObject(ctx, pinned(o, over), metav1.PatchOptions{Force: &force})
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

func (m FieldManager) applyObject(
	ctx context.Context, o render.Object, opts metav1.PatchOptions,
) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	body, err := json.Marshal(o)
	if err != nil {
		return nil, false, err
	}
	status := 0
	meta, err = m.patch(context.WithValue(ctx, statusKey{}, &status), o.Kind, o.Namespace, o.Name, types.ApplyPatchType, body, opts)
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
func (m FieldManager) patch(
	ctx context.Context, kind kinds.Kind, namespace, name string, how types.PatchType, body []byte, opts metav1.PatchOptions,
	subresources ...string,
) (meta *metav1.PartialObjectMetadata, err error) {
	client := m.cluster.Metadata.Resource(kind.Resource()).Namespace(namespace)
	opts.FieldManager, opts.FieldValidation = m.name, SkipFieldValidation
	if how == types.ApplyPatchType {
		body = AsYAML(body)
	}
	err = m.cluster.Write(ctx, func(write context.Context) (err error) {
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
func (m FieldManager) Create(ctx context.Context, o render.Object) error {
	return m.create(ctx, o, nil)
}

func (m FieldManager) create(ctx context.Context, o render.Object, dryRun []string) error {
	body, opts := render.Rendered(o), metav1.CreateOptions{FieldManager: m.name, FieldValidation: SkipFieldValidation, DryRun: dryRun}
	body.SetResourceVersion("")
	return m.cluster.Write(ctx, func(write context.Context) error {
		_, err := m.cluster.Dynamic.Resource(o.Kind.Resource()).Namespace(o.Namespace).Create(write, body, opts)
		return err
	})
}

// CreateRefusal returns the error with which the API server would refuse to create an object, or nil. The object may
// exist already: RBAC and admission policies are checked before that.
func (m FieldManager) CreateRefusal(ctx context.Context, o render.Object) error {
	err := m.create(ctx, o, []string{metav1.DryRunAll})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Refusal returns the error with which the API server would refuse an apply to the object that was seen, nil for none, or nil. If
// the object has changed since it was read, IsOvertaken is true for the error. taken is the object with the managed fields that it gets
// before the apply, or nil: who has none any more refuses nothing.
func (m FieldManager) Refusal(ctx context.Context, o render.Object, live, taken *unstructured.Unstructured) error {
	opts := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	_, _, err := m.applyObject(ctx, pinned(o, live), opts)
	stays := func(manager string) bool {
		return slices.ContainsFunc(taken.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == manager })
	}
	if taken != nil && IsOwned(err) && !slices.ContainsFunc(Owners(err), stays) {
		force := true
		opts.Force = &force
		_, _, err = m.applyObject(ctx, pinned(o, live), opts)
	}
	return err
}

// MergePinned sends a JSON merge patch (RFC 7386), pinned to the live object. It sets the patch's UID and resource version.
func (m FieldManager) MergePinned(
	ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, patch map[string]any, subresources ...string,
) error {
	_, err := m.mergePinned(ctx, kind, live, patch, subresources...)
	return err
}

func (m FieldManager) mergePinned(
	ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, patch map[string]any, subresources ...string,
) (*metav1.PartialObjectMetadata, error) {
	pinned := unstructured.Unstructured{Object: patch}
	pinned.SetUID(live.GetUID())
	pinned.SetResourceVersion(live.GetResourceVersion())
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return m.patch(ctx, kind, live.GetNamespace(), live.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, subresources...)
}

// SetManagers gives an object the managed fields of taken, pinned to the object that was seen. It returns the object as it is then.
func (m FieldManager) SetManagers(ctx context.Context, kind kinds.Kind, taken *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	meta, err := m.mergePinned(ctx, kind, taken, map[string]any{"metadata": map[string]any{"managedFields": taken.GetManagedFields()}})
	if err != nil {
		return nil, err
	}
	now := taken.DeepCopy()
	now.SetResourceVersion(meta.ResourceVersion)
	return now, nil
}

// Annotate sets an annotation by an apply of what the manager has applied to the live object, pinned to it. So the manager's
// next apply can change the annotation; after a merge patch it would conflict with itself. The apply is forced: the API
// server compares field managers before versions, so that an object whose fields somebody else has taken since would be
// refused as theirs, and not as changed. What is forced has the values of the version that it is pinned to.
func (m FieldManager) Annotate(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, key, value string) error {
	owned, err := Owned(live, m.name)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: owned}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	_, err = m.patch(ctx, kind, live.GetNamespace(), live.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{Force: &force})
	return err
}

// LetGo removes what the manager has applied to an object that stays, pinned to the object as it is read.
func (m FieldManager) LetGo(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(kind.GroupVersionKind)
	nothing.SetNamespace(live.GetNamespace())
	nothing.SetName(live.GetName())
	err := m.cluster.Rewrite(ctx, kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		return func(ctx context.Context) error {
			_, _, err := m.ApplyOver(ctx, Applicable(kind, nothing), now, false)
			return err
		}, nil
	})
	return m.cluster.Explain(err, "patch", kind.Resource())
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
