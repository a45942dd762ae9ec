package document

import (
	"strings"
	"testing"
)

// What stands below these keys is in no message, whatever is wrong with it; the place says which it is.
func TestSecretsAreNotRepeated(t *testing.T) {
	for text, want := range map[string]string{
		"password: !!int hunter2":              "f:1:11: a value of \"password\" is not what its tag !!int says",
		"env: [!!bool hunter2]":                "f:1:7: a value of \"env\" is not what its tag !!bool says",
		"credentials: {host: !!float hunter2}": "f:1:21: a value of \"credentials\" is not what its tag !!float says",
		"credentials: [{a: !!int hunter2}]":    "f:1:19: a value of \"credentials\" is not what its tag !!int says",
		"env: !!int [hunter2]":                 "f:1:6: the tag !!int is for a whole number",
		"env: hunter2":                         "f:1:6: env: expected a list, found a text",
		"env: 7":                               "f:1:6: env: expected a list, found a text",
		"env: {A: hunter2}":                    "f:1:6: env: expected a list, found a mapping",
		"password: *hunter2":                   "f:1:11: not valid YAML: an alias without an anchor; quote a text that begins with *",
		"other: hunter3":                       `f:1:8: other: expected a list, found the text "hunter3"`,
		"other: !!int hunter3":                 `f:1:8: "hunter3" is tagged !!int and is not a whole number`,
	} {
		doc := one(t, text)
		if !doc.Problems.Failed() {
			for _, value := range doc.Root().AnyMapping().Entries() {
				for range value.List() {
					continue
				}
			}
		}
		if got := doc.Problems.Error(); got != want || strings.Contains(got, "hunter2") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
