package suggest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{"myip": "my-ip", "MY_IP": "my-ip", "other": "", "expos": "expose"} {
		if got := suggest.Nearest(name, []string{"my-ip", "expose", "port"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Among many names, or for a very long one, none is looked for: each of many misspelt names would be compared with
// each of the others.
func TestNearestIsBounded(t *testing.T) {
	names := make([]string, 0, 65)
	for i := range 64 {
		names = append(names, fmt.Sprintf("service-%d", i))
	}
	if got := suggest.Nearest("servise-7", names); got != "service-7" {
		t.Errorf("among %d names: %q", len(names), got)
	}
	if got := suggest.Nearest("servise-7", append(names, "service-64")); got != "" {
		t.Errorf("among %d names: %q", len(names)+1, got)
	}
	long := strings.Repeat("a", 64)
	if got := suggest.Nearest(long+"b", []string{long}); got != "" {
		t.Errorf("for a name of %d bytes: %q", len(long)+1, got)
	}
}

func TestWhatWasMeant(t *testing.T) {
	many := map[string]int{}
	for i := range 65 {
		many[fmt.Sprintf("name-%d", i)] = i
	}
	for _, c := range []struct{ name, candidates, want string }{
		{"prot", "port path", ""},
		{"por", "port path", "port"},
		{"MAX-SIZE", "max_size", "max_size"},
		{"abc", "abx axx", "abx"},
		{"axx", "abc", ""},
		{"", "ab", ""},
		{"", "a", "a"},
		{"kitten", "sitting kitte", "kitte"},
		{"a@@b", "A``B", ""},
		{"a[[b", "a{{b", ""},
		{strings.Repeat("a", 64), strings.Repeat("a", 63) + "b", strings.Repeat("a", 63) + "b"},
		{strings.Repeat("a", 65), strings.Repeat("a", 64), ""},
		{strings.Repeat("a", 64), strings.Repeat("a", 65), ""},
	} {
		if got := suggest.Nearest(c.name, strings.Fields(c.candidates)); got != c.want {
			t.Errorf("%q of %q is %q, want %q", c.name, c.candidates, got, c.want)
		}
	}
	if got := suggest.For("por", []string{"port"}) + suggest.For("x", []string{"port"}); got != `; did you mean "port"?` {
		t.Errorf("the suggestion is %q", got)
	}
	if got := suggest.NearestKey("name-6x", many); got != "" {
		t.Errorf("%q of %d names", got, len(many))
	}
	delete(many, "name-0")
	if got := suggest.NearestKey("name-11x", many); got != "name-1" && got != "name-11" {
		t.Errorf("%q of %d names", got, len(many))
	}
}
