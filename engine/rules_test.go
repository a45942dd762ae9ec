package engine_test

import "testing"

// Each rule that the engine relies on is needed: histories notice soon if the API server, or who sends the requests, breaks it.
func TestEachRuleIsNeeded(t *testing.T) {
	for _, rule := range []string{
		"writes are pinned", "one command works for a group", "claims are read before objects",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			for seed := range *histories {
				if h := live(seed, rule); len(h.verdicts) > 0 {
					t.Logf("history %d: %s", seed, h.verdicts[0])
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
