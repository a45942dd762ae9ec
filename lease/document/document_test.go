package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kruntime "k8s.io/apimachinery/pkg/runtime"
)

func one(t *testing.T, text string) *Document {
	t.Helper()
	for doc, err := range Read(strings.NewReader(text), "f") {
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	t.Fatal("no document")
	return nil
}

// TestAliasesCannotRunAway reads documents whose aliases lead to themselves or multiply.
func TestAliasesCannotRunAway(t *testing.T) {
	bomb := "a0: &a0 [x]\n"
	for i := 1; i < 12; i++ {
		ref := fmt.Sprintf("*a%d,", i-1)
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(ref, 20))
	}
	var walk func(c Cursor)
	walk = func(c Cursor) {
		if c.IsList() {
			for item := range c.List() {
				walk(item)
			}
		}
	}
	doc := one(t, bomb)
	walk(doc.Root().AnyMapping().Get("a11"))
	if want := "the document's aliases expand to too much"; len(doc.Problems) != 1 || doc.Problems[0].Message != want {
		t.Errorf("problems %v, want one: %s", doc.Problems, want)
	}
	// A list that is named often makes its items as often.
	doc = one(t, "a: &a ["+strings.Repeat("x,", 20_000)+"]\nl: ["+strings.Repeat("*a,", 9)+"]\n")
	walk(doc.Root().AnyMapping().Get("l"))
	if !doc.Problems.Failed() {
		t.Error("a list of 20,000 items is read nine times")
	}
	doc = one(t, "a: &a ["+strings.Repeat("x,", 20_000)+"]\nl: [*a, *a, *a]\n")
	walk(doc.Root().AnyMapping().Get("l"))
	if doc.Problems.Failed() {
		t.Errorf("a list that is named three times: %v", doc.Problems)
	}
	doc = one(t, "a: &a {<<: *a, b: 1}\nl: &l [*l]\n")
	m := doc.Root().AnyMapping()
	m.Get("a").AnyMapping()
	walk(m.Get("l"))
	if !doc.Problems.Failed() {
		t.Error("a list within itself is read to its end")
	}
}

// endless yields the same document n times.
type endless struct {
	text string
	n    int
	rest string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" && e.n > 0 {
		e.n--
		e.rest = e.text
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	if n == 0 {
		return 0, fmt.Errorf("end")
	}
	return n, nil
}

func TestStreamHoldsOneDocument(t *testing.T) {
	text := "---\nkey: " + strings.Repeat("x", 20_000) + "\n"
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for doc, err := range Read(&endless{text: text, n: 1000}, "f") {
		if err != nil {
			break
		}
		n++
		if n == 999 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			runtime.KeepAlive(doc)
		}
	}
	if n < 999 {
		t.Fatalf("%d documents", n)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
		t.Errorf("after 20 MB of documents %d bytes are held", grown)
	}
}

func TestValue(t *testing.T) {
	got := one(t, `base: &b {x: 1}
use: {<<: *b, y: [*b, ~, "1", 1.5, 0x10, 1_000, true]}
at: 2026-01-01T00:00:01Z
big: 99999999999999999999
odd: .nan
1: key
`).Root().Value()
	base := map[string]any{"x": int64(1)}
	want := map[string]any{
		"base": base, "use": map[string]any{"x": int64(1), "y": []any{base, nil, "1", 1.5, int64(16), int64(1000), true}},
		"at": "2026-01-01T00:00:01Z", "big": 1e20, "odd": ".nan", "1": "key",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	doc := one(t, "a: 1\nb: {c: 1, c: 2}\n")
	doc.Root().Value()
	if want := `f:2:11: b.c: key "c" is given twice (also in line 2)`; doc.Problems.Error() != want {
		t.Errorf("problems %q, want %q", doc.Problems.Error(), want)
	}
}

func TestJSON(t *testing.T) {
	for text, want := range map[string]any{
		`{"a": 1, "b": [1.5, "x"]}`: map[string]any{"a": int64(1), "b": []any{1.5, "x"}},
		"{a: 1}":                    nil, `[1]`: nil, `{"a": 1} {"b": 2}`: nil, "a: 1": nil, "": nil,
	} {
		var got any
		for doc, err := range Texts(strings.NewReader(text), "f", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if v, ok := doc.JSON(); ok {
				got = v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Whatever is read is JSON that can be written, and what is JSON reads the same both ways.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{"a: [1, 2.5, ~, x]\n", `{"a": {"b": -1}, "c": "\u00e9"}`, "a: &a {<<: *a}\n", "x: 0b1\ny: .inf\n", "? [a]\n: b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for raw, err := range Texts(strings.NewReader(text), "f", 0) {
			if err != nil {
				return
			}
			quick, isJSON := raw.JSON()
			for doc := range raw.Documents() {
				slow := doc.Root().Value()
				if doc.Problems.Failed() {
					return
				}
				kruntime.DeepCopyJSONValue(slow) // panics where Kubernetes' objects would
				if _, err := json.Marshal(slow); err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				if isJSON && !strings.ContainsAny(text, `\.eE+`) && !cmp.Equal(quick, slow) {
					t.Errorf("%q: as JSON %v, as YAML %v", text, quick, slow)
				}
			}
		}
	})
}

// A rule for texts is applied only to what ValidText passes: the other values already have an error.
func TestATextIsValidOnlyIfNoProblemIsReported(t *testing.T) {
	for yaml, want := range map[string]struct {
		text          string
		lenient, rule bool // valid in a lenient and in a strict document
	}{
		"a: x":         {"x", true, true},
		`a: "8080"`:    {"8080", true, true},
		"a: '8080'":    {"8080", true, true},
		"a: |\n  8080": {"8080", true, true},
		"a: 8080":      {"8080", true, false},
		"a: 1.5":       {"1.5", true, false},
		"a: true":      {"true", true, false},
		"a: !!str 1":   {"1", true, true},
		"a: ''":        {"", true, true},
		"a: ~":         {"", true, true},
		"b: x":         {"", true, true},
		"a: [x]":       {"", false, false},
		"a: {x: y}":    {"", false, false},
	} {
		for _, strict := range []bool{false, true} {
			valid := want.lenient
			if strict {
				valid = want.rule
			}
			for doc, err := range Read(strings.NewReader(yaml), "f") {
				if err != nil {
					t.Fatal(err)
				}
				doc.Strict = strict
				text, ok := doc.Root().AnyMapping().Get("a").ValidText()
				if ok != valid || ok != (len(doc.Problems) == 0) || ok && text != want.text || !ok && text != "" {
					t.Errorf("%q, strict %v: %q, %v, problems %v", yaml, strict, text, ok, doc.Problems)
				}
			}
		}
	}
}

func TestReportAddsAnErrorAtTheValueUnlessItIsNil(t *testing.T) {
	for doc, err := range Read(strings.NewReader("a:\n  - x\n  - y\n"), "f") {
		if err != nil {
			t.Fatal(err)
		}
		for item := range doc.Root().AnyMapping().Get("a").List() {
			item.Report(nil)
			if item.Raw() == "y" {
				item.Report(errors.New("100% wrong"))
			}
		}
		if got := doc.Problems.Error(); got != "f:3:5: a[1]: 100% wrong" || !doc.Problems.Failed() {
			t.Errorf("problems %q", got)
		}
	}
}
