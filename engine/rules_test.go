package engine_test

import (
	"strings"
	"testing"
)

// Each rule that the engine relies on is needed: histories, or the orders of two commands, notice soon if the API server, or who sends
// the requests, breaks it.
func TestEachRuleIsNeeded(t *testing.T) {
	for _, rule := range []string{
		"writes are pinned", "one command works for a group", "claims are read before objects",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			for seed := range *histories {
				if h := live(seed, rule); len(h.verdicts) > 0 {
					t.Logf("history %d: %s", seed, short(h.verdicts[0]))
					return
				}
			}
			t.Errorf("%d histories go well without it", *histories)
		})
	}
	const rule = "who succeeds a crashed command knows it"
	for path := (&choices{}); path != nil; path = path.next() {
		h := meet(path, rule, "A/1 a.example.com", "A/1 release", "A/1 a.example.com b.example.com")
		if len(h.verdicts) > 0 {
			t.Logf("%s: %s", rule, h.verdicts[0])
			return
		}
	}
	t.Errorf("each order goes well, though nobody knows it: %s", rule)
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
				s := &story{ledger: newLedger(), commands: map[string]*command{}}
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
