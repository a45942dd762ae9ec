package document

import (
	"strings"
	"testing"
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
