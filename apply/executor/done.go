package executor

import (
	"maps"
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

// HasMade reports whether the run has created an object and not retracted it.
func (x *Executor) HasMade() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.made) > 0
}

// HasRemoved reports whether the run has deleted the object, or withdrawn from one that stays.
func (x *Executor) HasRemoved(o *unstructured.Unstructured) bool { return x.removed[o.GetUID()] }

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

// Remember suppresses events about withheld things that the executor of an earlier attempt has reported.
func (x *Executor) Remember(before *Executor) { maps.Copy(x.reported, before.reported) }
