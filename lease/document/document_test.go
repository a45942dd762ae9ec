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
