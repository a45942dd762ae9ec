package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// errChanged is what the server says of a write with another resource version than the object's.
var errChanged = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// writing is a request that writes an object.
type writing struct {
	target
	manager    string
	force, dry bool
	live       *stored
}

func (s *Server) write(w *writing, r *http.Request, body []byte) (o *stored, made bool, err error) {
	var to *unstructured.Unstructured
	if r.Method == http.MethodPost {
		to, err = s.post(w, body)
	} else {
		w.live = s.objects[w.path()]
		switch types.PatchType(r.Header.Get("Content-Type")) {
		case types.ApplyPatchType:
			to, err = w.apply(body)
		case types.MergePatchType:
			to, err = w.patch(func(live []byte) ([]byte, error) { return jsonpatch.MergePatch(live, body) })
		case types.JSONPatchType:
			to, err = w.patch(func(live []byte) ([]byte, error) {
				patch, err := jsonpatch.DecodePatch(body)
				if err != nil {
					return nil, err
				}
				return patch.Apply(live)
			})
		default:
			err = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType}}
		}
	}
	if err == nil {
		err = w.fits(to)
	}
	if err != nil {
		return nil, false, err
	}
	if w.live == nil {
		o, err = s.make(w, to)
		return o, true, err
	}
	o, err = s.change(w, to)
	return o, false, err
}

// apply is a server-side apply.
func (w *writing) apply(body []byte) (*unstructured.Unstructured, error) {
	wish := &unstructured.Unstructured{}
	if err := wish.UnmarshalJSON(body); err != nil { // our clients send no other YAML
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	live, err := w.kind.empty()
	if err != nil {
		return nil, err
	}
	if w.live != nil {
		live = w.live.object.DeepCopy()
	}
	o, err := w.kind.fields.Apply(live, wish, w.manager, w.force)
	if err != nil {
		return nil, err
	}
	to, err := w.kind.plain(o.(*unstructured.Unstructured))
	if err != nil {
		return nil, err
	}
	if uid := to.GetUID(); w.live == nil && uid != "" {
		return nil, apierrors.NewConflict(w.kind.resource(), w.name, fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", uid))
	}
	return to, nil
}

// patch is any other patch.
func (w *writing) patch(change func([]byte) ([]byte, error)) (*unstructured.Unstructured, error) {
	if w.live == nil {
		return nil, apierrors.NewNotFound(w.kind.resource(), w.name)
	}
	text, err := change(w.live.text)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	to := &unstructured.Unstructured{}
	if err := to.UnmarshalJSON(text); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return w.update(w.live.object.DeepCopy(), to)
}

func (s *Server) post(w *writing, body []byte) (*unstructured.Unstructured, error) {
	empty, err := w.kind.empty()
	if err != nil {
		return nil, err
	}
	to := &unstructured.Unstructured{}
	if err := to.UnmarshalJSON(body); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w.name = to.GetName()
	if to.GetNamespace() == "" && w.kind.namespaced {
		to.SetNamespace(w.namespace)
	}
	if there := s.objects[w.path()]; there != nil {
		exists := apierrors.NewAlreadyExists(w.kind.resource(), w.name)
		if there.object.GetDeletionTimestamp() != nil {
			exists.ErrStatus.Message = "object is being deleted: " + exists.ErrStatus.Message
		}
		return nil, exists
	}
	return w.update(empty, to)
}

// update is a write that is no apply: what it changes is its manager's.
func (w *writing) update(live, to *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	to, err := w.kind.plain(to)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	w.kind.defaults(to)
	return w.kind.fields.UpdateNoErrors(live, to, w.manager).(*unstructured.Unstructured), nil
}

// fits refuses an object that is not the one of the path.
func (w *writing) fits(to *unstructured.Unstructured) error {
	if w.kind.namespaced && to.GetNamespace() == "" {
		to.SetNamespace(w.namespace)
	}
	if to.GetNamespace() != w.namespace {
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if to.GetName() != w.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", to.GetName(), w.name))
	}
	return nil
}

// make stores an object that was not there.
func (s *Server) make(w *writing, to *unstructured.Unstructured) (*stored, error) {
	if w.kind.namespaced {
		home := s.objects["/api/v1/namespaces/"+w.namespace]
		switch {
		case home == nil:
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, w.namespace)
		case home.object.GetDeletionTimestamp() != nil:
			return nil, apierrors.NewForbidden(w.kind.resource(), w.name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", w.namespace))
		}
	}
	s.version++
	to.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.version)))
	to.SetCreationTimestamp(metav1.NewTime(s.Now().Truncate(time.Second)))
	to.SetDeletionTimestamp(nil)
	if w.kind.generations {
		to.SetGeneration(1)
	}
	return s.store(w, to)
}

// change stores an object in the place of that which is there.
func (s *Server) change(w *writing, to *unstructured.Unstructured) (*stored, error) {
	live := w.live.object
	if version := to.GetResourceVersion(); version != "" && version != live.GetResourceVersion() {
		return nil, apierrors.NewConflict(w.kind.resource(), w.name, errChanged)
	}
	if to.GetUID() == "" {
		to.SetUID(live.GetUID())
	}
	var refused field.ErrorList
	if live.GetDeletionTimestamp() != nil {
		refused = validation.ValidateNoNewFinalizers(to.GetFinalizers(), live.GetFinalizers(), field.NewPath("metadata", "finalizers"))
	}
	refused = append(refused, validation.ValidateImmutableField(to.GetUID(), live.GetUID(), field.NewPath("metadata", "uid"))...)
	if len(refused) > 0 { // they are looked for twice: in all objects, and in this kind
		return nil, apierrors.NewInvalid(w.kind.GroupKind(), w.name, append(refused, refused...))
	}
	to.SetResourceVersion(live.GetResourceVersion())
	to.SetCreationTimestamp(live.GetCreationTimestamp())
	to.SetDeletionTimestamp(live.GetDeletionTimestamp())
	to.SetGeneration(live.GetGeneration())
	w.kind.defaults(to)
	w.kind.completes(to)
	if sameButTimes(live, to) {
		return w.live, nil
	}
	if w.kind.generations && !reflect.DeepEqual(live.Object["spec"], to.Object["spec"]) {
		to.SetGeneration(live.GetGeneration() + 1)
	}
	s.version++
	return s.store(w, to)
}

// sameButTimes is true for objects that differ in nothing but the times of their managed fields.
func sameButTimes(a, b *unstructured.Unstructured) bool {
	untimed := func(o *unstructured.Unstructured) (out []metav1.ManagedFieldsEntry) {
		for _, m := range o.GetManagedFields() {
			m.Time = nil
			out = append(out, m)
		}
		return out
	}
	if !reflect.DeepEqual(untimed(a), untimed(b)) {
		return false
	}
	b = b.DeepCopy()
	b.SetManagedFields(a.GetManagedFields())
	return reflect.DeepEqual(a.Object, b.Object)
}

// store keeps an object under the newest version, unless it is only a dry run.
func (s *Server) store(w *writing, to *unstructured.Unstructured) (*stored, error) {
	w.kind.defaults(to)
	w.kind.completes(to)
	to, err := w.kind.plain(to)
	if err != nil {
		return nil, err
	}
	ended := to.GetDeletionTimestamp() != nil && len(to.GetFinalizers()) == 0
	if !w.dry && (!ended || w.kind.custom()) {
		to.SetResourceVersion(strconv.FormatInt(s.version, 10))
	}
	s.setTimes(to)
	o, err := w.read(to)
	if err != nil {
		return nil, err
	}
	switch {
	case w.dry:
	case ended:
		delete(s.objects, o.path)
	default:
		s.objects[o.path] = o
	}
	return o, nil
}

// read is an object as it is answered.
func (w *writing) read(to *unstructured.Unstructured) (*stored, error) {
	var err error
	o := &stored{kind: w.kind, path: w.path()}
	if o.text, err = to.MarshalJSON(); err != nil {
		return nil, err
	}
	if o.meta, err = json.Marshal(to.Object["metadata"]); err != nil {
		return nil, err
	}
	o.inList = o.text
	if !w.kind.custom() {
		bare := maps.Clone(to.Object)
		delete(bare, "apiVersion")
		delete(bare, "kind")
		if o.inList, err = json.Marshal(bare); err != nil {
			return nil, err
		}
	}
	o.object = &unstructured.Unstructured{} // as it is read, with numbers of one type
	if err := o.object.UnmarshalJSON(o.text); err != nil {
		return nil, err
	}
	return o, nil
}

// setTimes writes the times of the managed fields that this write has changed by the server's clock.
func (s *Server) setTimes(o *unstructured.Unstructured) {
	fields, now := o.GetManagedFields(), time.Now().Truncate(time.Second)
	for i, m := range fields {
		if m.Time != nil && s.Skew != 0 && m.Time.Truncate(time.Second).Equal(now) {
			fields[i].Time = &metav1.Time{Time: s.Now().Truncate(time.Second)}
		}
	}
	o.SetManagedFields(fields)
}
