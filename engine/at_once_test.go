package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// What does not depend on each other is sent at once: a lease of many hosts takes as many decisions as one of few, but for its claims,
// which are taken one after the other.
func TestManyAtOnce(t *testing.T) {
	var hosts, paths []string
	for i := range 20 {
		hosts, paths = append(hosts, fmt.Sprintf("h%d.example.com", i)), append(paths, fmt.Sprintf("h%d.example.com/v2", i))
	}
	all := strings.Join(hosts, " ")
	for name, tt := range map[string]struct {
		before, command string
		want            []string
	}{
		"a lease is applied":   {"", "A/1 apply " + all, []string{"20 apply", "19 check"}},
		"it is released":       {"A/1 apply " + all, "A/1 release", []string{"20 delete object", "20 delete"}},
		"it gives hosts up":    {"A/1 apply " + all, "A/1 apply h0.example.com prune", []string{"19 delete object", "19 delete"}},
		"it gives paths up":    {"A/1 " + all + " " + strings.Join(paths, " "), "A/1 " + all + " prune", []string{"20 put"}},
		"hosts are taken over": {"A/1 apply " + all, "A/2 transfer " + all + " with " + all, []string{"20 apply", "20 put"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHistory(nil)
			most := map[string]int{}
			for _, text := range []string{tt.before, tt.command} {
				if text == "" {
					continue
				}
				clear(most)
				c := h.begins("c"+text[:3], strings.Fields(text))
				for c.begin(); !c.ended; {
					if _, r, _, ok := c.next(); ok {
						most[string(r.Verb)] = max(most[string(r.Verb)], c.decided.atOnce)
					}
					h.turn(c, c.answer)
				}
			}
			for _, want := range tt.want {
				var n int
				verb := strings.TrimLeft(want, "0123456789 ")
				if _, err := fmt.Sscanf(want, "%d", &n); err != nil {
					t.Fatal(err)
				}
				if most[verb] < n {
					t.Errorf("%d requests to %s at once, want %d (of %v)", most[verb], verb, n, slices.Sorted(maps.Keys(most)))
				}
			}
			if len(h.verdicts) > 0 {
				t.Error(h.verdicts)
			}
		})
	}
}
