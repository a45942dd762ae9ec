package engine_test

import (
	"strings"
	"testing"
)

// Each rule that the engine relies on is needed: histories notice soon if who sends the requests breaks it.
func TestClaimsAreReadBeforeObjects(t *testing.T) {
	t.Parallel()
	const rule, most = "claims are read before objects", 3000
	for seed := range int64(most) {
		if h := live(seed, rule); len(h.verdicts) > 0 {
			t.Logf("history %d: %s", seed, short(h.verdicts[0]))
			return
		}
	}
	t.Errorf("%d histories go well without it", most)
}

// So do commands that meet.
func TestEachRuleIsNeededWhereCommandsMeet(t *testing.T) {
	for rule, name := range map[string]string{
		"writes are pinned":                              "two owners want one host",
		"one command works for a group":                  "a release, and its own lease anew",
		"who succeeds a crashed command knows it":        "a release, and its own lease anew",
		"who was taken for crashed writes nothing":       "a release, and its own lease anew",
		"a turn begins with a look at the claims":        "a release, and its own lease anew",
		"who is at work is listed with the claims":       "a lease is applied twice",
		"applies are pinned":                             "a lease is applied twice",
		"definitions are pinned":                         "a host goes and comes",
		"marks are kept":                                 "a host and the wildcard above it",
		"a wildcard is read after the host is claimed":   "a host and the wildcard above it",
		"hosts are listed after the wildcard is claimed": "a host and the wildcard above it",
		"notes are kept":                                 "two deployments of an owner",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			h := situation(situations[name], rule)
			e := h.ledger.explored
			if way := e.explore(h, nil); way == nil {
				t.Errorf("all %d moments go well without it", len(e.seen))
			}
			t.Logf("moment %d: %s", len(e.seen), short(strings.Join(e.wrong, ", ")))
		})
	}
}

// So are those on which applies rely. A request of a crashed command arrives when its successor has ended: what that relies on stays, and
// would not if the rule were broken.
func TestEachRuleOfAppliesIsNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		rule, first, held, then, second string
		// lost is a line of what there is in the end.
		lost string
	}{
		"a delete is pinned": {
			"deletes are pinned", "apply a.example.com prune", "delete object", "", "apply a.example.com b.example.com",
			"ingress A-1/b.example.com of A/1, touched by second",
		},
		"so it has to find another version": {
			"who succeeds a crashed command knows it", "apply a.example.com prune", "delete object", "", "apply a.example.com b.example.com",
			"ingress A-1/b.example.com of A/1, touched by second",
		},
		"an apply is pinned": {
			"applies are pinned", "apply a.example.com b.example.com timeout", "apply", "", "apply a.example.com b.example.com",
			"providerhost lease/a.example.com of A/1, touched by second",
		},
		"the delete of a definition is pinned": {
			"definitions are pinned", "release", "forget definition", "silence a.example.com", "apply a.example.com b.example.com",
			"definition of A/1: a.example.com b.example.com, kept by second",
		},
		"so that has to find another version too": {
			"who succeeds a crashed command knows it", "release", "forget definition", "silence a.example.com", "apply a.example.com b.example.com",
			"definition of A/1: a.example.com b.example.com, kept by second",
		},
		"the write of a definition is pinned": {
			"definitions are pinned", "apply a.example.com", "keep definition", "", "apply a.example.com b.example.com timeout",
			"definition of A/1: a.example.com with a timeout b.example.com with a timeout, kept by second",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tell := func(breach string) string {
				s := newStory()
				s.ledger.breach = breach
				for _, line := range []string{
					"given old A/1 apply a.example.com b.example.com", "command first A/1 " + c.first, "until first " + c.held, "hold first", "crash first",
					c.then, "command second A/1 " + c.second, "finish second", "arrive first", "ledger", "objects",
				} {
					if words := strings.Fields(line); len(words) > 0 {
						s.obey(words)
					}
				}
				return short(s.out.String())
			}
			if said := tell(""); !strings.Contains(said, "\n"+c.lost+"\n") {
				t.Errorf("%s is lost:\n%s", c.lost, said)
			}
			if said := tell(c.rule); strings.Contains(said, "\n"+c.lost+"\n") {
				t.Errorf("%s is there, although nobody keeps it that %s:\n%s", c.lost, c.rule, said)
			}
		})
	}
}
