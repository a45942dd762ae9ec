package document

import (
	"errors"
	"strings"
	"testing"
)

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
