package files

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// folder creates a folder with files, each "NAME TEXT", or a name that is its text.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	in := t.TempDir()
	for _, file := range files {
		name, text, given := strings.Cut(file, " ")
		if !given {
			text = name
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(in, name)), 0o700), os.WriteFile(filepath.Join(in, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// Each reads files in the given order, and the files of a folder by name if they have one of kubectl's extensions. The limit is
// for all files together.
func TestEach(t *testing.T) {
	in := folder(t, "b.yaml", "a.json", "c.yml", "note.txt", "below/d.yaml")
	dangling := folder(t, "a.yaml")
	if err := os.Symlink("/nowhere", dangling+"/b.yaml"); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		flags Names
		limit int64
		want  []string
		wrong string
	}{
		"a folder":            {Names{Files: []string{in}}, 0, []string{"a.json", "b.yaml", "c.yml"}, ""},
		"and those below":     {Names{Files: []string{in}, Recursive: true}, 0, []string{"a.json", "b.yaml", "below/d.yaml", "c.yml"}, ""},
		"a file, and stdin":   {Names{Files: []string{in + "/note.txt", "-"}}, 0, []string{"note.txt", "typed"}, ""},
		"as much as may be":   {Names{Files: []string{in}}, 17, []string{"a.json", "b.yaml", "c.yml"}, ""},
		"a byte too much":     {Names{Files: []string{in}}, 16, []string{"a.json", "b.yaml"}, "c.yml: the input is larger than 16"},
		"nothing there":       {Names{Files: []string{in + "/a.json", in + "/none"}}, 0, []string{"a.json"}, `none" does not exist`},
		"a dangling link":     {Names{Files: []string{dangling}}, 0, []string{"a.yaml"}, `b.yaml" cannot be read: no such file`},
		"a link to a folder":  {Names{Files: []string{link}}, 0, []string{"a.json", "b.yaml", "c.yml"}, ""},
		"a mounted ConfigMap": {Names{Files: []string{folder(t, "..2026/a.yaml", "a.yaml", "b/..a/b.yaml")}, Recursive: true}, 0, []string{"a.yaml"}, ""},
		"below a file":        {Names{Files: []string{in + "/a.json/b"}}, 0, nil, `b" cannot be read: not a directory`},
		"nothing to be read":  {Names{Files: []string{folder(t, "note.txt", "below/a.yaml")}}, 0, nil, "has no .json, .yaml, .yml files"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := tt.flags.Each(t.Context(), strings.NewReader("typed"), tt.limit, func(r io.Reader, _ string) error {
				text, err := io.ReadAll(r)
				if err == nil {
					got = append(got, string(text))
				}
				return err
			})
			if !slices.Equal(got, tt.want) || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%q, want %q; %v", got, tt.want, err)
			}
		})
	}
}

// Walk goes on behind what cannot be read, names each folder before its files, and ends when its caller does.
func TestWalk(t *testing.T) {
	in := folder(t, "a/a.yaml", "b/b.txt", "c.yaml", "e.yaml")
	if err := os.Mkdir(in+"/d.yaml", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("d.yaml", in+"/d2.yaml"); err != nil {
		t.Fatal(err)
	}
	flags := Names{Files: []string{in + "/none", in, in + "/b", "-"}, Recursive: true}
	var got []string
	for found, err := range flags.Walk() {
		text := strings.TrimPrefix(found.Path, in)
		switch {
		case err != nil:
			_, text, _ = strings.Cut(err.Error(), in)
			text += map[bool]string{true: " (empty)"}[IsEmptyFolder(err)]
		case found.Folder:
			text += "/"
		}
		got = append(got, text)
	}
	want := []string{`/none" does not exist`, "/", "/a/", "/a/a.yaml", "/b/", "/c.yaml", "/d.yaml/",
		`/d2.yaml" is no file and is not opened; if it is to be read, name it itself`, "/e.yaml", "/b/", `/b" has no .json, .yaml, .yml files (empty)`, "-"}
	if !slices.Equal(got, want) {
		t.Errorf("%q,\nwant %q", got, want)
	}
	for n := range want {
		count := 0
		flags.Walk()(func(Found, error) bool {
			count++
			return count <= n
		})
		if count != n+1 {
			t.Errorf("%d found, want %d", count, n+1)
		}
	}
}

// The end of the context ends the wait for a reader that never answers, and later reads.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	never, _ := io.Pipe()
	reader := Interruptible(ctx, never)
	ended := make(chan error)
	go func() {
		_, err := reader.Read(make([]byte, 1))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Interruptible(ctx, strings.NewReader("more")).Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("what is read afterwards: %v", err)
	}
}

// Small reads return all bytes of a large read, and then its end.
func TestInterruptibleReadsAll(t *testing.T) {
	text := strings.Repeat("0123456789", 1<<14)
	var got strings.Builder
	_, err := io.CopyBuffer(&got, Interruptible(t.Context(), strings.NewReader(text)), make([]byte, 7))
	if got.String() != text || err != nil {
		t.Errorf("%d bytes of %d, %v", got.Len(), len(text), err)
	}
}

// A duplicate object is an error if once is set. A document that is not an object causes a warning. A folder may be empty.
func TestObjects(t *testing.T) {
	const text = "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Service, metadata: {name: a}}]}\n---\njust a text\n---\n{apiVersion: v1, kind: Service, metadata: {name: a}}\n"
	limits := config.Default().Limits
	for once, wrong := range map[bool]string{true: "duplicate object Service /a (first in -:1", false: ""} {
		count := 0
		flags := Names{Files: []string{"-"}}
		warnings, err := flags.Objects(t.Context(), strings.NewReader(text), limits, once, func(*unstructured.Unstructured) { count++ })
		if (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) || len(warnings) != 1 || !strings.Contains(warnings[0].Error(), "-:3:1: this is not a Kubernetes object") {
			t.Errorf("once %v: %v, %v", once, err, warnings)
		}
		if want := map[bool]int{true: 1, false: 2}[once]; count != want {
			t.Errorf("once %v: %d objects, want %d", once, count, want)
		}
	}
}

// A ledger in files: what is broken is a problem of its own, and everything else is read.
func TestLedger(t *testing.T) {
	limits := config.Default().Limits
	object := func(name string) string {
		return "{apiVersion: v1, kind: Service, metadata: {name: " + name + "}}\n"
	}
	in := folder(t, "a.yaml "+object("a"), "b.yaml a: [\n---\n"+object("b"), "c.yaml # nothing\n", "d.txt a: 1\n",
		"e.yaml {apiVersion: v1, kind: Service, metadata: {name: odd, labels: {a: 1}}}\n---\n"+object("e"))
	good := in + "/a.yaml"
	const definition = "{apiVersion: net.akash.network/v1alpha1, kind: LeaseDefinition, metadata: {name: shop}}\n"
	wants, sdls, both := folder(t, "a.yaml "+definition), folder(t, "a.yaml version: '2.0'\n"), folder(t, "a.yaml "+definition, "b.yaml "+object("a"))
	for name, tt := range map[string]struct {
		names    []string
		in       string
		want     string
		problems []string
	}{
		"an empty folder":           {names: []string{folder(t), good}, want: "a"},
		"a folder with broken ones": {names: []string{in}, want: "a b e", problems: []string{"b.yaml:1:", "e.yaml:1:1: Service odd: metadata: "}},
		"a broken file":             {names: []string{in + "/b.yaml", good}, want: "b a", problems: []string{"b.yaml:1:"}},
		"a file with a broken one":  {names: []string{in + "/e.yaml"}, want: "e", problems: []string{"Service odd"}},
		"a file with nothing":       {names: []string{in + "/c.yaml", good}, want: "a", problems: []string{"c.yaml: there are no objects of a cluster in it"}},
		"a file with no objects":    {names: []string{in + "/d.txt"}, problems: []string{"this is not a Kubernetes object", "there are no objects of a cluster"}},
		"a folder of definitions":   {names: []string{wants}, want: "shop", problems: []string{wants + ": there are no objects of a cluster in it"}},
		"a folder of SDLs":          {names: []string{sdls, good}, want: "a", problems: []string{sdls + ": there are no objects of a cluster in it"}},
		"a folder of both":          {names: []string{both}, want: "shop a"},
		"an empty pipe":             {names: []string{"-"}, problems: []string{"-: there are no objects of a cluster in it"}},
		"an empty list in a pipe":   {names: []string{"-"}, in: "{apiVersion: v1, kind: List, items: []}"},
		"a pipe and a file":         {names: []string{"-", good}, in: object("x"), want: "x a"},
		"an object twice":           {names: []string{good, good}, want: "a", problems: []string{"duplicate object Service /a"}},
		"a path that is not there":  {names: []string{good, in + "/none"}, want: "a", problems: []string{"none\" does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			problems, err := Ledger(t.Context(), strings.NewReader(tt.in), tt.names, limits, true, func(o *unstructured.Unstructured, again func() *unstructured.Unstructured) {
				got = append(got, o.GetName())
				if again != nil && !reflect.DeepEqual(again(), o) {
					t.Errorf("%s is another object when it is read again", o.GetName())
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(problems) != len(tt.problems) || strings.Join(got, " ") != tt.want {
				t.Fatalf("%q with %d problems, want %q:\n%v", got, len(problems), tt.want, problems)
			}
			for i, p := range problems {
				if !strings.Contains(p.Error(), tt.problems[i]) {
					t.Errorf("%v, want %q", p, tt.problems[i])
				}
			}
		})
	}
}

// A ledger that never ends is too large, and what was read before counts.
func TestEndlessLedger(t *testing.T) {
	limits := config.Default().Limits
	limits.InputSize = 1 << 16
	count := 0
	problems, err := Ledger(t.Context(), endless("{apiVersion: v1, kind: Service, metadata: {name: a}}\n---\n"), []string{"-"}, limits, false,
		func(*unstructured.Unstructured, func() *unstructured.Unstructured) { count++ })
	if err != nil || len(problems) != 1 || !strings.Contains(problems.Error(), "larger than 64Ki") || count == 0 {
		t.Errorf("%d objects, %v, %v", count, problems, err)
	}
}

// endless is a text again and again.
type endless string

func (e endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}
