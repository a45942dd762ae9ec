package sources

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// def is a lease definition with one host, all in its fourth line.
func def(dseq int, host string) string {
	return fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: x}
spec: {lease: {owner: akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h, dseq: %d, gseq: 1, oseq: 1, provider: akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0}, services: [{name: web, expose: [{port: 80, global: true, hosts: [%s]}]}]}
`, dseq, host)
}

// hosts are the hosts of a set, then what is said of it.
func hosts(set Set) string {
	var out []string
	for _, def := range set.Definitions {
		out = append(out, def.Services[0].Expose[0].Hosts[0].Name)
	}
	if !set.Complete {
		out = append(out, "incomplete")
	}
	return strings.Join(out, " ")
}

// folder is a folder whose files a test changes. A mistake ends the test.
type folder struct {
	*testing.T
	path string
}

func newFolder(t *testing.T) folder { return folder{t, t.TempDir()} }

// at returns a path in the folder.
func (f folder) at(name string) string { return filepath.Join(f.path, name) }

func (f folder) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// write writes a file in place, and makes its folder.
func (f folder) write(name, text string) {
	f.Helper()
	f.must(os.MkdirAll(filepath.Dir(f.at(name)), 0o755))
	f.must(os.WriteFile(f.at(name), []byte(text), 0o644))
}

// link makes a link, or replaces it by a rename.
func (f folder) link(target, name string) {
	f.Helper()
	f.must(os.Symlink(target, f.at("new-link")))
	f.must(os.Rename(f.at("new-link"), f.at(name)))
}

func (f folder) rename(from, to string) { f.Helper(); f.must(os.Rename(f.at(from), f.at(to))) }
func (f folder) remove(name string)     { f.Helper(); f.must(os.RemoveAll(f.at(name))) }

// source is the source in paths of the folder.
func (f folder) source(recursive bool, names ...string) *Files {
	f.Helper()
	for i, name := range names {
		names[i] = f.at(name)
	}
	source, err := NewFiles(files.Names{Files: names, Recursive: recursive}, input.Options{}, 1<<20)
	f.must(err)
	return source
}

// patience is how long a test waits for what has to come.
const patience = time.Minute

// said are the sets that a source says.
type said struct {
	t    *testing.T
	sets chan Set
}

// run runs a source until the test ends.
func run(t *testing.T, source *Files) said {
	t.Helper()
	sets, done := make(chan Set), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- source.Run(ctx, func(set Set) {
			select {
			case sets <- set:
			case <-ctx.Done():
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return said{t, sets}
}

// next returns the next set.
func (s said) next() Set {
	s.t.Helper()
	select {
	case set := <-s.sets:
		return set
	case <-time.After(patience):
		s.t.Fatal("the source says nothing")
		return Set{}
	}
}

// await waits for a set.
func (s said) await(want string) Set {
	s.t.Helper()
	var last Set
	late := time.After(patience)
	for {
		select {
		case last = <-s.sets:
			if hosts(last) == want {
				return last
			}
		case <-late:
			s.t.Fatalf("the source last said %q, and not %q: %v", hosts(last), want, last.Err)
		}
	}
}

// One bad file or document stops no other. It is named, and so is what makes a set incomplete: testdata/read.txt. A block makes files as
// folder.do has it, and says what is read of the folder "in", and of what it names besides.
func TestRead(t *testing.T) {
	datadriven.RunTest(t, "testdata/read.txt", func(t *testing.T, d *datadriven.TestData) string {
		in := newFolder(t)
		for line := range strings.Lines(d.Input) {
			in.do(strings.TrimSuffix(line, "\n"))
		}
		names := []string{"in"}
		for _, arg := range d.CmdArgs {
			if arg.Key != "empty" {
				names = append(names, arg.Key)
			}
		}
		source := in.source(true, names...)
		source.AllowEmpty = d.HasArg("empty")
		set := run(t, source).next()
		if len(set.Warnings) > 0 {
			t.Error(set.Warnings)
		}
		said := hosts(set) + "\n"
		if set.Err != nil {
			said += strings.ReplaceAll(set.Err.Error(), in.path, "") + "\n"
		}
		return said
	})
}

// Documents are read with the options of the command line: an SDL is of the lease that it names. Warnings are in the set.
func TestOptions(t *testing.T) {
	sdl, err := os.ReadFile("../../lease/sdl/testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	in := newFolder(t)
	in.write("a.yaml", strings.Replace(string(sdl), "services:\n", "services:\n  extra: {image: x}\n", 1))
	id, err := lease.ParseID("akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/7/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0")
	in.must(err)
	source := in.source(false, "a.yaml")
	source.options = input.Options{Lease: &id}
	if set := run(t, source).next(); !set.Complete || len(set.Definitions) != 1 || set.Definitions[0].Lease != id || !strings.Contains(set.Warnings.Error(), `service "extra" is not in the deployment and is ignored`) {
		t.Errorf("%+v", set)
	}
}

func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// documents are words of the data for what is no definition, or another one of a host.
func documents() map[string]string {
	a := def(1, "a.example.com")
	return map[string]string{
		"comment": "# a comment\n", "object": "{a: b}\n", "another": "{a: c}\n", "broken": "kind: [\n", "upper": def(3, "C"),
		"half": a[:len(a)-3], "less": a[:60], "order2": strings.Replace(a, "oseq: 1", "oseq: 2", 1),
		"moved": def(2, "a.example.com"), "port": strings.Replace(def(2, "a.example.com"), "port: 80,", "port: 81, as: 80,", 1), "long": strings.Repeat("# more\n", 1<<18),
		"nothing": strings.Replace(def(3, "c"), "[{port: 80, global: true, hosts: [c]}]", "[]", 1),
	}
}

// do makes a change as the data has it: "FILE = LEASES" writes a file in place, "ln" makes a link or replaces it.
func (f folder) do(change string) {
	f.Helper()
	if name, leases, writes := strings.Cut(change, " ="); writes {
		var defs []string
		for _, of := range strings.Fields(leases) {
			text, special := documents()[of]
			if !special {
				text = def(cmp.Or(map[string]int{"b": 2, "c": 3}[of], 1), of+".example.com")
			}
			defs = append(defs, text)
		}
		f.write(name, strings.Join(defs, "---\n"))
		return
	}
	switch words := strings.Fields(change); words[0] {
	case "mv":
		f.rename(words[1], words[2])
	case "rm":
		f.remove(words[1])
	case "mkdir":
		f.must(os.Mkdir(f.at(words[1]), 0o755))
	case "hard":
		f.must(os.Link(f.at(words[1]), f.at(words[2])))
	case "ln":
		target, absolute := strings.CutPrefix(words[1], "/")
		if absolute {
			target = f.at(target)
		}
		f.must(os.MkdirAll(filepath.Dir(f.at(words[2])), 0o755))
		f.link(target, words[2])
	}
}

// Whatever changes what files say, and however it is done, is noticed; after that the next change is, too. A case of the data has the
// name that is read, then changes with what the source says after them.
func TestChanges(t *testing.T) {
	text, err := os.ReadFile("testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(block, "\n")
		t.Run(strings.TrimPrefix(lines[0], "# "), func(t *testing.T) {
			in := newFolder(t)
			name, recursive := strings.CutPrefix(lines[1], "-R ")
			var source said
			for i, line := range lines[2:] {
				changes, says, _ := strings.Cut(line, " => ")
				for _, change := range strings.Split(changes, "; ") {
					in.do(change)
				}
				if i == 0 {
					of := in.source(recursive)
					of.named.Files = []string{in.path + "/" + name}
					source = run(t, of)
				}
				if says != "incomplete" {
					says = strings.ReplaceAll(says, " ", ".example.com ") + ".example.com"
				}
				source.await(says)
			}
		})
	}
}

// A file whose permissions change is read when it can be.
func TestPermissions(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	in := newFolder(t)
	in.write("in/a.yaml", def(1, "a.example.com"))
	in.write("in/0/b.yaml", def(2, "b.example.com"))
	source := run(t, in.source(true, "in"))
	source.await("b.example.com a.example.com")
	for _, name := range []string{"in/a.yaml", "in/0"} {
		in.must(os.Chmod(in.at(name), 0))
		rest := map[string]string{"in/a.yaml": "b.example.com incomplete", "in/0": "a.example.com incomplete"}[name]
		if set := source.await(rest); !containsAll(set.Err.Error(), []string{in.at(name), "cannot be read: permission denied"}) {
			t.Error(set.Err)
		}
		in.must(os.Chmod(in.at(name), 0o755))
		source.await("b.example.com a.example.com")
	}
}

// Relative paths are watched.
func TestRelative(t *testing.T) {
	in := newFolder(t)
	in.write("in/a.yaml", def(1, "a.example.com"))
	t.Chdir(in.at("in"))
	source, err := NewFiles(files.Names{Files: []string{"../in/./a.yaml"}}, input.Options{}, 0)
	in.must(err)
	said := run(t, source)
	said.await("a.example.com")
	in.write("in/a.yaml", def(1, "b.example.com"))
	said.await("b.example.com")
}

// A source ends with the context, and so do its goroutines: the bubble waits for them.
func TestEnd(t *testing.T) {
	in := newFolder(t)
	in.write("a.yaml", def(1, "a.example.com"))
	source := in.source(false, "a.yaml")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		if err := source.Run(ctx, func(Set) { cancel() }); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := source.Run(ctx, func(Set) { t.Error("a set is said after the end") }); err != nil {
		t.Error(err)
	}
}
