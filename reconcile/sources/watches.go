package sources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/files"
)

// calm is how long nothing changes before files are read again, calmAtMost the longest wait for that.
const (
	calm       = 100 * time.Millisecond
	calmAtMost = time.Second
)

// notifier is an fsnotify.Watcher.
type notifier interface {
	Add(path string) error
	Remove(path string) error
}

// watches are what is watched of the file system. Each look computes them afresh. Their paths have no links: a watch does not see
// that a link on the way to it changes, but one of the link's folder does.
type watches struct {
	notifier notifier
	// changed has an item if something that matters has changed, lost if it is not known what has.
	changed, lost chan struct{}
	// late is the first warning of the last look about changes that will not be noticed.
	late lease.Problems

	// looks is the number of looks. The values of watched, names and whole are the last look that found the path.
	looks int
	// watched are the paths that the notifier has.
	watched map[string]int
	// ways has the path without links for each path of this look; "" if there is nothing.
	ways map[string]string

	mu sync.Mutex
	// names are the paths that matter, whole the folders in which all files do.
	names, whole map[string]int
}

func newWatches(n notifier) *watches {
	return &watches{
		notifier: n, changed: make(chan struct{}, 1), lost: make(chan struct{}, 1),
		watched: map[string]int{}, names: map[string]int{}, whole: map[string]int{},
	}
}

// found is a file that is to be read, or an error instead.
type found struct {
	path string
	info fs.FileInfo
	// changed is when anything of the file was changed last, zero if that is not known.
	changed time.Time
	err     error
}

// same reports whether nothing has happened to the file between two looks.
func (f found) same(other found) bool {
	if f.info == nil || other.info == nil {
		return f.info == other.info && f.path == other.path && fmt.Sprint(f.err) == fmt.Sprint(other.err)
	}
	return f.path == other.path && os.SameFile(f.info, other.info) && f.info.Size() == other.info.Size() &&
		f.info.ModTime().Equal(other.info.ModTime()) && f.changed.Equal(other.changed)
}

// look finds the files that are to be read, and watches the ways to them. A folder is watched before its files are listed, so what
// the look misses is noticed.
func (w *watches) look(ctx context.Context, named files.Names) (all []found) {
	w.looks++
	w.ways, w.late = map[string]string{}, nil
	for _, name := range named.Files {
		w.way(name)
		one := files.Names{Files: []string{name}, Recursive: named.Recursive}
		for at, err := range one.Walk() {
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				all = append(all, found{err: err})
			case at.Folder:
				w.watchWhole(w.way(at.Path))
			default:
				all = append(all, w.file(at.Path, at.Path == name))
			}
		}
	}
	w.forget()
	return all
}

// file looks at a file. One that is named is watched itself too: it may have another name, by which it is written.
func (w *watches) file(path string, named bool) found {
	end := w.way(path)
	if named && end != "" {
		w.watch(end)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return found{err: files.Refused(path, err)}
	case special(info):
		return found{err: lease.Problems{{Message: fmt.Sprintf("the path %q is neither a file nor a folder, and is not opened", path)}}}
	}
	return found{path: path, info: info, changed: changeTime(path)}
}

// way watches the folders on the way to a path, and on that to which its links lead. It returns the path without links, "" if
// there is nothing.
func (w *watches) way(path string) string {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		folder, err := os.Getwd()
		if err != nil {
			return ""
		}
		path = folder + string(filepath.Separator) + path // not joined: .. behind a link leaves the folder to which it leads
	}
	return w.follow(path)
}

func (w *watches) follow(path string) string {
	const separator = string(filepath.Separator)
	path = strings.TrimRight(path, separator)
	if path == filepath.VolumeName(path) {
		return path + separator
	}
	cut := strings.LastIndex(path, separator)
	folder, name := w.follow(path[:cut]), path[cut+1:]
	switch {
	case folder == "" || name == "" || name == ".":
		return folder
	case name == "..":
		return filepath.Dir(folder)
	}
	path = filepath.Join(folder, name)
	if end, known := w.ways[path]; known {
		return end
	}
	w.ways[path] = "" // for a link that leads to itself
	w.mu.Lock()
	w.names[path] = w.looks
	w.mu.Unlock()
	w.watch(folder)
	info, err := os.Lstat(path)
	end := path
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if end, err = os.Readlink(path); !filepath.IsAbs(end) {
			end = folder + separator + end
		}
		end = w.follow(end)
	}
	if err != nil {
		return ""
	}
	w.ways[path] = end
	return end
}

// watchWhole watches a folder all of whose files matter.
func (w *watches) watchWhole(folder string) {
	if folder == "" {
		return
	}
	w.mu.Lock()
	w.whole[folder] = w.looks
	w.mu.Unlock()
	w.watch(folder)
}

// watch watches a path, again if there is something else by now.
func (w *watches) watch(path string) {
	if w.watched[path] == w.looks {
		return
	}
	w.watched[path] = w.looks
	if err := w.notifier.Add(path); err != nil && !errors.Is(err, fs.ErrNotExist) && len(w.late) == 0 {
		w.late.Warn(lease.Place{File: path}, "changes here, and perhaps elsewhere, are seen late, because there is no watch for them "+
			"(on Linux see fs.inotify.max_user_watches): %v", err)
	}
}

// forget ends the watches that this look has not found.
func (w *watches) forget() {
	old := func(_ string, look int) bool { return look < w.looks }
	for path, look := range w.watched {
		if old(path, look) {
			delete(w.watched, path)
			_ = w.notifier.Remove(path) // it fails if the path is gone
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.names, old)
	maps.DeleteFunc(w.whole, old)
}

// take takes events and errors until the channels are closed. It takes them while a look adds watches too, because fsnotify holds
// the lock that these need until an error is taken.
func (w *watches) take(events <-chan fsnotify.Event, errs <-chan error) {
	for {
		select {
		case event, ok := <-events:
			if !ok {
				return
			}
			if w.matters(event) {
				notice(w.changed)
			}
		case err, ok := <-errs:
			switch {
			case !ok:
				return
			case errors.Is(err, fsnotify.ErrEventOverflow):
				notice(w.lost)
			default:
				notice(w.changed)
			}
		}
	}
}

func notice(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// matters reports whether files are to be read again after the event.
func (w *watches) matters(event fsnotify.Event) bool {
	path := filepath.Clean(event.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, named := w.names[path]
	_, whole := w.whole[filepath.Dir(path)]
	return named || whole && (files.Reads(path) || event.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0)
}

// await returns when files are to be read again: a change and the quiet after it, or at most some time.
func (w *watches) await(ctx context.Context, atMost time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(atMost):
	case <-w.lost:
	case <-w.changed:
		w.quiet(ctx)
	}
}

// quiet waits until nothing changes for a while.
func (w *watches) quiet(ctx context.Context) { quiet(ctx, w.changed, w.lost) }

// quiet waits until nothing changes for a while, but not long. It does not wait once it is lost what has changed; lost may be nil.
func quiet(ctx context.Context, changed, lost <-chan struct{}) {
	end := time.After(calmAtMost)
	for {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-time.After(calm):
			return
		case <-lost:
			return
		case <-changed:
		}
	}
}

// Changing is a source of which somebody says when it has changed.
type Changing struct {
	// Read reads all of it.
	Read func(context.Context) Set
	// Changed has an item if something has changed since the last one was taken.
	Changed <-chan struct{}
}

// Run implements Source. Changes that follow each other are read once.
func (c Changing) Run(ctx context.Context, say func(Set)) error {
	said := ""
	for {
		if set := c.Read(ctx); ctx.Err() == nil && set.sum() != said {
			said = set.sum()
			say(set)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.Changed:
		}
		quiet(ctx, c.Changed, nil)
	}
}
