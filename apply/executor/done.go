package executor

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Changed is true once the work has changed anything.
func (x *Executor) Changed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// Took is for how long the work has gone on.
func (x *Executor) Took() time.Duration { return time.Since(x.start) }

// HasMade is true where the work has created an object that is not taken back.
func (x *Executor) HasMade() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.made) > 0
}

// HasRemoved is true for an object that the work has deleted, or has left as it is to stay.
func (x *Executor) HasRemoved(o *unstructured.Unstructured) bool { return x.removed[o.GetUID()] }

// Leaving are the objects among the deleted that finalizers keep, until they are seen to be gone.
func (x *Executor) Leaving() []observed.Owned { return x.leaving }

// TakenBack are the kinds of the objects that were made and taken back.
func (x *Executor) TakenBack() []kinds.Kind { return x.takenBack }

// Pin pins the writes of an object to the version that was read.
func (x *Executor) Pin(o render.Object, read *unstructured.Unstructured) {
	x.pins[o.String()] = PinOf(read)
}

// Lose says that another command has taken this one for dead.
func (x *Executor) Lose() { x.lost = true }

// HasLost is true once another command has taken this one for dead.
func (x *Executor) HasLost() bool { return x.lost }

// Include counts what another part of the work has changed as changed by this one.
func (x *Executor) Include(other *Executor) {
	x.changes, x.changed = append(x.changes, other.changes...), x.changed || other.changed
}

// Remember makes the work tell nothing again of what was said to be withheld before it began anew.
func (x *Executor) Remember(before *Executor) { maps.Copy(x.told, before.told) }
