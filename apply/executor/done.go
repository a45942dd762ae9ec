package executor

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
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

// Removed returns how many objects the run has deleted, or let go of.
func (x *Executor) Removed() int { return len(x.removed) }

// Leaving returns the deleted objects that finalizers keep and that the run has not seen gone yet.
func (x *Executor) Leaving() []observed.Owned { return x.leaving }

// TakenBack returns the kinds of the objects that the run has created and retracted.
func (x *Executor) TakenBack() []kinds.Kind { return x.takenBack }

// Lose records that another command has taken this one for dead.
func (x *Executor) Lose() { x.lost = true }

// HasLost reports whether another command has taken this one for dead.
func (x *Executor) HasLost() bool { return x.lost }

// Include counts the changes of another executor as changes of this one.
func (x *Executor) Include(other *Executor) {
	x.changes, x.changed = append(x.changes, other.changes...), x.changed || other.changed
}
