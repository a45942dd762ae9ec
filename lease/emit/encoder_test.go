package emit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/emit"
)

// The same objects in each format; each line of the input is an object. `go test ./lease/emit -rewrite` writes testdata/formats.txt.
func TestFormats(t *testing.T) {
	datadriven.RunTest(t, "testdata/formats.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out bytes.Buffer
		e, err := emit.NewEncoder(&out, d.Cmd)
		if err != nil {
			return err.Error()
		}
		for line := range strings.Lines(d.Input) {
			if err := e.Encode(json.RawMessage(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}

// An encoder writes a long stream in small pieces, and the pieces do not change the stream.
func TestLongStreams(t *testing.T) {
	for _, format := range []string{emit.YAML, emit.JSON, emit.KYAML} {
		var out pieces
		e, err := emit.NewEncoder(&out, format)
		if err != nil {
			t.Fatal(err)
		}
		const n = 3000
		for i := range n {
			if err := e.Encode(map[string]any{"number": i, "text": strings.Repeat("x", 100)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if len(out.sizes) < 5 || out.largest() > 40<<10 {
			t.Errorf("%s: pieces of %v", format, out.sizes)
		}
		if got := read(t, format, out.all.String()); len(got) != n || fmt.Sprint(got[n-1]["number"]) != fmt.Sprint(n-1) {
			t.Errorf("%s: %d objects are read, the last %v", format, len(got), got[len(got)-1])
		}
	}
}

// read returns the objects in a stream.
func read(t *testing.T, format, text string) (all []map[string]any) {
	t.Helper()
	if format == emit.JSON {
		var list struct{ Items []map[string]any }
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		return list.Items
	}
	for doc := range strings.SplitSeq(strings.TrimPrefix(text, "---\n"), "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(doc), &object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

type pieces struct {
	all   bytes.Buffer
	sizes []int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	return p.all.Write(b)
}

func (p *pieces) largest() (n int) {
	for _, size := range p.sizes {
		n = max(n, size)
	}
	return n
}

// An object that cannot be encoded is an error, and no part of it is in the stream.
func TestWhatCannotBeWritten(t *testing.T) {
	for _, format := range []string{emit.YAML, emit.JSON, emit.KYAML} {
		var out bytes.Buffer
		e, err := emit.NewEncoder(&out, format)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Encode(map[string]int{"a": 1}), e.Close()); err != nil {
			t.Fatal(err)
		}
		want := out.String()
		out.Reset()
		e, _ = emit.NewEncoder(&out, format)
		if e.Encode(func() {}) == nil || e.Encode(map[string]int{"a": 1}) != nil || e.Encode(make(chan int)) == nil {
			t.Errorf("%s: a function is written", format)
		}
		if err := e.Close(); err != nil || out.String() != want {
			t.Errorf("%s: %v, %s", format, err, cmp.Diff(want, out.String()))
		}
	}
	broken, _ := emit.NewEncoder(brokenWriter{}, emit.YAML)
	if err := broken.Encode(strings.Repeat("x", 1<<20)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a writer that is closed: %v", err)
	}
	if err := emit.WriteYAML(brokenWriter{}, 1); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a writer that is closed: %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
