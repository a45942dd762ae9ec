package observed

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// objectKey identifies an object by its kind's plural and its NAMESPACE/NAME.
type objectKey struct{ plural, name string }

func keyOf(kind kinds.Kind, namespace, name string) objectKey {
	return objectKey{kind.Plural, namespace + "/" + name}
}

// objectList is what a LIST of one kind has answered: the objects by NAMESPACE/NAME, and their names in order.
type objectList struct {
	byName map[string]*unstructured.Unstructured
	names  []string
}

func newObjectList(list []*unstructured.Unstructured) objectList {
	byName := make(map[string]*unstructured.Unstructured, len(list))
	for _, o := range list {
		byName[o.GetNamespace()+"/"+o.GetName()] = o
	}
	return objectList{byName, slices.Sorted(maps.Keys(byName))}
}

// At returns an object as it was read, or nil.
func (s *Snapshot) At(kind kinds.Kind, namespace, name string) *unstructured.Unstructured {
	key := keyOf(kind, namespace, name)
	if now, again := s.again[key]; again {
		return now
	}
	return s.lists[key.plural].byName[key.name]
}

// Of returns the objects of a kind as they were read, by namespace and name.
func (s *Snapshot) Of(kind kinds.Kind) iter.Seq[*unstructured.Unstructured] {
	return func(yield func(*unstructured.Unstructured) bool) {
		list := s.lists[kind.Plural]
		for _, name := range list.names {
			o := list.byName[name]
			if now, again := s.again[objectKey{kind.Plural, name}]; again {
				o = now
			}
			if o != nil && !yield(o) {
				return
			}
		}
		var made []string // since the LIST
		for key, o := range s.again {
			if key.plural == kind.Plural && o != nil && list.byName[key.name] == nil {
				made = append(made, key.name)
			}
		}
		slices.Sort(made)
		for _, name := range made {
			if !yield(s.again[objectKey{kind.Plural, name}]) {
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

// With returns a snapshot with an object as it was read again, nil for one that is gone. The snapshot itself, which the
// work on other leases reads at the same time, does not change.
func (s *Snapshot) With(kind kinds.Kind, namespace, name string, now *unstructured.Unstructured) *Snapshot {
	out := *s
	out.again = maps.Clone(s.again)
	if out.again == nil {
		out.again = map[objectKey]*unstructured.Unstructured{}
	}
	out.again[keyOf(kind, namespace, name)] = now
	return &out
}

// Claim returns a claim by its name, or nil.
func (s *Snapshot) Claim(name string) *state.Claim { return s.claims[name] }

// WithClaim is With for a claim.
func (s *Snapshot) WithClaim(name string, now *state.Claim) *Snapshot {
	out := *s
	out.claims = maps.Clone(s.claims)
	if out.claims[name] = now; now == nil {
		delete(out.claims, name)
	}
	out.byClaim = sync.OnceValue(func() *claimIndex { return indexClaims(out.claims) })
	return &out
}

// WithOperators returns a snapshot with the operators and Manifests of another one.
func (s *Snapshot) WithOperators(of *Snapshot) *Snapshot {
	out := *s
	out.Operators, out.Manifests = of.Operators, of.Manifests
	return &out
}
