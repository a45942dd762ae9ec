package sources

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
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

// watched are the ways in a folder that are watched. Those to it are, too.
func (b *bubble) watched(in string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var got []string
	for path := range b.added {
		if name, ok := strings.CutPrefix(path, in+"/"); ok {
			got = append(got, name)
		}
	}
	for way := in; way != "/"; way = filepath.Dir(way) {
		if !b.added[way] {
			b.Errorf("%s is not watched", way)
		}
	}
	slices.Sort(got)
	return strings.Join(got, " ")
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

// When files are read, and what is said of them: testdata/watches.txt. Each line has changes as folder.do has them, or
//
//	event FILE OP, overflow, EIO, wrapped    what the watches report
//	sleep TIME
//
// and below it what the source has said since, when it has read, and which ways it watches if these have changed.
func TestWatches(t *testing.T) {
	datadriven.RunTest(t, "testdata/watches.txt", func(t *testing.T, d *datadriven.TestData) string {
		in := newFolder(t)
		reports := map[string]error{"overflow": fsnotify.ErrEventOverflow, "wrapped": fmt.Errorf("inotify: %w", fsnotify.ErrEventOverflow), "EIO": syscall.EIO}
		ops := map[string]fsnotify.Op{"write": fsnotify.Write, "create": fsnotify.Create, "chmod": fsnotify.Chmod}
		before, rest, _ := strings.Cut(d.Input, "\n")
		for _, change := range strings.Split(before, "; ") {
			in.do(change)
		}
		out := before + "\n"
		inBubble(t, in.source(false, d.CmdArgs[0].Key), nil, func(b *bubble) {
			was := ""
			say := func() {
				sets, reads := b.after()
				out += fmt.Sprintf("    %q, read at %v\n", all(sets), reads)
				if now := b.watched(in.path); now != was {
					out += "    watched: " + now + "\n"
					was = now
				}
			}
			say()
			for line := range strings.Lines(rest) {
				out += strings.TrimSuffix(line, "\n") + "\n"
				times, changes := 1, strings.TrimSuffix(line, "\n")
				if n, repeated, ok := strings.Cut(changes, " times "); ok {
					times, _ = strconv.Atoi(n)
					changes = repeated
				}
				for _, change := range slices.Repeat(strings.Split(changes, "; "), times) {
					words := strings.Fields(change)
					switch {
					case words[0] == "event":
						name := in.at(words[1])
						if strings.HasPrefix(words[1], "/") { // as fsnotify says it of what is in the root
							name = "/" + name
						}
						b.events <- fsnotify.Event{Name: name, Op: ops[words[2]]}
					case words[0] == "sleep":
						d, err := time.ParseDuration(words[1])
						in.must(err)
						time.Sleep(d)
					case reports[change] != nil:
						b.errors <- reports[change]
					default:
						in.do(change)
					}
				}
				say()
			}
		})
		return out
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
