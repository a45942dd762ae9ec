// Package listed has objects as a LIST has answered them: decoded when somebody asks, and with what was made of each version before.
package listed

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is an object that was listed. One of a file is decoded when somebody asks for it: thousands of decoded objects take ten times the
// memory of their text. Nobody changes what it returns.
type Object struct {
	// Key is NAMESPACE/NAME; a snapshot sets that of an object which was listed in a cluster.
	Key   string
	whole atomic.Pointer[unstructured.Unstructured]
	read  func() *unstructured.Unstructured
	// Fresh is true if it did not exist before the dry run that has written it.
	Fresh bool
}

// New returns an object as it is, nil for one that is not there any more.
func New(key string, o *unstructured.Unstructured) *Object {
	out := &Object{Key: key}
	out.whole.Store(o)
	return out
}

// Unread returns an object that read decodes, the same each time.
func Unread(key string, read func() *unstructured.Unstructured) *Object {
	return &Object{Key: key, read: read}
}

// IsGone reports whether it is not there any more.
func (o *Object) IsGone() bool { return o.read == nil && o.whole.Load() == nil }

// Look returns the object for somebody who keeps nothing of it but texts.
func (o *Object) Look() *unstructured.Unstructured {
	if whole := o.whole.Load(); whole != nil || o.read == nil {
		return whole
	}
	return o.read()
}

// Whole returns the object, the same one each time.
func (o *Object) Whole() *unstructured.Unstructured {
	if o.whole.Load() == nil && o.read != nil {
		o.whole.CompareAndSwap(nil, o.read())
	}
	return o.whole.Load()
}

// Of returns whole objects, without their keys.
func Of(all []*unstructured.Unstructured) []*Object {
	out, objects := make([]*Object, len(all)), make([]Object, len(all))
	for i, o := range all {
		objects[i].whole.Store(o)
		out[i] = &objects[i]
	}
	return out
}
