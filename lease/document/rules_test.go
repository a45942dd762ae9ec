package document

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/cockroachdb/datadriven"
)

// How mappings are read, key by key: testdata/mappings.txt. The mapping is the one under v, or the document.
//
//	any | mapping | strict | spelled   known=(KEY, …) [in-strict] [require=KEY]
func TestMappings(t *testing.T) {
	datadriven.RunTest(t, "testdata/mappings.txt", func(t *testing.T, d *datadriven.TestData) string {
		doc := one(t, d.Input)
		doc.Strict = d.HasArg("in-strict")
		c := doc.Root()
		if c.Has("v") {
			c = c.AnyMapping().Get("v")
		}
		known := []string{"port", "maxSize", "name"}
		var m Mapping
		switch d.Cmd {
		case "any":
			m = c.AnyMapping()
		case "mapping":
			m = c.Mapping(known)
		case "strict":
			m = c.StrictMapping(known)
		case "spelled":
			m = c.SpelledMapping(known)
		}
		if d.HasArg("require") {
			var key string
			d.ScanArgs(t, "require", &key)
			m.Require(key)
		}
		var out strings.Builder
		if !m.Present() {
			fmt.Fprintln(&out, "no mapping")
		}
		for key, value := range m.Entries() {
			fmt.Fprintf(&out, "%s = %v\n", key.Key(), value.Value())
			if got := m.Get(key.Key()).Value(); fmt.Sprint(got) != fmt.Sprint(value.Value()) {
				t.Errorf("%s is %v, and %v by its name", key.Key(), value.Value(), got)
			}
		}
		for _, p := range doc.Problems {
			what := "error"
			if p.Warning {
				what = "warning"
			}
			fmt.Fprintf(&out, "%s: %s\n", what, p.Error())
		}
		return out.String()
	})
}

// How a stream is cut into documents, and what is said of those that are no YAML: testdata/documents.txt. "stream"
// has a stream as Go's text, a line each; its documents stand behind it, each at the line where its content begins; "json"
// writes what is read as JSON.
func TestStreams(t *testing.T) {
	datadriven.RunTest(t, "testdata/documents.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			text, err := strconv.Unquote(`"` + strings.ReplaceAll(line, `"`, `\"`) + `"`)
			if err != nil {
				t.Fatal(line, err)
			}
			fmt.Fprintf(&out, "%s\n", line)
			read := func(doc *Document) {
				value := doc.Root().Value()
				if asJSON, err := json.Marshal(value); d.Cmd == "json" && err == nil {
					value = string(asJSON)
				}
				fmt.Fprintf(&out, "    %d: %v\n", doc.Root().At().Line, value)
				for _, p := range doc.Problems {
					fmt.Fprintf(&out, "    %s\n", p.Error())
				}
			}
			if d.Cmd == "object" {
				read(Parse([]byte(text), "manifests/a"))
				continue
			}
			for doc, err := range Read(strings.NewReader(text), "f") {
				if err != nil {
					fmt.Fprintf(&out, "    %v\n", err)
					continue
				}
				read(doc)
			}
		}
		var safe strings.Builder // what a terminal obeys is not in the file
		for _, r := range out.String() {
			if r == '\n' || unicode.IsPrint(r) {
				safe.WriteRune(r)
			} else {
				fmt.Fprintf(&safe, `\u%04x`, r)
			}
		}
		return safe.String()
	})
}

func TestABrokenReaderEndsTheStream(t *testing.T) {
	read, failed := 0, error(nil)
	for _, err := range Read(&endless{text: "a: 1\n---\n", n: 3}, "f") {
		if failed = err; err == nil {
			read++
		}
	}
	if read != 3 || failed == nil || failed.Error() != "end" {
		t.Errorf("%d documents, error %v", read, failed)
	}
}

// A reader that is satisfied with what it has seen is given no more.
func TestReadingStopsWhereTheReaderStops(t *testing.T) {
	read := 0
	for _, err := range Read(strings.NewReader("a: 1\n---\nb: 1\n---\nc: ]\n"), "f") {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 2 {
			break
		}
	}
	for item := range one(t, "[1, 2, 3]").Root().List() {
		if read++; item.index == 1 {
			break
		}
	}
	for key := range one(t, "{a: 1, b: 2, c: 3}").Root().AnyMapping().Entries() {
		if read++; key.Key() == "b" {
			break
		}
	}
	if read != 6 {
		t.Errorf("%d values were read", read)
	}
}

func TestOfManyProblemsTheFirstAreTold(t *testing.T) {
	for n, want := range map[int]int{maxProblems - 1: maxProblems - 1, maxProblems: maxProblems, maxProblems + 1: maxProblems + 1, maxProblems + 10: maxProblems + 1} {
		doc := one(t, "["+strings.Repeat("a,", n)+"]")
		for item := range doc.Root().List() {
			item.Uint(1, 2, "a number")
		}
		last := doc.Problems[len(doc.Problems)-1].Message
		if told := strings.HasPrefix(last, "the document has more than 10000 problems"); len(doc.Problems) != want || told != (n > maxProblems) {
			t.Errorf("%d problems: %d are told, the last is %s", n, len(doc.Problems), last)
		}
	}
}

// What is looked at before a mapping is read says nothing of it.
func TestPeek(t *testing.T) {
	doc := one(t, "{kind: A, version: 2, none: ~, list: [a], spec: {}}")
	for key, want := range map[string]string{"kind": "A", "version": "2", "none": "", "list": "", "spec": "", "other": ""} {
		if got := doc.Root().Peek(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
		if got := doc.Root().Has(key); got != (key != "other") {
			t.Errorf("it has %s: %v", key, got)
		}
	}
	for _, text := range []string{"[kind]", "kind", "80"} {
		if c := one(t, text).Root(); c.Has("kind") || c.Peek("kind") != "" {
			t.Errorf("%s has a kind", text)
		}
	}
	var none Cursor
	if none.IsList() || none.IsMapping() || none.IsScalar() || !none.IsNull() || none.Len() != 0 || none.Raw() != "" {
		t.Error("a value that is not there is of a kind")
	}
	if len(doc.Problems) > 0 {
		t.Error(doc.Problems)
	}
}
