package cluster

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/tools/cache"

	"github.com/akash-net/kubectl-akash-net/lease/listed"
)

// store has objects by resource and key: those of files, or what a dry run has written.
type store struct {
	mu sync.Mutex
	of map[schema.GroupResource]cache.ThreadSafeStore
}

func newStore() *store { return &store{of: map[schema.GroupResource]cache.ThreadSafeStore{}} }

// at returns the objects of a resource.
func (s *store) at(resource schema.GroupResource) cache.ThreadSafeStore {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[resource] == nil {
		s.of[resource] = cache.NewThreadSafeStore(cache.Indexers{}, cache.Indices{})
	}
	return s.of[resource]
}

// put puts an object in the place of the one with its key.
func (s *store) put(resource schema.GroupResource, o *listed.Object) { s.at(resource).Update(o.Key, o) }

// get returns an object by its key, nil if none was put.
func (s *store) get(resource schema.GroupResource, key string) *listed.Object {
	one, _ := s.at(resource).Get(key)
	o, _ := one.(*listed.Object)
	return o
}

// keyOf returns the key of an object of a namespace. One of a file may lack the namespace.
func (s *store) keyOf(t target) string {
	key := t.namespace + "/" + t.name
	if s != nil && s.get(t.GroupResource, key) == nil && s.get(t.GroupResource, "/"+t.name) != nil {
		return "/" + t.name
	}
	return key
}

// chosen returns the objects that a selector may select. By a label that takes as long as what it finds, however many objects there are:
// a command on thousands of leases asks for those of each.
func (s *store) chosen(resource schema.GroupResource, selector labels.Selector) []any {
	all := s.at(resource)
	requirements, _ := selector.Requirements()
	at := slices.IndexFunc(requirements, func(r labels.Requirement) bool {
		return slices.Contains([]selection.Operator{selection.Equals, selection.DoubleEquals, selection.In}, r.Operator())
	})
	if at < 0 {
		return all.List()
	}
	label := requirements[at].Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if all.GetIndexers()[label] == nil && all.AddIndexers(cache.Indexers{label: byLabel(label)}) != nil {
		return all.List()
	}
	var out []any
	for value := range requirements[at].Values() {
		some, _ := all.ByIndex(label, value) // there is such an index
		out = append(out, some...)
	}
	return out
}

func byLabel(label string) cache.IndexFunc {
	return func(one any) (values []string, _ error) {
		if o := one.(*listed.Object).Look(); o != nil {
			values = []string{o.GetLabels()[label]}
		}
		return values, nil
	}
}

// list returns the objects that a selector selects by their keys, but for those that are hidden: in all namespaces if namespace is empty.
// An object without one counts in every namespace.
func (s *store) list(resource schema.GroupResource, namespace string, selector labels.Selector, hidden func(key string) bool) (out []*listed.Object) {
	for _, one := range s.chosen(resource, selector) {
		o := one.(*listed.Object)
		of, _, _ := strings.Cut(o.Key, "/")
		if !o.IsGone() && !hidden(o.Key) && (namespace == "" || of == "" || of == namespace) && (selector.Empty() || selector.Matches(labels.Set(o.Look().GetLabels()))) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *listed.Object) int { return cmp.Compare(a.Key, b.Key) })
	return out
}

func nothing(string) bool { return false }
