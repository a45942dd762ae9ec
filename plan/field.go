package plan

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Field is a field that would change.
type Field struct {
	Path Path `json:"path"`
	// Before is the value that is there, After the one that would be; nil where there is none.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Owners are the field managers that own the value that is there.
	Owners []Owner `json:"owners,omitempty"`
	// Conflict is true where another manager owns the value: the API server would refuse the write.
	Conflict bool `json:"conflict,omitempty"`
}

// Owner is a field manager that owns a field.
type Owner struct {
	Manager string `json:"manager"`
	// Since is when the manager last wrote the object.
	Since time.Time `json:"since,omitzero"`
}

// moments are annotations that say when an object was written: that of a DNSRecord by which it is reconciled, and that of a
// ProviderHost by which Akash's hostname operator looks at it again. No two plans agree on them.
var moments = []string{"gardener.cloud/timestamp", lease.AnnotationUpdatedAt}

// lasting are the fields that are no moments: one may be the same by chance.
func lasting(fields []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool {
		return len(f.Path) > 0 && slices.Contains(moments, f.Path[len(f.Path)-1])
	})
}

// timeless is an object without its moments.
func timeless(object map[string]any) map[string]any {
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	for _, name := range moments {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", name)
	}
	return o.Object
}

// same is true for two fields that change alike. Where f is of a file (loose), what is there may have defaults
// that the file does not show.
func (f Field) same(other Field, loose bool) bool {
	if !slices.Equal(f.Path, other.Path) || f.Conflict != other.Conflict {
		return false
	}
	before := equal(f.Before, other.Before) || loose && contains(other.Before, f.Before)
	return before && equal(f.After, other.After)
}

// Fields are the fields of a live object that an apply under a field manager would change: those that it
// sends with another value, and those that the manager alone owns and that it no longer sends (KEP-555).
func Fields(live *unstructured.Unstructured, want map[string]any, manager string) []Field {
	c := comparison{live: live}
	c.compare(nil, live.Object, want)
	if entry, ok := managed.Applied(live, manager); ok {
		if set, ok := entry.Set(); ok {
			set.Leaves().Iterate(func(path fieldpath.Path) { c.dropped(path, want) })
		}
	}
	var out []Field
	for _, f := range c.fields {
		f.own(live, manager)
		if f.After == nil && slices.ContainsFunc(f.Owners, func(o Owner) bool { return o.Manager != manager }) {
			continue // the other owner keeps it
		}
		f.Conflict = f.Before != nil && slices.ContainsFunc(f.Owners, func(o Owner) bool { return foreign(o.Manager, manager) })
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Field) int { return slices.Compare(a.Path, b.Path) })
	return out
}

// foreign is true for a manager whose fields an apply under the other does not take over. Those of another
// deployment of the same owner it does, once it holds the claim.
func foreign(other, manager string) bool {
	g, known := managed.GroupOf(other)
	own, ofGroup := managed.GroupOf(manager)
	return other != manager && (!known || !ofGroup || g.Owner != own.Owner)
}

// comparison collects the fields in which an object differs from what is wanted.
type comparison struct {
	live   *unstructured.Unstructured
	fields []Field
}

// compare adds the fields that are sent with another value than is there.
func (c *comparison) compare(path Path, have, want any) {
	if list, ok := want.([]any); ok && !Contains(have, want) && c.items(path, have, list) {
		return
	}
	wanted, ok := want.(map[string]any)
	if !ok {
		if !Contains(have, want) {
			c.fields = append(c.fields, Field{Path: slices.Clone(path), Before: have, After: want})
		}
		return
	}
	there, _ := have.(map[string]any)
	for name, value := range wanted {
		if at := append(slices.Clone(path), name); !at.Identifies() {
			c.compare(at, there[name], value)
		}
	}
}

// items compares a list item by item, where the API server merges it by keys, as its managed fields tell. It does nothing
// and says so where they do not, where an item has no key of its own, and where the order changes.
func (c *comparison) items(path Path, have any, want []any) bool {
	keys, there := managed.Keys(c.live, path...), asList(have)
	if len(keys) == 0 {
		return false
	}
	last, names := -1, make([]string, len(want))
	for i, item := range want {
		element, ok := elementOf(item, keys)
		if !ok {
			return false
		}
		at := find(there, element)
		if at >= 0 && at < last {
			return false
		}
		if at >= 0 {
			last = at
			if element, ok = elementOf(there[at], keys); !ok {
				return false
			}
		}
		if names[i] = toElement(element); slices.Contains(names[:i], names[i]) {
			return false
		}
	}
	for i, item := range want {
		at := append(slices.Clone(path), names[i])
		if before, found := get(c.live.Object, at); found {
			c.compare(at, before, item)
		} else {
			c.fields = append(c.fields, Field{Path: at, After: item})
		}
	}
	return true
}

// Contains is true where every field of want stands in have with the same value. Lists have the same length;
// what the maps in them, or have itself, say beyond that are defaults.
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

// dropped adds a field that was sent before and is not any more. An item of a list that is merged by keys is one field; those
// of other lists are compared with the list.
func (c *comparison) dropped(owned fieldpath.Path, want map[string]any) {
	var path Path
	for _, element := range owned {
		if element.FieldName == nil && element.Key == nil {
			break
		}
		if path = append(path, toElement(element)); element.Key != nil {
			if _, sent := get(want, path); !sent {
				break
			}
		}
	}
	if _, sent := get(want, path); sent {
		return
	}
	before, there := get(c.live.Object, path)
	known := func(f Field) bool { // by itself, or as a part of what changes as a whole
		return len(f.Path) <= len(path) && slices.Equal(f.Path, path[:len(f.Path)])
	}
	if there && !slices.ContainsFunc(c.fields, known) {
		c.fields = append(c.fields, Field{Path: path, Before: before})
	}
}

// own finds the owners of the value that is there.
func (f *Field) own(live *unstructured.Unstructured, manager string) {
	if f.Before == nil {
		return
	}
	for e := range managed.Of(live) {
		if !e.Owns(f.Path...) {
			continue
		}
		o := Owner{Manager: e.Manager}
		if e.Time != nil {
			o.Since = e.Time.Time
		}
		f.Owners = append(f.Owners, o)
	}
	slices.SortFunc(f.Owners, func(a, b Owner) int {
		if mine := a.Manager == manager; mine != (b.Manager == manager) {
			if mine {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Manager, b.Manager)
	})
}

// Set makes the field what it would be.
func (f Field) Set(object map[string]any) { put(object, f.Path, f.After) }
