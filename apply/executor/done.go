package executor

import (
	"time"

	"github.com/akash-net/kubectl-akash-net/report"
)

// Changed reports whether the run has changed anything.
func (x *Executor) Changed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// Begin says that the command turns to the lease, of several: the time that it takes is its own from then on.
func (x *Executor) Begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun.IsZero() {
		x.begun = time.Now()
	}
}

// Took returns how long the run on the lease has lasted so far.
func (x *Executor) Took() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun.IsZero() {
		return time.Since(x.begun)
	}
	return time.Since(x.start)
}

// Ends says how the lease stands when the work on it has ended.
func (x *Executor) Ends(rest report.Rest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rest = &rest
}

// IsNew reports whether the lease had nothing before the run: neither claims nor objects of anybody.
func (x *Executor) IsNew() bool {
	s := x.Snapshot
	return s != nil && !x.Command.Options.Adopt && len(s.Held[x.Group]) == 0 && len(s.Written[x.Group]) == 0 && len(s.Theirs[x.Group]) == 0 && len(s.Shared[x.Group]) == 0
}
