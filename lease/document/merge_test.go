package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

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
