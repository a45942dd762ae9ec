package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

func TestJSONIsNestedOnlySoDeep(t *testing.T) {
	for _, open := range []string{`[`, `{"a":`, `[{"a":`} {
		deep := strings.Repeat(open, 200_000) + `"\/"`
		doc := one(t, deep)
		if !doc.Problems.Failed() || doc.root != nil {
			t.Errorf("%s: problems %v", open, doc.Problems)
		}
	}
	doc := one(t, strings.Repeat("[", 9_000)+`"\/"`+strings.Repeat("]", 9_000))
	if doc.Problems.Failed() {
		t.Errorf("9,000 lists: %v", doc.Problems)
	}
}

// drawMappings draws mappings that merge those before them, inline, by an alias, or by a list of both.
func drawMappings(t *rapid.T) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, 6).Draw(t, "mappings") {
		var entries []string
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "'e f'"}), 0, 4, rapid.ID).Draw(t, "keys") {
			value := fmt.Sprintf("v%d%s", i, strings.Trim(key, "'")[:1])
			if i > 0 && rapid.IntRange(0, 3).Draw(t, "alias") == 0 {
				value = fmt.Sprintf("*m%d", rapid.IntRange(0, i-1).Draw(t, "of"))
			}
			entries = append(entries, key+": "+value)
		}
		if i > 0 && rapid.Bool().Draw(t, "merges") {
			merge := fmt.Sprintf("*m%d", rapid.IntRange(0, i-1).Draw(t, "merged"))
			switch rapid.IntRange(0, 2).Draw(t, "form") {
			case 0:
				merge = fmt.Sprintf("[%s, {b: x%d, z: y}, *m%d]", merge, i, rapid.IntRange(0, i-1).Draw(t, "also"))
			case 1:
				merge = fmt.Sprintf("{<<: %s, c: inner}", merge)
			}
			at := rapid.IntRange(0, len(entries)).Draw(t, "at")
			entries = append(entries[:at], append([]string{"<<: " + merge}, entries[at:]...)...)
		}
		fmt.Fprintf(&b, "m%d: &m%d {%s}\n", i, i, strings.Join(entries, ", "))
	}
	return b.String()
}

// A document with aliases and merges is what the YAML library makes of it: a mapping's own keys win over merged ones, an
// earlier merge over a later one.
func TestMergesAreYAMLs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := drawMappings(rt)
		var want any
		if err := yaml.Unmarshal([]byte(text), &want); err != nil {
			rt.Fatal(err, text)
		}
		doc := one(t, text)
		got := doc.Root().Value()
		if len(doc.Problems) > 0 {
			rt.Fatalf("%s: %v", text, doc.Problems)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("%s (-library +document):\n%s", text, diff)
		}
	})
}

// What stands in a document may be looked at several times, however much it is: only what aliases multiply is bounded.
func TestPlainDocumentsAreNotBounded(t *testing.T) {
	var keys strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&keys, "k%d: 1,", i)
	}
	for name, text := range map[string]string{
		"list":     "[" + strings.Repeat("a,", 50_000) + "]",
		"mappings": "[" + strings.Repeat("{},", 50_000) + "]",
		"keys":     "{" + keys.String() + "}",
		"aliases":  "[&a b, " + strings.Repeat("*a,", 50_000) + "]",
	} {
		doc := one(t, text)
		for range 4 {
			doc.Root().Value()
		}
		if len(doc.Problems) > 0 {
			t.Errorf("%s: %v", name, doc.Problems)
		}
	}
}

// Keys that Akash decodes into the same variable again: the outcomes are those of yaml.v3, which decodes into a map or struct
// that has values already.
func TestRepeatedKeys(t *testing.T) {
	repeats := Repeats{"first": FirstCounts, "value": 0, "map": 1, "struct": 2}
	known := []string{"first", "value", "map", "struct", "once"}
	for _, c := range []struct{ name, text, want, problems string }{
		{"once", "value: 1\nmap: {a: 1}", "value: 1\nmap: {a: 1}\n", ""},
		{"the last value", "value: 1\nvalue: 2", "value: 2\n", `f:2:1: value: key "value" is given twice (also in line 1); Akash takes both together`},
		{"the first value", "first: 1\nfirst: 2", "first: 1\n", `key "first" is given twice`},
		{"maps are joined", "map: {a: 1, b: 1}\nmap: {b: 2, c: 2}", "map: {a: 1, b: 2, c: 2}\n", `key "map" is given twice`},
		{"a value of a joined map is replaced", "map: {a: {x: 1}}\nmap: {a: {y: 2}}", "map: {a: {y: 2}}\n", "twice"},
		{"maps of structs are joined", "struct: {m: {a: 1}}\nstruct: {n: {b: 1}, m: {a: 2, c: 3}}", "struct: {m: {a: 2, c: 3}, n: {b: 1}}\n", "twice"},
		{"three times", "map: {a: 1}\nmap: {b: 2}\nmap: {c: 3}", "map: {a: 1, b: 2, c: 3}\n", "f:3:1: map: key \"map\""},
		{"null empties a map", "map: {a: 1}\nmap:\nmap: {b: 2}", "map: {b: 2}\n", "twice"},
		{"null leaves a struct", "struct: {m: {a: 1}}\nstruct:", "struct: {m: {a: 1}}\n", "twice"},
		{"a list is no map", "map: [1]\nmap: {a: 1}", "map: [1]\n", "twice"},
		{"within one value it stays an error", "map: {a: 1, a: 2}\nmap: {b: 1}", "map: {a: 1, a: 2, b: 1}\n", "twice"},
		{"another key stays an error", "once: 1\nonce: 2", "once: 1\n", `key "once" is given twice (also in line 1)`},
		{"an alias", "map: &a {a: 1}\nmap: *a", "map: &a {a: 1}\n", "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc := one(t, c.text)
			m := doc.Root().RepeatingMapping(known, repeats)
			out, err := yaml.String(&yaml.Node{Kind: yaml.MappingNode, Content: m.content})
			if err != nil || out != c.want {
				t.Errorf("is %q (%v), want %q", out, err, c.want)
			}
			if problems := doc.Problems.Error(); (problems == "") != (c.problems == "") || !strings.Contains(problems, c.problems) {
				t.Errorf("problems are %q, want %q", problems, c.problems)
			}
		})
	}
}

// A document that is too large ends the stream before it is held, the others are read.
func TestSize(t *testing.T) {
	const stream = "a: 1\n---\nb: 22222222222\n---\nc: 3\n"
	var read []string
	var failed error
	for text, err := range Texts(strings.NewReader(stream), "f", 16) {
		if failed = err; err == nil {
			read = append(read, text.data)
		}
	}
	if len(read) != 1 || read[0] != "a: 1\n" || failed == nil || !strings.HasPrefix(failed.Error(), "f:2:1: the document is larger than 16") {
		t.Errorf("read %q, error %v", read, failed)
	}
}

// A stream that never ends is not read to its end.
func TestEndless(t *testing.T) {
	read := 0
	endless := readerFunc(func(p []byte) (int, error) {
		n := copy(p, "a: 1\n")
		if read += n; read > 2<<20 {
			return 0, errors.New("it reads on and on")
		}
		return n, nil
	})
	for _, err := range Texts(endless, "f", 1<<20) {
		if err == nil || !strings.Contains(err.Error(), "limits.documentSize") {
			t.Errorf("error %v", err)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestLongValues(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for doc, err := range Read(strings.NewReader("port: "+long+"\n? "+long+"\n: 1\n"), "f") {
		if err != nil {
			t.Fatal(err)
		}
		m := doc.Root().StrictMapping([]string{"port"})
		m.Get("port").Uint(1, 2, "a port")
		if n := len(doc.Problems.Error()); len(doc.Problems) != 2 || n > 2000 {
			t.Errorf("%d problems of %d bytes", len(doc.Problems), n)
		}
	}
}
