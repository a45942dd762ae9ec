package document

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// odd are texts that JSON may have as they are, and YAML only escaped.
var odd = []string{"a\u0085b", "a\x7fb", "a\u0080\u009fb", "a\u2028b\ufeff\ufffe", "😀", "a\n\u0085\n b\x1b", `\/ "`, "no", "1e3", "", "#"}

// What is written is read as it was, as YAML and as the JSON of other writers.
func TestMarshalKeepsEveryCharacter(t *testing.T) {
	for _, text := range odd {
		value := map[string]any{text: []any{text}}
		written, err := Marshal(value)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		asJSON, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range [][]byte{written, asJSON} {
			var got, again map[string]any
			if err := Unmarshal(from, &got); err != nil {
				t.Errorf("%q from %q: %v", text, from, err)
			}
			converted, err := JSON(from)
			if err == nil {
				err = json.Unmarshal(converted, &again)
			}
			if err != nil {
				t.Errorf("%q from %q: %v", text, from, err)
			}
			if diff := cmp.Diff([]map[string]any{value, value}, []map[string]any{got, again}); diff != "" {
				t.Errorf("%q from %q (-want +got):\n%s", text, from, diff)
			}
		}
	}
}

func TestUnmarshalRefusesUnknownKeys(t *testing.T) {
	for _, text := range []string{`{"a": 1, "b": 2}`, "a: 1\nb: 2\n", "a: 1\na: 1\n"} {
		var into struct {
			A int `json:"a"`
		}
		if err := Unmarshal([]byte(text), &into); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
}
