package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/akash-net/kubectl-akash-net/plan"
)

// writing is a write that a dry run does not send.
type writing struct {
	target
	method  string
	how     types.PatchType
	manager string
	body    []byte
	// wish is the body without its preconditions, which are in uid and version.
	wish         map[string]any
	uid, version string
}

func writingOf(r *http.Request, t target) (*writing, error) {
	w := &writing{
		target: t, wish: map[string]any{}, method: r.Method,
		how: types.PatchType(r.Header.Get("Content-Type")), manager: r.URL.Query().Get("fieldManager"),
	}
	if r.Body != nil {
		var err error
		if w.body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // reading has reported any error
	}
	if len(w.body) > 0 {
		if err := utiljson.Unmarshal(w.body, &w.wish); err != nil {
			return nil, err
		}
	}
	pins, _ := w.wish["metadata"].(map[string]any)
	if r.Method == http.MethodDelete {
		pins, _ = w.wish["preconditions"].(map[string]any)
	} else if pins != nil {
		pins = maps.Clone(pins)
		for _, pin := range []string{"uid", "resourceVersion"} {
			delete(w.wish["metadata"].(map[string]any), pin)
		}
	}
	w.uid, _ = pins["uid"].(string)
	w.version, _ = pins["resourceVersion"].(string)
	if w.name == "" {
		w.name, _ = pins["name"].(string)
	}
	return w, nil
}

// makes reports whether the write requires that the object does not exist.
func (w *writing) makes() bool { return w.version == Unwritten && w.uid == "" }

// Unwritten is a resourceVersion that no object has: etcd's first write is revision 2. An apply with it and without a
// UID creates the object, or fails if there is one.
const Unwritten = "1"

// result returns the object after the write, nil if it is deleted, or the API server's error. It does not report
// conflicts with other field managers: a plan shows them field by field.
func (w *writing) result(live *unstructured.Unstructured) (*unstructured.Unstructured, *apierrors.StatusError) {
	moved := apierrors.NewConflict(w.GroupResource, w.name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	switch {
	case live != nil && live.GetUID() != "" &&
		(w.uid != "" && w.uid != string(live.GetUID()) || w.version != "" && w.version != live.GetResourceVersion()):
		return nil, moved
	case w.method == http.MethodDelete:
		return nil, nil
	case live == nil && w.uid+w.version != "" && !w.makes():
		return nil, moved
	case w.method == http.MethodPost && live != nil:
		return nil, apierrors.NewAlreadyExists(w.GroupResource, w.name)
	case w.method == http.MethodPost, w.how == types.ApplyPatchType:
		return w.applied(live), nil
	case live == nil:
		return nil, apierrors.NewNotFound(w.GroupResource, w.name)
	case w.how == types.MergePatchType:
		out, err := w.merged(live)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		return out, nil
	}
	return nil, apierrors.NewMethodNotSupported(w.GroupResource, string(w.how))
}

// applied returns the object after a server-side apply.
func (w *writing) applied(live *unstructured.Unstructured) *unstructured.Unstructured {
	wish := (&unstructured.Unstructured{Object: w.wish}).DeepCopy()
	wish.SetNamespace(w.namespace)
	out := wish
	if live != nil {
		out = live.DeepCopy()
		for _, f := range plan.Fields(live, wish.Object, w.manager) {
			f.Set(out.Object)
		}
	}
	fields, err := json.Marshal(fieldsOf(w.wish, nil))
	if err != nil {
		return out
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: w.manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: wish.GetAPIVersion(), FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{},
	}
	entry.FieldsV1.SetRawBytes(fields)
	entries := out.GetManagedFields()
	i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == w.manager && e.Operation == entry.Operation && e.Subresource == ""
	})
	switch {
	case i < 0:
		i, entries = len(entries), append(entries, entry)
	case entries[i].FieldsV1 != nil && bytes.Equal(entries[i].FieldsV1.GetRawBytes(), fields):
		return out
	}
	entry.Time = &metav1.Time{Time: time.Now()}
	entries[i] = entry
	out.SetManagedFields(entries)
	return out
}

// fieldsOf returns the fields of an applied object in the format of managed fields. A list counts as one field.
func fieldsOf(value map[string]any, path plan.Path) map[string]any {
	out := map[string]any{}
	for name, v := range value {
		at := append(slices.Clone(path), name)
		below, _ := v.(map[string]any)
		if fields := fieldsOf(below, at); !at.Identifies() && (len(fields) > 0 || len(below) == 0) {
			out["f:"+name] = fields
		}
	}
	return out
}

// merged returns the object after a JSON merge patch (RFC 7386).
func (w *writing) merged(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(w.wish)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{}
	return out, utiljson.Unmarshal(after, &out.Object)
}

// drafted is the prefix of the resource versions, and of the UIDs, that a dry run assigns.
const drafted = "dry-run-"

// version assigns a resource version to an object that a dry run has written, and a UID if it has created it. The
// object has no creation timestamp, so that repeated dry runs print the same.
func version(o *unstructured.Unstructured, made bool, n int) {
	o.SetResourceVersion(fmt.Sprint(drafted, n))
	if made {
		o.SetUID(types.UID(o.GetResourceVersion()))
	}
}

// IsDraft reports whether a UID or a resource version was assigned by a dry run.
func IsDraft[T ~string](uid T) bool { return strings.HasPrefix(string(uid), drafted) }
