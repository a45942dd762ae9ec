package document

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
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

func TestMergeAndAlias(t *testing.T) {
	doc := one(t, "base: &b {x: 1, y: 2}\nmore: &m {y: 3, z: 4}\nuse:\n  <<: [*b, *m]\n  x: 9\nlist: [*b]\n")
	use := doc.Root().AnyMapping().Get("use").Mapping([]string{"x", "y", "z"})
	for key, want := range map[string]uint64{"x": 9, "y": 2, "z": 4} {
		if n, _ := use.Get(key).Uint(0, 10, "a number"); n != want {
			t.Errorf("%s is %d, want %d", key, n, want)
		}
	}
	if len(doc.Problems) > 0 {
		t.Error(doc.Problems)
	}
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

func TestScalars(t *testing.T) {
	for text, want := range map[string]string{
		"0x50": "", "8_080": "", "8.08e3": "", "70000": "f:1:4: v: 70000 is not a port (1 to 65535)",
		"-1": "f:1:4: v: -1 is not a port (1 to 65535)", "80.5": "f:1:4: v: 80.5 is not a port (1 to 65535)",
		`"80"`: `f:1:4: v: "80" is a text, not a number; write 80`, "web": `f:1:4: v: "web" is not a port (1 to 65535)`,
		"[80]": "f:1:4: v: a list is not a port (1 to 65535)", "true": "f:1:4: v: true is not a port (1 to 65535)",
	} {
		doc := one(t, "v: "+text+"\n")
		doc.Root().AnyMapping().Get("v").Uint(1, 65535, "a port")
		if got := doc.Problems.Error(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"yes": "", "true": "", `"true"`: `f:1:4: v: expected true or false, found the text "true"`} {
		doc := one(t, "v: "+text+"\n")
		doc.Root().AnyMapping().Get("v").Bool()
		if got := doc.Problems.Error(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// haveMistakes checks that the problems of each text begin as they should.
func haveMistakes(t *testing.T, texts map[string]string) {
	t.Helper()
	for text, want := range texts {
		got := ""
		for doc, err := range Read(strings.NewReader(text), "f") {
			if err != nil {
				t.Fatal(err)
			}
			got += doc.Problems.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	haveMistakes(t, map[string]string{
		"a: 1\nb: [\n":        "f:2:1: not valid YAML",
		"a: \x00\n":           "f:1:4: not valid YAML: control characters are not allowed",
		"a: \xff\xfe\n":       "f:1:4: not valid YAML",
		"a: *x\n":             "f:1:4: not valid YAML: an alias without an anchor; quote a text that begins with *",
		"x: 1\n---\na:\tb: c": "f:3:",
		// The parser's lines.
		"a: 1\n- b\n":                     "f:2:1: not valid YAML: did not find expected key",
		"a: }\n":                          "f:1:1: not valid YAML: did not find expected node content",
		"x: 1\na: }\n":                    "f:2:1: not valid YAML: did not find expected node content",
		"a:\n  - b\n c: d\n":              "f:3:2: not valid YAML: did not find expected key",
		"- a\nb: c\n":                     "f:2:1: not valid YAML: did not find expected '-' indicator",
		"x: 1\ny: 2\na: {b: c, d\ne: f\n": "f:3:1: not valid YAML: did not find expected ',' or '}'",
		"x: 1\n\na: [1\nb: 2\n":           "f:3:1: not valid YAML: did not find expected ',' or ']'",
		"x: 1\n---\ny: 1\nz: ]\n":         "f:4:1: not valid YAML: did not find expected node content",
		"x: 1\ny: 2\n---\na: &b\nc: *d\n": "f:5:4: not valid YAML: an alias without an anchor",
		// The scanner's.
		"a: 1\n b: 2\n":            "f:2:2: not valid YAML: mapping values are not allowed in this context",
		"x: 1\na: @b\ny: 1\n":      "f:2:1: not valid YAML: found character that cannot start any token",
		"x: 1\na: &\ny: 1\n":       "f:2:1: not valid YAML: did not find expected alphabetic or numeric character",
		"a: 1\nb: 'x\nc: 1\n\n":    "f:2:1: not valid YAML: found unexpected end of stream",
		"a:\n\tb: 1\n":             "f:2:2: not valid YAML: found character that cannot start any token",
		"x: 1\ny: 2\n---\na: b: c": "f:4:1: not valid YAML: mapping values are not allowed in this context",
	})
}

// TestSplit counts documents and their first lines.
func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"": "[]", "---\n---\n": "[]", "a: 1": "[1]", "a: 1\n---\nb: 2\n---": "[1 3]", "# x\n%YAML 1.1\n---\na: 1\n": "[4]",
		"--- {a: 1}\n--- {b: 1}\n": "[1 2]", "a: |\n  ---\n  x\n---\r\nb: 1\r\n": "[1 5]", "a: 1\n...\n---\nb: 2\n": "[1 4]",
		"a: 1\n---b: 2\n": "[1]",
	} {
		lines := []int{}
		for doc, err := range Read(strings.NewReader(text), "f") {
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, doc.Root().At().Line)
		}
		if got := fmt.Sprint(lines); got != want {
			t.Errorf("%q: documents at %s, want %s", text, got, want)
		}
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
