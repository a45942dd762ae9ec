// Package layered has maps of which many moments are kept: what has changed since the last one lies over what is the same.
package layered

import (
	"iter"
	"maps"
	"math"
)

// Map is a map as it was at one moment, and for who keeps it the map as it is now: Put and Drop change it, Share returns that moment. What
// was shared never changes. The zero value is an empty map.
type Map[K comparable, V any] struct {
	// base is what there was, over what is otherwise since then.
	base map[K]V
	over map[K]change[V]
	// sharesBase and sharesOver are true if they are those of a moment, too.
	sharesBase, sharesOver bool
	size                   int
}

// change is what a key has now, if it has anything.
type change[V any] struct {
	value V
	is    bool
}

// At returns the value of a key, the zero value if there is none.
func (m Map[K, V]) At(key K) V {
	value, _ := m.Get(key)
	return value
}

// Get returns the value of a key, and whether there is one.
func (m Map[K, V]) Get(key K) (value V, is bool) {
	if now, changed := m.over[key]; changed {
		return now.value, now.is
	}
	value, is = m.base[key]
	return value, is
}

// Len returns the number of keys.
func (m Map[K, V]) Len() int { return m.size }

// All returns all entries, in no order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for key, value := range m.base {
			if _, changed := m.over[key]; !changed && !yield(key, value) {
				return
			}
		}
		for key, now := range m.over {
			if now.is && !yield(key, now.value) {
				return
			}
		}
	}
}

// Map returns all entries. Nobody changes them.
func (m Map[K, V]) Map() map[K]V {
	if len(m.over) == 0 {
		return m.base
	}
	return maps.Collect(m.All())
}

// Share returns the map as it is.
func (m *Map[K, V]) Share() Map[K, V] {
	m.sharesBase, m.sharesOver = true, true
	return *m
}

// Put sets the value of a key.
func (m *Map[K, V]) Put(key K, value V) {
	if _, is := m.Get(key); !is {
		m.size++
	}
	m.set(key, change[V]{value, true})
}

// Drop removes a key.
func (m *Map[K, V]) Drop(key K) {
	if _, is := m.Get(key); is {
		m.size--
		m.set(key, change[V]{})
	}
}

// set changes the map. What lies over the base is little: it is copied once for each moment, and the base once for all that fits over it.
func (m *Map[K, V]) set(key K, now change[V]) {
	if m.sharesBase && len(m.over) >= most(len(m.base)) {
		m.base, m.over, m.sharesBase = maps.Collect(m.All()), nil, false
	}
	switch {
	case !m.sharesBase && m.base == nil:
		m.base = map[K]V{}
		fallthrough
	case !m.sharesBase:
		if now.is {
			m.base[key] = now.value
		} else {
			delete(m.base, key)
		}
		return
	case m.over == nil:
		m.over = map[K]change[V]{}
	case m.sharesOver:
		m.over = maps.Clone(m.over)
	}
	m.sharesOver = false
	if _, below := m.base[key]; !now.is && !below {
		delete(m.over, key)
		return
	}
	m.over[key] = now
}

// most is how many changes lie over so many entries at most.
func most(entries int) int { return 16 + 2*int(math.Sqrt(float64(entries))) }
