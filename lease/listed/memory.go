package listed

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
	// own are the nonces of the commands, and the versions of objects that a command has written for the lease that it worked on.
	own map[string]bool
	// kept is what Keep has made.
	kept any
}

// remembered is what was made of a version of an object.
type remembered struct {
	version string
	made    any
}

// NewMemory returns one that remembers nothing yet.
func NewMemory() *Memory { return &Memory{by: map[types.UID]remembered{}, own: map[string]bool{}} }

// Clear forgets everything, so that objects that are gone take no memory for ever.
func (m *Memory) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.by)
	clear(m.own)
}

// Keep returns what first has made for all who read what is watched.
func (m *Memory) Keep(first func() any) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = first()
	}
	return m.kept
}

// mostOwn is how many names Own remembers at most.
const mostOwn = 10000

// Own records the nonce of a command, or a version of an object that it has written: it needs not be told of them.
func (m *Memory) Own(name string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.own) >= mostOwn { // who is told of one of them looks once more
		clear(m.own)
	}
	m.own[name] = true
}

// IsOwn reports whether Own was called for a nonce or a version.
func (m *Memory) IsOwn(name string) bool {
	if m == nil {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.own[name]
}

// VersionOf names a version of an object.
func VersionOf(o metav1.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }

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
