package watch

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Failure is what has failed for a deployment group, until it succeeds.
type Failure struct {
	Err error
	// Count is how often it has failed in a row, Since the first and Last the last time.
	Count       int
	Since, Last time.Time
}

// failures are the deployment groups that fail. Each is tried again by itself, after a time that doubles, or when something is gone that
// may have been in its way.
type failures struct {
	mu sync.Mutex
	by map[lease.Group]Failure
}

// note records how the work for a deployment group has ended.
func (f *failures) note(g lease.Group, err error, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.by, g)
		return
	}
	if f.by == nil {
		f.by = map[lease.Group]Failure{}
	}
	one := f.by[g]
	if one.Count++; one.Count == 1 {
		one.Since = now
	}
	one.Err, one.Last = err, now
	f.by[g] = one
}

// due returns which of the deployment groups that an object concerns are due now: those that do not fail, and if the object may have made
// way, those that fail. An object of a group that fails makes way for nobody: each would try again because the other has.
func (f *failures) due(concerned []lease.Group, frees bool) (due []lease.Group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, g := range concerned {
		if _, fails := f.by[g]; fails {
			frees = false
		} else {
			due = append(due, g)
		}
	}
	if frees {
		due = append(due, slices.SortedFunc(maps.Keys(f.by), lease.Group.Compare)...)
	}
	return due
}
