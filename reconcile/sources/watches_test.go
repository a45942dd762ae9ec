package sources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// bubble is a source whose events a test makes, while time stands still until all wait.
type bubble struct {
	*testing.T
	began  time.Time
	cancel context.CancelFunc
	events chan fsnotify.Event
	errors chan error
	w      *watches
	// mu is for what follows.
	mu sync.Mutex
	// add is what adding a watch does; added are the watches.
	add   func(path string) error
	added map[string]bool
	// reads are the times at which files were read, and sets what was said.
	reads []time.Duration
	sets  []Set
}

func (b *bubble) Add(path string) error {
	b.mu.Lock()
	b.added[path] = true
	add := b.add
	b.mu.Unlock()
	return add(path)
}

func (b *bubble) Remove(path string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.added, path)
	return fsnotify.ErrNonExistentWatch
}

// inBubble runs a source until the test ends. look is nil to look at the files.
func inBubble(t *testing.T, source *Files, look func() []found, test func(b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := &bubble{T: t, began: time.Now(), cancel: cancel, events: make(chan fsnotify.Event), errors: make(chan error), added: map[string]bool{}}
		b.add = func(string) error { return nil }
		b.w = newWatches(b)
		go b.w.take(b.events, b.errors)
		if look == nil {
			look = func() []found { return b.w.look(ctx, source.named) }
		}
		looks := 0
		run := func() {
			source.run(ctx, b.w, func() []found {
				if looks++; looks%2 == 1 {
					b.mu.Lock()
					b.reads = append(b.reads, time.Since(b.began))
					b.mu.Unlock()
				}
				return look()
			}, func(set Set) {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.sets = append(b.sets, set)
			})
		}
		go run()
		test(b)
		cancel()
		close(b.events)
	})
}

// after waits until the source waits, and returns the sets and the times of reads since it was called last.
func (b *bubble) after() ([]Set, []time.Duration) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	sets, reads := b.sets, b.reads
	b.sets, b.reads = nil, nil
	return sets, reads
}

// adding changes what adding a watch does.
func (b *bubble) adding(add func(string) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add = add
}

// said returns what was said since it was called last.
func (b *bubble) said() string {
	sets, _ := b.after()
	return all(sets)
}

func all(sets []Set) string {
	var out []string
	for _, set := range sets {
		out = append(out, hosts(set))
	}
	return strings.Join(out, ", ")
}

func (b *bubble) says(want string) {
	b.Helper()
	if got := b.said(); got != want {
		b.Errorf("after %s the source has said %q, want %q", time.Since(b.began), got, want)
	}
}

// A burst of events is one change. A change without an end is read each second.
func TestBursts(t *testing.T) {
	in := newFolder(t)
	in.write("a.yaml", def(1, "a.example.com"))
	inBubble(t, in.source(false, "a.yaml"), nil, func(b *bubble) {
		change := fsnotify.Event{Name: in.at("a.yaml"), Op: fsnotify.Write}
		b.says("a.example.com")
		for i := range 5 {
			in.write("a.yaml", def(1, fmt.Sprintf("a%d.example.com", i)))
			b.events <- change
			time.Sleep(50 * time.Millisecond)
		}
		b.says("")
		time.Sleep(time.Minute)
		b.says("a4.example.com")
		first := time.Since(b.began)
		for range 100 {
			b.events <- change
			time.Sleep(50 * time.Millisecond)
		}
		if sets, reads := b.after(); len(reads) != 5 || reads[0]-first != calmAtMost || len(sets) > 0 {
			t.Errorf("events of 5 seconds since %s are read at %v: %q", first, reads, all(sets))
		}
	})
}

// What files say is said again only if it differs: not after a comment, a rename, or an event of another file.
func TestSaidOnce(t *testing.T) {
	in := newFolder(t)
	in.write("in/a.yaml", def(1, "a.example.com"))
	inBubble(t, in.source(false, "in"), nil, func(b *bubble) {
		after := func(name string, op fsnotify.Op, want string, reads int) {
			b.Helper()
			b.events <- fsnotify.Event{Name: in.at(name), Op: op}
			time.Sleep(time.Second)
			if sets, at := b.after(); all(sets) != want || len(at) != reads {
				b.Errorf("after %s of %s files are read %d times, want %d, and the source says %q, want %q", op, name, len(at), reads, all(sets), want)
			}
		}
		b.says("a.example.com")
		in.write("in/a.yaml", "# a comment\n"+def(1, "a.example.com"))
		after("in/a.yaml", fsnotify.Write, "", 1)
		in.rename("in/a.yaml", "in/b.yaml")
		after("in/b.yaml", fsnotify.Create, "", 1)
		after("in/log", fsnotify.Write, "", 0)
		after("in/log", fsnotify.Create, "", 1)
		after("log", fsnotify.Create, "", 0)
		after("in", fsnotify.Chmod, "", 1)
		in.write("in/b.yaml", def(1, "a.example.com")+"---\n{a: b}")
		after("in/b.yaml", fsnotify.Write, "a.example.com incomplete", 1)
		in.write("in/b.yaml", def(1, "a.example.com")+"---\n{a: c}")
		after("in/b.yaml", fsnotify.Write, "", 1)
		in.write("in/b.yaml", def(1, "a.example.com")+"---\n[")
		after("in/b.yaml", fsnotify.Write, "a.example.com incomplete", 1)
		in.write("in/b.yaml", def(2, "a.example.com"))
		after("in/b.yaml", fsnotify.Write, "a.example.com", 1)
		in.write("in/b.yaml", strings.Replace(def(2, "a.example.com"), "port: 80,", "port: 81, as: 80,", 1))
		after("in/b.yaml", fsnotify.Write, "a.example.com", 1)
	})
}

// A change without an event is seen by and by; at once if it is known that events were lost, also amid a burst.
func TestLostEvents(t *testing.T) {
	in := newFolder(t)
	in.write("a.yaml", def(1, "a.example.com"))
	source := in.source(false, "a.yaml")
	inBubble(t, source, nil, func(b *bubble) {
		b.says("a.example.com")
		in.write("a.yaml", def(1, "b.example.com"))
		time.Sleep(source.Resync - time.Nanosecond)
		b.says("")
		time.Sleep(time.Nanosecond)
		b.says("b.example.com")
		in.write("a.yaml", def(1, "c.example.com"))
		b.errors <- fsnotify.ErrEventOverflow
		b.says("c.example.com")
		in.write("a.yaml", def(1, "d.example.com"))
		b.errors <- syscall.EIO
		b.says("")
		b.errors <- fmt.Errorf("inotify: %w", fsnotify.ErrEventOverflow)
		b.says("d.example.com")
		in.write("a.yaml", def(1, "e.example.com"))
		b.errors <- syscall.EIO
		time.Sleep(calm)
		b.says("e.example.com")
	})
}

// What is read while files change may lack a lease that moves from one to another: it is not said until it holds still, and if it
// never does, not as complete.
func TestChangeWhileRead(t *testing.T) {
	in := newFolder(t)
	in.write("a.yaml", def(1, "a.example.com"))
	var looks, changes atomic.Int64
	changes.Store(4)
	look := func() []found {
		if n := looks.Add(1); n <= changes.Load() {
			in.write("a.yaml", def(1, "a.example.com")+strings.Repeat("#", int(n)))
		}
		file, err := os.Stat(in.at("a.yaml"))
		in.must(err)
		return []found{{path: in.at("a.yaml"), info: file}}
	}
	inBubble(t, in.source(false, "a.yaml"), look, func(b *bubble) {
		b.says("")
		time.Sleep(calm)
		b.says("")
		time.Sleep(calm)
		b.says("a.example.com")
		looks.Store(0)
		changes.Store(1000)
		notice(b.w.changed)
		time.Sleep(calm)
		b.says("")
		time.Sleep(2 * calm)
		if b.says("a.example.com incomplete"); looks.Load() != 6 {
			t.Errorf("%d looks", looks.Load())
		}
		changes.Store(0)
		time.Sleep(10 * calm)
		b.says("a.example.com")
	})
}

// Two looks at the same file are equal, until it is written or replaced or goes.
func TestSame(t *testing.T) {
	in := newFolder(t)
	look := func() []found {
		return newWatches(&bubble{add: func(string) error { return nil }, added: map[string]bool{}}).look(t.Context(), in.source(false, "in").named)
	}
	in.write("in/a.yaml", "a")
	in.link("b", "in/b.yaml")
	before := look()
	for name, change := range map[string]func(){
		"nothing": func() {},
		"longer": func() {
			in.write("in/a.yaml", "ab")
			in.must(os.Chtimes(in.at("in/a.yaml"), time.Time{}, before[0].info.ModTime()))
		},
		"later": func() { in.must(os.Chtimes(in.at("in/a.yaml"), time.Time{}, time.Unix(1, 0))) },
		"replaced": func() {
			in.write("in/c", "a")
			in.must(os.Chtimes(in.at("in/c"), time.Time{}, before[0].info.ModTime()))
			in.rename("in/c", "in/a.yaml")
		},
		"renamed":                     func() { in.rename("in/a.yaml", "in/c.yaml") },
		"another too":                 func() { in.write("in/c.yaml", "a") },
		"gone":                        func() { in.remove("in/a.yaml") },
		"unreadable by another error": func() { in.link("b.yaml", "in/b.yaml") },
		"now there":                   func() { in.write("in/b", "b") },
	} {
		change()
		if got := slices.EqualFunc(before, look(), found.same); got != (name == "nothing") {
			t.Errorf("%s: same is %v", name, got)
		}
		in.remove("in")
		in.write("in/a.yaml", "a")
		in.link("b", "in/b.yaml")
		before = look()
	}
}

// The ways to what is named are watched, and no more: not those that were.
func TestWatched(t *testing.T) {
	in := newFolder(t)
	in.write("x/a.yaml", def(1, "a.example.com"))
	in.write("y/a.yaml", def(1, "b.example.com"))
	in.link("x", "one")
	inBubble(t, in.source(false, "one"), nil, func(b *bubble) {
		watched := func(want ...string) {
			b.Helper()
			b.mu.Lock()
			defer b.mu.Unlock()
			var got []string
			for path := range b.added {
				if name, ok := strings.CutPrefix(path, in.path+"/"); ok {
					got = append(got, name)
				}
			}
			for way := in.path; way != "/"; way = filepath.Dir(way) {
				if !b.added[way] {
					b.Errorf("%s is not watched", way)
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				b.Errorf("watched are %q, want %q", got, want)
			}
		}
		b.says("a.example.com")
		watched("x")
		in.link("y", "one")
		b.events <- fsnotify.Event{Name: in.at("one"), Op: fsnotify.Create}
		time.Sleep(calm)
		b.says("b.example.com")
		watched("y")
		b.events <- fsnotify.Event{Name: in.at("x/a.yaml"), Op: fsnotify.Write}
		b.events <- fsnotify.Event{Name: in.at("z"), Op: fsnotify.Create}
		time.Sleep(calm)
		if _, reads := b.after(); len(reads) > 0 {
			t.Error("files are read again for a folder that is not the source's any more")
		}
		b.events <- fsnotify.Event{Name: "/" + in.at("y"), Op: fsnotify.Chmod} // as fsnotify says it of what is in the root
		time.Sleep(calm)
		if _, reads := b.after(); len(reads) != 1 {
			t.Error("a change of the folder is not noticed")
		}
	})
}

// What cannot be watched is said, and is read all the same. A watch may wait until errors are taken.
func TestNoWatch(t *testing.T) {
	in := newFolder(t)
	in.write("in/a.yaml", def(1, "a.example.com"))
	inBubble(t, in.source(false, "in"), nil, func(b *bubble) {
		b.says("a.example.com")
		b.adding(func(string) error {
			b.errors <- syscall.EINVAL
			b.errors <- syscall.EINVAL
			return syscall.ENOSPC
		})
		b.errors <- fsnotify.ErrEventOverflow
		if sets, _ := b.after(); len(sets) != 1 || !sets[0].Complete || len(sets[0].Warnings) != 1 || !strings.Contains(sets[0].Warnings.Error(), "changes here, and perhaps elsewhere, are seen late") {
			t.Errorf("%+v", sets)
		}
		b.adding(func(string) error { return syscall.ENOENT })
		time.Sleep(time.Second) // the other errors are changes
		if sets, _ := b.after(); len(sets) != 1 || len(sets[0].Warnings) != 0 {
			t.Errorf("%+v", sets)
		}
	})
}

// What is read when the context ends is not said.
func TestEndWhileRead(t *testing.T) {
	in := newFolder(t)
	in.write("in/a.yaml", def(1, "a.example.com"))
	in.write("in/b.yaml", def(2, "b.example.com"))
	inBubble(t, in.source(false, "in"), nil, func(b *bubble) {
		b.says("a.example.com b.example.com")
		in.write("in/b.yaml", def(2, "c.example.com"))
		b.adding(func(string) error { b.cancel(); return nil })
		b.errors <- fsnotify.ErrEventOverflow
		b.says("")
	})
}
