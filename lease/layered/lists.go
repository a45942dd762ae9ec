package layered

import (
	"iter"
	"slices"
)

// Lists is a Map of sorted lists that are not empty.
type Lists[K comparable, T any] struct{ by Map[K, []T] }

// At returns the list of a key. Nobody changes it.
func (l Lists[K, T]) At(key K) []T { return l.by.At(key) }

// Len returns the number of keys.
func (l Lists[K, T]) Len() int { return l.by.Len() }

// All returns all lists, in no order.
func (l Lists[K, T]) All() iter.Seq2[K, []T] { return l.by.All() }

// Map returns all lists. Nobody changes them.
func (l Lists[K, T]) Map() map[K][]T { return l.by.Map() }

// Share returns the lists as they are.
func (l *Lists[K, T]) Share() Lists[K, T] { return Lists[K, T]{l.by.Share()} }

// Has reports whether there is a list of a key.
func (l Lists[K, T]) Has(key K) bool { return len(l.by.At(key)) > 0 }

// Add adds an element to the list of a key, after those that compare as not greater.
func (l *Lists[K, T]) Add(key K, one T, compare func(a, b T) int) {
	list := l.by.At(key)
	i := len(list)
	for i > 0 && compare(list[i-1], one) > 0 {
		i--
	}
	if l.by.sharesBase || i < len(list) { // a moment has the same list
		list = slices.Clip(list)
	}
	l.by.Put(key, slices.Insert(list, i, one))
}

// Remove removes the elements from the list of a key that compare as equal.
func (l *Lists[K, T]) Remove(key K, one T, compare func(a, b T) int) {
	var rest []T
	for _, other := range l.by.At(key) {
		if compare(other, one) != 0 {
			rest = append(rest, other)
		}
	}
	if len(rest) == 0 {
		l.by.Drop(key)
		return
	}
	l.by.Put(key, rest)
}

// Set is Add, or Remove if it is not there.
func (l *Lists[K, T]) Set(key K, one T, compare func(a, b T) int, there bool) {
	if there {
		l.Add(key, one, compare)
	} else {
		l.Remove(key, one, compare)
	}
}
