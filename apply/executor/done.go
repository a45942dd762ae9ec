package executor

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Changed reports whether the run has changed anything.
func (x *Executor) Changed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// Took returns how long the run has lasted so far.
func (x *Executor) Took() time.Duration { return time.Since(x.start) }

// IsNew reports whether the lease had nothing before the run: neither claims nor objects of anybody.
func (x *Executor) IsNew() bool {
	s := x.Snapshot
	return s != nil && !x.Options.Adopt && len(s.Held[x.Group]) == 0 && len(s.Written[x.Group]) == 0 && len(s.Theirs[x.Group]) == 0 && len(s.Shared[x.Group]) == 0
}

// HasMade reports whether the run has created an object and not retracted it.
func (x *Executor) HasMade() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.made) > 0
}

// HasRemoved reports whether the run has deleted the object, or withdrawn from one that stays.
func (x *Executor) HasRemoved(o *unstructured.Unstructured) bool { return x.removed[o.GetUID()] }

// Lose records that another command has taken this one for dead.
func (x *Executor) Lose() { x.lost = true }

// HasLost reports whether another command has taken this one for dead.
func (x *Executor) HasLost() bool { return x.lost }
