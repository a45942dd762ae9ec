package cluster

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
)

// shelf has the objects of one resource by their keys; nil for one that is not there any more. A selection by a label takes as long as what
// it finds, however many objects there are: a command on thousands of leases asks for those of each.
type shelf struct {
	objects map[string]*unstructured.Unstructured
	keys    []string
	// labelled are the keys of the objects by the value of a label, for each label that was asked for.
	labelled map[string]map[string]map[string]bool
}

// put puts an object in the place of the one with its key.
func (s *shelf) put(key string, o *unstructured.Unstructured) {
	was, known := s.objects[key]
	if !known {
		s.keys = append(s.keys, key)
	}
	for label, values := range s.labelled {
		if was != nil {
			delete(values[was.GetLabels()[label]], key)
		}
		indexed{label, values}.add(key, o)
	}
	s.objects[key] = o
}

// indexed are the keys of objects by the value of a label.
type indexed struct {
	label  string
	values map[string]map[string]bool
}

func (i indexed) add(key string, o *unstructured.Unstructured) {
	if o == nil {
		return
	}
	value := o.GetLabels()[i.label]
	if i.values[value] == nil {
		i.values[value] = map[string]bool{}
	}
	i.values[value][key] = true
}

// chosen returns the keys of the objects that a selector may select.
func (s *shelf) chosen(selector labels.Selector) (keys []string) {
	requirements, _ := selector.Requirements()
	at := slices.IndexFunc(requirements, func(r labels.Requirement) bool {
		return slices.Contains([]selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}, r.Operator())
	})
	if at < 0 {
		return s.keys
	}
	label := requirements[at].Key()
	values, known := s.labelled[label]
	if !known {
		values = map[string]map[string]bool{}
		for key, o := range s.objects {
			indexed{label, values}.add(key, o)
		}
		s.labelled[label] = values
	}
	for value := range requirements[at].Values() {
		keys = slices.AppendSeq(keys, maps.Keys(values[value]))
	}
	slices.Sort(keys)
	return keys
}

// shelves have objects by resource. Nobody changes an object that is on one.
type shelves struct {
	mu sync.Mutex
	of map[schema.GroupResource]*shelf
}

func newShelves() *shelves { return &shelves{of: map[schema.GroupResource]*shelf{}} }

// put puts an object in the place of the one with its key; nil takes that away.
func (s *shelves) put(resource schema.GroupResource, key string, o *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[resource] == nil {
		s.of[resource] = &shelf{objects: map[string]*unstructured.Unstructured{}, labelled: map[string]map[string]map[string]bool{}}
	}
	s.of[resource].put(key, o)
}

// get returns an object, nil if there is none. One of a file may lack its namespace.
func (s *shelves) get(resource schema.GroupResource, namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.of[resource]
	if at == nil {
		return nil
	}
	if o := at.objects[namespace+"/"+name]; o != nil {
		return o
	}
	return at.objects["/"+name]
}

// list returns the objects that a selector selects, in all namespaces if namespace is empty, but for those that are hidden.
func (s *shelves) list(
	resource schema.GroupResource, namespace string, selector labels.Selector, hidden func(key string) bool,
) (out []*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.of[resource]
	if at == nil {
		return nil
	}
	for _, key := range at.chosen(selector) {
		o := at.objects[key]
		if o != nil && !hidden(key) && within(o, namespace) && (selector.Empty() || selector.Matches(labels.Set(o.GetLabels()))) {
			out = append(out, o)
		}
	}
	return out
}

// filed are the objects of files below the writes of a dry run, as if they were watched.
type filed struct{ files, written *shelves }

func (f filed) list(resource schema.GroupVersionResource, namespace, selector string) ([]*unstructured.Unstructured, error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	of := resource.GroupResource()
	visible := func(string) bool { return false }
	if f.written == nil {
		return f.files.list(of, namespace, parsed, visible), nil
	}
	above := f.written.list(of, namespace, parsed, visible)
	return append(f.files.list(of, namespace, parsed, func(key string) bool { return f.written.has(of, key) }), above...), nil
}

// has reports whether an object was put, or taken away.
func (s *shelves) has(resource schema.GroupResource, key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[resource] == nil {
		return false
	}
	_, put := s.of[resource].objects[key]
	return put
}

// fromFiles returns what a cluster that is in files has; ok is false for any other.
func (c *Cluster) fromFiles() (f filed, ok bool) {
	if c.files == nil {
		return filed{}, false
	}
	f.files = c.files
	if c.drafts != nil {
		f.written = c.drafts.written
	}
	return f, true
}
