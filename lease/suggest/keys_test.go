package suggest_test

import (
	"fmt"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

func TestKeysOfAMapAreSuggestedLikeNames(t *testing.T) {
	keys := map[string]int{"web": 1, "wed": 2, "database": 3}
	many := map[string]int{"web": 1}
	for i := range 64 {
		many[fmt.Sprint("service-", i)] = i
	}
	for name, c := range map[string]struct {
		keys       map[string]int
		name, want string
	}{
		"the closest":                     {keys, "databse", "database"},
		"the first of two that are close": {keys, "wec", "web"},
		"none is close":                   {keys, "queue", ""},
		"too many keys":                   {many, "weB", ""},
		"no keys":                         {nil, "web", ""},
	} {
		if got := suggest.NearestKey(c.name, c.keys); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		want := ""
		if c.want != "" {
			want = fmt.Sprintf("; did you mean %q?", c.want)
		}
		if got := suggest.ForKey(c.name, c.keys); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
