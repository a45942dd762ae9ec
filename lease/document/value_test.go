package document

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

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
				runtime.DeepCopyJSONValue(slow) // panics where Kubernetes' objects would
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
