package cluster

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Memory has what was made of versions of objects, for a command that reads the same ones again and again. Whoever uses it must make the
// same of the same version. A nil Memory remembers nothing.
type Memory struct {
	mu sync.RWMutex
	by map[types.UID]remembered
}

// remembered is what was made of a version of an object.
type remembered struct {
	version string
	made    any
}

// Memory returns what the connection remembers of objects, nil for one without watches.
func (c *Cluster) Memory() *Memory { return c.memory }

// Clear forgets everything, so that objects that are gone take no memory for ever.
func (m *Memory) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.by)
}

// Recall returns what was made of an object before, if it has not changed since, and else what read makes of it. It belongs to all who ask: nobody
// changes it.
func Recall[T any](m *Memory, o metav1.Object, read func() T) T {
	uid, version := o.GetUID(), o.GetResourceVersion()
	if m == nil || uid == "" || version == "" {
		return read()
	}
	m.mu.RLock()
	one := m.by[uid]
	m.mu.RUnlock()
	if made, same := one.made.(T); same && one.version == version {
		return made
	}
	made := read()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.by[uid] = remembered{version, made}
	return made
}
