// Package managed reads an object's managed fields: which manager owns which fields, and how it wrote them. No other
// package reads them.
package managed

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Akash is the field manager of Akash's provider and its operators, which are one program. They write whole objects
// with Update.
const Akash = "provider-services"

// Entry is a managedFields entry: the fields that one manager has written with one operation.
type Entry struct {
	metav1.ManagedFieldsEntry
	// raw has the fields if the object is unstructured.
	raw map[string]any
}

// Of yields the entries of an object, except those of subresources.
func Of(o metav1.Object) iter.Seq[Entry] {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return ofUnstructured(u)
	}
	return func(yield func(Entry) bool) {
		for _, m := range o.GetManagedFields() {
			if m.Subresource == "" && !yield(Entry{ManagedFieldsEntry: m}) {
				return
			}
		}
	}
}

// ofUnstructured yields the entries of an unstructured object. Converting them to structs would take longer than all
// other work on the object.
func ofUnstructured(o *unstructured.Unstructured) iter.Seq[Entry] {
	metadata, _ := o.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	return func(yield func(Entry) bool) {
		for _, entry := range entries {
			fields, _ := entry.(map[string]any)
			text := func(name string) string { v, _ := fields[name].(string); return v }
			if text("subresource") != "" {
				continue
			}
			e := Entry{ManagedFieldsEntry: metav1.ManagedFieldsEntry{
				Manager: text("manager"), Operation: metav1.ManagedFieldsOperationType(text("operation")), APIVersion: text("apiVersion"),
			}}
			e.raw, _ = fields["fieldsV1"].(map[string]any)
			if at, err := time.Parse(time.RFC3339, text("time")); err == nil {
				e.Time = &metav1.Time{Time: at}
			}
			if !yield(e) {
				return
			}
		}
	}
}

// Status is the subresource that controllers write.
const Status = "status"

// Precision is that of the times in the entries.
const Precision = time.Second

// LastWritten returns the latest time in the object's entries, or in those of the given subresources; the zero time if
// there is none.
func LastWritten(o metav1.Object, subresource ...string) (last time.Time) {
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && m.Time.After(last) && (len(subresource) == 0 || slices.Contains(subresource, m.Subresource)) {
			last = m.Time.Time
		}
	}
	return last
}

// LastWriter returns the manager of the latest of the object's entries; of several of one second, one that is not this program. It is
// empty if there is none.
func LastWriter(o metav1.Object) (manager string) {
	last := LastWritten(o)
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && m.Time.Time.Equal(last) && (manager == "" || !strings.HasPrefix(m.Manager, lease.FieldManager)) {
			manager = m.Manager
		}
	}
	return manager
}

// OfVersion returns the entries of one API version, and the number of entries of other versions.
func OfVersion(o metav1.Object, version schema.GroupVersion) (entries []metav1.ManagedFieldsEntry, others int) {
	all := o.GetManagedFields()
	entries = slices.DeleteFunc(slices.Clone(all),
		func(m metav1.ManagedFieldsEntry) bool { return m.APIVersion != version.String() })
	return entries, len(all) - len(entries)
}

// Names reports whether the name of any manager starts with the prefix. It converts nothing, because most objects of a
// cluster belong to others.
func Names(o *unstructured.Unstructured, prefix string) bool {
	metadata, _ := o.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		if name, ok := fields["manager"].(string); ok && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Applied returns the entry of what a manager has applied. ok is false if it has applied nothing.
func Applied(o metav1.Object, manager string) (e Entry, ok bool) {
	for e := range Of(o) {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply {
			return e, true
		}
	}
	return Entry{}, false
}

// GroupOf returns the deployment group that a field manager is named after.
func GroupOf(manager string) (lease.Group, bool) {
	text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
	if !ours {
		return lease.Group{}, false
	}
	g, err := lease.ParseGroup(text)
	return g, err == nil
}

// Group returns the deployment group for which the entry was applied.
func (e Entry) Group() (lease.Group, bool) {
	if e.Operation != metav1.ManagedFieldsOperationApply {
		return lease.Group{}, false
	}
	return GroupOf(e.Manager)
}

// AppliedBy reports whether the field manager of the deployment group has applied any field of the object.
func AppliedBy(o *metav1.ObjectMeta, g lease.Group) bool {
	for i := range o.ManagedFields {
		m := &o.ManagedFields[i]
		text, ours := strings.CutPrefix(m.Manager, lease.FieldManager+"/")
		rest, same := strings.CutPrefix(text, g.Owner+"/")
		if !ours || !same || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" {
			continue
		}
		dseq, gseq, _ := strings.Cut(rest, "/")
		d, _ := strconv.ParseUint(dseq, 10, 64)
		if n, err := strconv.ParseUint(gseq, 10, 32); err == nil && d == g.DSeq && uint32(n) == g.GSeq {
			return true
		}
	}
	return false
}

// Ours reports whether this program has applied the entry, with the manager of a lease or with its own.
func (e Entry) Ours() bool {
	_, ofGroup := e.Group()
	return ofGroup || e.Manager == lease.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply
}

// AnnotationLastApplied is where kubectl keeps what it has applied from its own side.
const AnnotationLastApplied = corev1.LastAppliedConfigAnnotation

// lastApplied is the manager of that annotation alone, once kubectl applies on the server's side.
const lastApplied = "kubectl-last-applied"

// Delivers reports whether the entry is of a program that has delivered the object as this program renders it, on the server's side or
// on its own: kubectl, or a controller that applies files. Whoever has applied a field or two does not.
func (e Entry) Delivers() bool {
	if e.Manager == Akash || e.Ours() {
		return false
	}
	switch e.Operation {
	case metav1.ManagedFieldsOperationUpdate:
		if !e.Owns("metadata", "annotations", AnnotationLastApplied) {
			return false
		}
	case metav1.ManagedFieldsOperationApply:
	}
	return e.Manager == lastApplied || e.Owns("metadata", "annotations", lease.AnnotationDefinition) ||
		slices.ContainsFunc([]string{lease.LabelOwner, lease.LabelManaged, lease.LabelOurs}, func(label string) bool { return e.Owns("metadata", "labels", label) })
}

// IsHand reports whether a field manager is that of one of kubectl's commands, which a person types ("kubectl-edit", "kubectl-patch", …).
func IsHand(manager string) bool {
	return manager == "kubectl" || strings.HasPrefix(manager, "kubectl-")
}

// Edited reports whether kubectl users own fields of an object that this program has applied.
func Edited(o metav1.Object) bool {
	ours, byHand := false, false
	for e := range Of(o) {
		ours, byHand = ours || e.Ours(), byHand || IsHand(e.Manager)
	}
	return ours && byHand
}

// Set returns the fields of the entry. ok is false if they cannot be read.
func (e Entry) Set() (set *fieldpath.Set, ok bool) {
	set = &fieldpath.Set{}
	var body []byte
	switch {
	case e.raw != nil:
		body, _ = json.Marshal(e.raw) // decoded from JSON, so it marshals
	case e.FieldsV1 != nil:
		body = e.FieldsV1.GetRawBytes()
	default:
		return set, false
	}
	err := set.FromJSON(bytes.NewReader(body))
	return set, err == nil
}

// FieldsOf returns a set of fields as an entry has it.
func FieldsOf(set *fieldpath.Set) *metav1.FieldsV1 {
	fields := &metav1.FieldsV1{}
	if text, err := set.ToJSON(); err == nil { // it fails for no set that was read
		fields.SetRawBytes(text)
	}
	return fields
}

// KeyPrefix starts a path element that selects an item of a list by its keys, as in managed fields: k:{"name":"web"}.
const KeyPrefix = "k:"

// element parses a path element: a field, or an item of a list.
func element(name string) fieldpath.PathElement {
	if strings.HasPrefix(name, KeyPrefix) {
		if e, err := fieldpath.DeserializePathElement(name); err == nil {
			return e
		}
	}
	return fieldpath.PathElement{FieldName: &name}
}

// Owns reports whether the manager owns the field at the path, or a field below it.
func (e Entry) Owns(path ...string) bool {
	if e.raw != nil {
		_, found := e.below(path)
		return found
	}
	set, ok := e.Set()
	for i, name := range path {
		at := element(name)
		if i == len(path)-1 && set.Members.Has(at) {
			return ok
		}
		set = set.WithPrefix(at)
	}
	return ok && !set.Empty()
}

// below returns the raw fields below a path.
func (e Entry) below(path []string) (below map[string]any, found bool) {
	below = e.raw
	for _, name := range path {
		if !strings.HasPrefix(name, KeyPrefix) {
			name = "f:" + name
		}
		next, found := below[name]
		if !found {
			return nil, false
		}
		below, _ = next.(map[string]any)
	}
	return below, true
}

// Within reports whether an object has every field of the entry of an unstructured one, up to the first list on its path.
func (e Entry) Within(object map[string]any) bool { return e.raw != nil && within(e.raw, object) }

func within(fields map[string]any, value any) bool {
	for name, below := range fields {
		field, isField := strings.CutPrefix(name, "f:")
		if !isField { // the value itself, or an item of a list
			continue
		}
		in, _ := value.(map[string]any)
		next, has := in[field]
		if deeper, _ := below.(map[string]any); !has || !within(deeper, next) {
			return false
		}
	}
	return true
}

// Keys returns the names of the key fields of the list at the path, according to the object's managed fields; nil for
// an atomic list.
func Keys(o metav1.Object, path ...string) (names []string) {
	for e := range Of(o) {
		set, ok := e.Set()
		for _, name := range path {
			set = set.WithPrefix(element(name))
		}
		set.Iterate(func(at fieldpath.Path) {
			if !ok || names != nil || at[0].Key == nil {
				return
			}
			for _, key := range *at[0].Key {
				names = append(names, key.Name)
			}
		})
	}
	return names
}

// Names returns the names of the fields that the manager owns directly below the path; for labels and annotations these
// are their keys.
func (e Entry) Names(path ...string) map[string]bool {
	set, ok := e.Set()
	if !ok {
		return nil
	}
	for _, name := range path {
		set = set.WithPrefix(fieldpath.PathElement{FieldName: &name})
	}
	names := map[string]bool{}
	set.Members.Iterate(func(element fieldpath.PathElement) {
		if element.FieldName != nil {
			names[*element.FieldName] = true
		}
	})
	return names
}

// Contains reports whether have has every field of want with the same value. Lists must have the same length. Further
// fields of have count as defaults.
func Contains(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range want {
			if !Contains(have[k], v) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !Contains(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want)
}
