package sources

import (
	"context"
	"io"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
)

// tick is the coarsest clock of a file system. A file that was read so soon after it had been changed may have changed again since,
// and look the same.
const tick = 2 * time.Second

// reading is what a file has said.
type reading struct {
	of       found
	at       time.Time
	size     int64
	defs     []*lease.Definition
	problems lease.Problems
	err      error
}

// stands reports whether a file that is found at a time says what it said, for sure. After a resync nothing is.
func (r *reading) stands(now found, at time.Time, resync time.Duration) bool {
	return r != nil && r.err == nil && !now.changed.IsZero() && r.of.same(now) && now.changed.Before(r.at.Add(-tick)) && at.Sub(r.at) < resync
}

// readOne returns what a file says. It reads the file if that may be something else than before.
func (f *Files) readOne(ctx context.Context, one found, budget *files.Budget) *reading {
	if before := f.known[one.path]; before.stands(one, time.Now(), f.Resync) && budget.Take(before.size) {
		return before
	}
	now := &reading{of: one, at: time.Now()}
	now.err = files.Read(ctx, one.path, func(r io.Reader, name string) error {
		about, err := input.Read(ctx, budget.Reader(r, name), name, f.options, func(def *lease.Definition) error {
			now.defs = append(now.defs, def)
			return nil
		})
		if err == nil && len(now.defs) == 0 && !about.Failed() && !f.AllowEmpty {
			about.Add(lease.Place{File: name}, "the file names no lease")
		}
		now.problems = about
		return err
	})
	now.size = one.info.Size()
	return now
}
