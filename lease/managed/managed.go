// Package managed reads an object's managed fields: which manager has written which of its fields, and
// how. It is the only reader of them.
package managed

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Akash is the field manager of Akash's provider and of its operators, which are one program. They
// write whole objects by Update.
const Akash = "provider-services"

// Entry is what one manager has written of an object in one way.
type Entry struct {
	metav1.ManagedFieldsEntry
	// raw are the fields where the object was read as plain maps.
	raw map[string]any
}

// Of are the entries of an object, without those of subresources.
func Of(o metav1.Object) iter.Seq[Entry] {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return ofMaps(u)
	}
	return func(yield func(Entry) bool) {
		for _, m := range o.GetManagedFields() {
			if m.Subresource == "" && !yield(Entry{ManagedFieldsEntry: m}) {
				return
			}
		}
	}
}

// ofMaps are the entries of an object of plain maps. To convert them into structs takes longer than all
// else that is done with an object.
func ofMaps(o *unstructured.Unstructured) iter.Seq[Entry] {
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

// LastWritten is when an object, or a subresource of it, was last written as far as its entries tell; the zero
// time where they do not.
func LastWritten(o metav1.Object, subresource ...string) (last time.Time) {
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && m.Time.After(last) && (len(subresource) == 0 || slices.Contains(subresource, m.Subresource)) {
			last = m.Time.Time
		}
	}
	return last
}

// OfVersion are the entries of one API version, and how many there are of others.
func OfVersion(o metav1.Object, version schema.GroupVersion) (entries []metav1.ManagedFieldsEntry, others int) {
	all := o.GetManagedFields()
	entries = slices.DeleteFunc(slices.Clone(all),
		func(m metav1.ManagedFieldsEntry) bool { return m.APIVersion != version.String() })
	return entries, len(all) - len(entries)
}

// Names is true where the manager of any entry begins with the prefix. It converts nothing: most
// objects of a cluster are of no interest.
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

// Applied is what a manager has applied of an object. ok is false where it has applied nothing.
func Applied(o metav1.Object, manager string) (e Entry, ok bool) {
	for e := range Of(o) {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply {
			return e, true
		}
	}
	return Entry{}, false
}

// GroupOf is the deployment group under whose name a manager writes.
func GroupOf(manager string) (lease.Group, bool) {
	text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
	if !ours {
		return lease.Group{}, false
	}
	g, err := lease.ParseGroup(text)
	return g, err == nil
}

// Group is the deployment group whose manager has applied the entry.
func (e Entry) Group() (lease.Group, bool) {
	if e.Operation != metav1.ManagedFieldsOperationApply {
		return lease.Group{}, false
	}
	return GroupOf(e.Manager)
}

// Same is true for entries of one write, of the same fields.
func (e Entry) Same(other Entry) bool {
	a, ok := e.Set()
	b, known := other.Set()
	return ok && known && e.Time.Equal(other.Time) && a.Equals(b)
}

// AppliedBy is true where the manager of a deployment group has applied anything of an object.
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

// Ours is true for what this program has applied, under the manager of a lease or its own.
func (e Entry) Ours() bool {
	_, ofGroup := e.Group()
	return ofGroup || e.Manager == lease.FieldManager && e.Operation == metav1.ManagedFieldsOperationApply
}

// Set are the fields of the entry; ok is false where they cannot be read.
func (e Entry) Set() (set *fieldpath.Set, ok bool) {
	set = &fieldpath.Set{}
	var body []byte
	switch {
	case e.raw != nil:
		body, _ = json.Marshal(e.raw) // it was JSON
	case e.FieldsV1 != nil:
		body = e.FieldsV1.GetRawBytes()
	default:
		return set, false
	}
	err := set.FromJSON(bytes.NewReader(body))
	return set, err == nil
}

// KeyPrefix begins an element of a path that stands for an item of a list by its keys, as managed fields write it:
// k:{"name":"web"}.
const KeyPrefix = "k:"

// element is an element of a path: a field, or an item of a list.
func element(name string) fieldpath.PathElement {
	if strings.HasPrefix(name, KeyPrefix) {
		if e, err := fieldpath.DeserializePathElement(name); err == nil {
			return e
		}
	}
	return fieldpath.PathElement{FieldName: &name}
}

// Owns is true where the manager owns the field of the path, or any below it.
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

// below is what the entry has below a path, where it was read as plain maps.
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

// Keys are the names of the fields by which the API server tells the items of the list at the path apart, as far as the
// managed fields of an object say so; none for a list that is one value.
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

// Names are the names of the fields that the manager owns directly below the path: of labels or
// annotations their keys.
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
