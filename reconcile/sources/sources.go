// Package sources says which leases there are to be, and says it again when that changes.
package sources

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// Set is what a source says at one moment.
type Set struct {
	// Definitions are those that could be read, one a deployment group, in the order of the source.
	Definitions []*lease.Definition
	// Complete is true if the whole source could be read without an error, and names a lease or may be empty. Only a complete
	// set says of a lease that it is not named any more.
	Complete bool
	// Left are the namespaces of the leases that are named all the same, but of which it could not be read what they are to be: they
	// stay as they are.
	Left map[string]bool
	// Err is what could not be read; nil if all could.
	Err error
	// Warnings are about what was read all the same, and about changes that will be seen late.
	Warnings lease.Problems
}

// Source says which leases there are to be.
type Source interface {
	// Run calls say with what the source says: once at the beginning, and again whenever that has changed, until the context
	// ends; then it returns nil. An unreadable source is a Set with an Err. An error means that Run can never go on.
	Run(ctx context.Context, say func(Set)) error
}

// Once returns what a source says first.
func Once(ctx context.Context, s Source) (set Set, err error) {
	once, done := context.WithCancel(ctx)
	defer done()
	err = s.Run(once, func(first Set) {
		if once.Err() == nil {
			set = first
		}
		done()
	})
	if err == nil {
		err = ctx.Err()
	}
	return set, err
}

// Files is the source in files and folders. NewFiles makes one; Run runs once at a time.
//
// A file that is half written may look whole. So who writes a file had better write another one and rename it.
type Files struct {
	// AllowEmpty is true if files and folders may name no lease, and a lease may define nothing. Otherwise they are errors.
	AllowEmpty bool
	// Resync is the time after which everything is read again, in case that an event was lost (a network's file system has
	// none).
	Resync time.Duration

	named   files.Names
	options input.Options
	size    int64
	// known is what the files have said when they were read last, by path.
	known map[string]*reading
}

var _ Source = (*Files)(nil)

// resync is the default of Files.Resync.
const resync = 10 * time.Minute

// NewFiles returns the source in what is named. All files together may have size bytes; 0 means no limit. What can be read
// only once, as standard input, is an error. A path that does not exist may come later.
func NewFiles(named files.Names, options input.Options, size int64) (*Files, error) {
	for _, name := range named.Files {
		info, err := os.Stat(name)
		if name == "-" || err == nil && special(info) {
			return nil, fmt.Errorf("%s cannot be watched; name files and folders", name)
		}
	}
	return &Files{Resync: resync, named: named, options: options, size: size}, nil
}

// special reports whether something is neither a file nor a folder.
func special(info fs.FileInfo) bool { return !info.Mode().IsRegular() && !info.IsDir() }

// Run implements Source. It fails if the system has no watch for it.
func (f *Files) Run(ctx context.Context, say func(Set)) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("files cannot be watched: %w", err)
	}
	w := newWatches(watcher)
	var taking sync.WaitGroup
	taking.Go(func() { w.take(watcher.Events, watcher.Errors) })
	defer taking.Wait()
	defer watcher.Close() //nolint:errcheck // nobody waits for events any more
	f.run(ctx, w, func() []found { return w.look(ctx, f.named) }, say)
	return nil
}

// tries are the times that files are read that change meanwhile, before a set is said all the same.
const tries = 3

// run says sets until the context ends.
func (f *Files) run(ctx context.Context, w *watches, look func() []found, say func(Set)) {
	said := ""
	for changing := 0; ctx.Err() == nil; {
		before := look()
		defs, problems := f.read(ctx, before)
		// A lease that moves from one file to another while both are read may be in neither.
		settled := slices.EqualFunc(before, look(), found.same)
		if changing++; !settled && changing < tries {
			w.quiet(ctx)
			continue
		}
		if changing = 0; !settled {
			problems.Add(lease.Place{}, "the files change while they are read")
		}
		set := SetOf(defs, append(problems, w.late...), f.AllowEmpty)
		if sum := set.sum(); sum != said && ctx.Err() == nil {
			said = sum
			say(set)
		}
		if settled {
			w.await(ctx, f.Resync)
		} else {
			w.quiet(ctx)
		}
	}
}

// read returns the definitions in the files, and all problems.
func (f *Files) read(ctx context.Context, all []found) (defs []*lease.Definition, problems lease.Problems) {
	budget, known := files.NewBudget(f.size), map[string]*reading{}
	for _, one := range all {
		err := one.err
		if err == nil {
			now := f.readOne(ctx, one, budget)
			defs, problems, err = append(defs, now.defs...), append(problems, now.problems...), now.err
			known[one.path] = now
		}
		if ctx.Err() != nil || budget.Spent() {
			break
		}
		if err == nil || f.AllowEmpty && files.IsEmptyFolder(err) {
			continue
		}
		about, ok := errors.AsType[lease.Problems](err)
		if !ok {
			about, _ = errors.AsType[lease.Problems](files.Refused(one.path, err))
		}
		problems = append(problems, about...)
	}
	f.known = known
	return defs, problems
}

// SetOf returns the set of what was read, with all problems. It leaves out the definitions of a group that has several, and those that
// define nothing unless they may.
func SetOf(defs []*lease.Definition, problems lease.Problems, allowEmpty bool) Set {
	first, twice := map[lease.Group]lease.Place{}, map[lease.Group]bool{}
	for _, def := range defs {
		group := def.Lease.Group()
		if at, seen := first[group]; seen {
			twice[group] = true
			problems.Add(def.At, "deployment group %s is defined twice (first in %s), and skipped", group, at)
			continue
		}
		first[group] = def.At
	}
	defs = slices.DeleteFunc(defs, func(def *lease.Definition) bool {
		empty := def.Empty() && !allowEmpty
		if empty {
			problems.Add(def.At, "lease %s defines no host and no address, and is skipped; --allow-empty takes it all the same", def.Lease)
		}
		return empty || twice[def.Lease.Group()]
	})
	set := Set{Definitions: defs, Warnings: problems.Warnings()}
	if wrong := problems.Errors(); len(wrong) > 0 {
		set.Err = wrong
	}
	set.Complete = set.Err == nil && (len(defs) > 0 || allowEmpty)
	return set
}

// sum identifies what the set says, without its positions.
func (s Set) sum() string {
	parts := []string{fmt.Sprint(s.Complete, s.Err), s.Warnings.Error()}
	for _, def := range s.Definitions {
		parts = append(parts, def.Lease.String(), def.Hash, lease.SumWhole(def))
	}
	parts = append(parts, slices.Sorted(maps.Keys(s.Left))...)
	sum := sha256.Sum256([]byte(lease.Key(parts...)))
	return string(sum[:])
}

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
