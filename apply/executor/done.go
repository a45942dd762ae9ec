package executor

import (
	"time"
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
	return s != nil && !x.Command.Options.Adopt && len(s.Held[x.Group]) == 0 && len(s.Written[x.Group]) == 0 && len(s.Theirs[x.Group]) == 0 && len(s.Shared[x.Group]) == 0
}
