package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Field is a field that an update changes.
type Field struct {
	Path Path `json:"path"`
	// Before is the current value, After the new one; nil if the field is not set.
	Before any `json:"before,omitempty"`
	After  any `json:"after,omitempty"`
	// Owners are the field managers that own the current value.
	Owners []Owner `json:"owners,omitempty"`
	// Conflict is true if another manager owns the current value: the API server would refuse the write.
	Conflict bool `json:"conflict,omitempty"`
}

// Owner is a field manager that owns a field.
type Owner struct {
	Manager string `json:"manager"`
	// Since is when the manager last wrote the object.
	Since time.Time `json:"since,omitzero"`
	// Delivers is true if the manager has delivered the object: an apply that adopts takes its fields over.
	Delivers bool `json:"delivers,omitempty"`
	// Own is true for the manager that applies.
	Own bool `json:"-"`
}

// Telling returns the fields that a person has to look at: without the hash of the definition, which changes with every other
// field. It is empty if the hash is all that changes.
func (c Change) Telling() []Field {
	return slices.DeleteFunc(slices.Clone(c.Fields), func(f Field) bool { return !f.Conflict && f.isHash() })
}

// isHash reports whether the field is the hash of the definition from which its object was rendered.
func (f Field) isHash() bool {
	return slices.Equal(f.Path, Path{"metadata", "annotations", lease.AnnotationDefinition})
}

// Conflicts returns the fields that other managers own, with other values.
func (c Change) Conflicts() []Field {
	return slices.DeleteFunc(slices.Clone(c.Fields), func(f Field) bool { return !f.Conflict })
}

// Removed returns the fields that an update sets and of which the object has none, as if somebody had removed them. It returns none if
// fields of the lease's own change too: then the definition, the configuration or the program are others since. One that only adds fields
// looks like a removal, of which the API server keeps no trace. Akash's label is no such field: an object may lack it (see
// state.OwnershipOf).
func (c Change) Removed() []Field {
	isAkash := func(f Field) bool { return slices.Equal(f.Path, Path{"metadata", "labels", lease.LabelManaged}) }
	fields := slices.DeleteFunc(lasting(c.Fields), isAkash)
	if slices.ContainsFunc(fields, func(f Field) bool { return f.isHash() || f.Before != nil && !f.Conflict }) {
		return nil
	}
	return slices.DeleteFunc(fields, func(f Field) bool { return f.Before != nil })
}

// Others returns the managers that own the fields in conflict, each once.
func (c Change) Others() (managers []string) {
	for _, f := range c.Conflicts() {
		for _, o := range f.Owners {
			if !o.Own && !slices.Contains(managers, o.Manager) {
				managers = append(managers, o.Manager)
			}
		}
	}
	return managers
}

// OnlyHash reports whether an update changes nothing but the hash of the definition.
func (c Change) OnlyHash() bool {
	return c.Action == Update && len(c.Fields) > 0 && len(c.Telling()) == 0
}

// moments are annotations with the time of a write: that of a DNSRecord requests a reconcile, that of a ProviderHost makes
// Akash's hostname operator look at it again. They differ in every plan.
var moments = []string{"gardener.cloud/timestamp", lease.AnnotationUpdatedAt}

// lasting returns the fields without the moments, of which one may be equal by chance.
func lasting(fields []Field) []Field {
	return slices.DeleteFunc(slices.Clone(fields), func(f Field) bool {
		return len(f.Path) > 0 && slices.Contains(moments, f.Path[len(f.Path)-1])
	})
}

// timeless returns an object without its moments.
func timeless(object map[string]any) map[string]any {
	o := (&unstructured.Unstructured{Object: object}).DeepCopy()
	for _, name := range moments {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", name)
	}
	return o.Object
}

// same reports whether two fields change alike. If f was read from a file (loose), the other one may have defaults that
// the file does not show.
func (f Field) same(other Field, loose bool) bool {
	if !slices.Equal(f.Path, other.Path) || f.Conflict != other.Conflict {
		return false
	}
	before := equal(f.Before, other.Before) || loose && contains(other.Before, f.Before)
	return before && equal(f.After, other.After)
}

// Fields returns the fields of a live object that an apply under a field manager would change: those that it sends with
// another value, and those that only the manager owns and that it no longer sends (KEP-555), and those that others keep although it no
// longer sends them. They are sorted by path.
func Fields(live *unstructured.Unstructured, want map[string]any, manager string) []Field {
	c := comparison{live: live}
	c.compare(nil, live.Object, want)
	if entry, ok := managed.Applied(live, manager); ok {
		if set, ok := entry.Set(); ok {
			set.Leaves().Iterate(func(path fieldpath.Path) { c.addDropped(path, want) })
		}
	}
	c.addKept(want)
	var out []Field
	for _, f := range c.fields {
		kept := f.findOwners(live, manager)
		f.Conflict = f.Before != nil && slices.ContainsFunc(f.Owners, func(o Owner) bool { return foreign(o.Manager, manager) })
		if f.After == nil && slices.ContainsFunc(f.Owners, func(o Owner) bool { return o.Manager != manager }) {
			if f.Conflict = kept; !kept {
				continue // the other owner may keep the field
			}
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b Field) int { return slices.Compare(a.Path, b.Path) })
	return out
}

// foreign reports whether an apply under manager conflicts with the fields of other. Deployments of one owner do not
// conflict: the one that holds the claim takes the fields over.
func foreign(other, manager string) bool {
	g, known := managed.GroupOf(other)
	own, ofGroup := managed.GroupOf(manager)
	return other != manager && (!known || !ofGroup || g.Owner != own.Owner)
}

// comparison collects the fields of a live object that an apply would change.
type comparison struct {
	live   *unstructured.Unstructured
	fields []Field
}

// compare adds the fields below path whose wanted value differs from the live one.
func (c *comparison) compare(path Path, have, want any) {
	if list, ok := want.([]any); ok && !managed.Contains(have, want) && c.compareItems(path, have, list) {
		return
	}
	wanted, ok := want.(map[string]any)
	if !ok {
		if !managed.Contains(have, want) {
			c.fields = append(c.fields, Field{Path: slices.Clone(path), Before: have, After: want})
		}
		return
	}
	existing, _ := have.(map[string]any)
	for name, value := range wanted {
		if at := append(slices.Clone(path), name); !at.Identifies() {
			c.compare(at, existing[name], value)
		}
	}
}

// compareItems compares a list item by item if the managed fields show that the API server merges it by keys. It
// returns false, and adds nothing, if they do not, if an item has no key of its own, or if the order of the items
// changes: then the list is one field.
func (c *comparison) compareItems(path Path, have any, want []any) bool {
	keys, existing := managed.Keys(c.live, path...), asList(have)
	if len(keys) == 0 {
		return false
	}
	last, names := -1, make([]string, len(want))
	for i, item := range want {
		element, ok := elementOf(item, keys)
		if !ok {
			return false
		}
		at := find(existing, element)
		if at >= 0 && at < last {
			return false
		}
		if at >= 0 {
			last = at
			if element, ok = elementOf(existing[at], keys); !ok {
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

// addDropped adds a field that the manager owns and that want does not have. An item of a list that is merged by keys
// is one field; items of other lists are compared with their list.
func (c *comparison) addDropped(owned fieldpath.Path, want map[string]any) {
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
	before, exists := get(c.live.Object, path)
	known := func(f Field) bool { // the field itself, or a field that contains it
		return len(f.Path) <= len(path) && slices.Equal(f.Path, path[:len(f.Path)])
	}
	if exists && !slices.ContainsFunc(c.fields, known) {
		c.fields = append(c.fields, Field{Path: path, Before: before})
	}
}

// findOwners sets the owners of the current value: manager first, the others by name. kept is true if one of them objects to its end.
func (f *Field) findOwners(live *unstructured.Unstructured, manager string) (kept bool) {
	if f.Before == nil {
		return false
	}
	for e := range managed.Of(live) {
		if !e.Owns(f.Path...) {
			continue
		}
		kept = kept || keeps(e, manager)
		o := Owner{Manager: e.Manager, Delivers: e.Delivers(), Own: e.Manager == manager}
		if e.Time != nil {
			o.Since = e.Time.Time
		}
		f.Owners = append(f.Owners, o)
	}
	key := func(o Owner) string {
		if o.Manager == manager {
			return ""
		}
		return o.Manager
	}
	slices.SortStableFunc(f.Owners, func(a, b Owner) int { return strings.Compare(key(a), key(b)) })
	return kept
}

// Set sets the field of an object to its new value.
func (f Field) Set(object map[string]any) { put(object, f.Path, f.After) }
