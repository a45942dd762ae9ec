package observed

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/layered"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// list has the objects of one kind by their keys, NAMESPACE/NAME: sorted as a LIST has answered them, and those that are otherwise since;
// nil for one that is gone.
type list struct {
	sorted []*listed.Object
	since  layered.Map[string, *listed.Object]
}

// find returns the object with a key, or nil.
func (l *list) find(key string) *listed.Object {
	if now, changed := l.since.Get(key); changed {
		return now
	}
	i, found := l.search(key)
	if !found {
		return nil
	}
	return l.sorted[i]
}

func (l *list) search(key string) (i int, found bool) {
	return slices.BinarySearchFunc(l.sorted, key, func(o *listed.Object, key string) int { return cmp.Compare(o.Key, key) })
}

// all returns the objects from the key from on, in the order of their keys.
func (l *list) all(from string) iter.Seq[*listed.Object] {
	return func(yield func(*listed.Object) bool) {
		var made []*listed.Object // since the LIST
		for key, now := range l.since.All() {
			if _, before := l.search(key); !before && now != nil && key >= from {
				made = append(made, now)
			}
		}
		sortObjects(made)
		i, _ := l.search(from)
		for _, o := range l.sorted[i:] {
			for len(made) > 0 && made[0].Key < o.Key {
				if !yield(made[0]) {
					return
				}
				made = made[1:]
			}
			if now, changed := l.since.Get(o.Key); changed {
				o = now
			}
			if o != nil && !yield(o) {
				return
			}
		}
		for _, o := range made {
			if !yield(o) {
				return
			}
		}
	}
}

// put puts an object in the place of the one with a key; nil for none.
func (l *list) put(key string, now *listed.Object) {
	if l.since.Put(key, now); l.since.Len() > 16+len(l.sorted)/16 {
		*l = list{sorted: slices.Collect(l.all(""))}
	}
}

// sortObjects sorts objects by their keys: the answer to a LIST is sorted already.
func sortObjects(list []*listed.Object) {
	byKey := func(a, b *listed.Object) int { return cmp.Compare(a.Key, b.Key) }
	if !slices.IsSortedFunc(list, byKey) {
		slices.SortStableFunc(list, byKey)
	}
}

// keyed are the known kinds by plural.
var keyed = func() map[string]*kinds.Kind {
	out := map[string]*kinds.Kind{}
	for _, kind := range slices.Concat(kinds.OfLease, kinds.Others, kinds.Records, kinds.Pools) {
		out[kind.Plural] = &kind
	}
	return out
}()

// kindOf returns the kind of an object of a plural.
func kindOf(plural string, o *unstructured.Unstructured) *kinds.Kind {
	if kind := keyed[plural]; kind != nil {
		return kind
	}
	kind := kinds.Of(o.GetKind())
	return &kind
}

// ranks are the places of kinds in the order in which their objects are deleted. The rest has none, and comes after them.
var ranks = func() map[string]int {
	out := map[string]int{}
	for i, kind := range slices.Concat(kinds.Records, kinds.OfLease) {
		out[kind.Plural] = i + 1
	}
	return out
}()

// inOrder returns plurals in that order.
func inOrder[V any](of map[string]V) []string {
	return slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(rankOf(a), rankOf(b)), cmp.Compare(a, b)) })
}

func rankOf(plural string) int { return cmp.Or(ranks[plural], len(ranks)+1) }

// Find returns the live object with the rendered object's name, or nil.
func (s *Snapshot) Find(o render.Object) *unstructured.Unstructured {
	return s.At(o.Kind, o.Namespace, o.Name)
}

// At returns an object as it was read, or nil.
func (s *Snapshot) At(kind kinds.Kind, namespace, name string) *unstructured.Unstructured {
	l := s.lists[kind.Plural]
	if o := l.find(namespace + "/" + name); o != nil {
		return o.Whole()
	}
	return nil
}

// Of returns the objects of a kind as they were read, by namespace and name.
func (s *Snapshot) Of(kind kinds.Kind) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		l := s.lists[kind.Plural]
		for o := range l.all("") {
			if !yield(o.Look()) {
				return
			}
		}
	}
}

// HasRead reports whether the objects of a kind were listed.
func (s *Snapshot) HasRead(kind kinds.Kind) bool {
	_, read := s.lists[kind.Plural]
	return read
}
