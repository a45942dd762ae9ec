package document

import (
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

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
