package model

import (
	"strings"
	"testing"
)

// All interleavings of two runs of a lease, one of another owner and a repairer, with crashes and with runs that are
// taken for dead while they only stand still: what was reported as done stays. Without any of that nothing is left that
// nobody has reported, and no announcement.
func TestAnnouncements(t *testing.T) {
	for name, rules := range map[string]RunRules{
		"calm": {Calm: true, Writes: 7}, "two runs and another owner": {Without: []int{runR}, Writes: 6}, "two runs and a repairer": {Without: []int{runC}, Writes: 5},
		"a run, another owner and a repairer": {Without: []int{runA}, Writes: 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules.Search()
			t.Logf("%d states", r.States)
			fails(t, "a claim that was reported is gone", r.Gone)
			fails(t, "a claim is left to nobody", r.Left)
			fails(t, "an announcement is left", r.Record)
			fails(t, "a run counts as dead that is alive", r.Stopped)
			fails(t, "somebody cannot go on", r.Stuck)
		})
	}
}

// Each rule of announcements is there for a reason.
func TestBrokenAnnouncements(t *testing.T) {
	for name, test := range map[string]struct {
		rules RunRules
		found func(RunsResult) []string
	}{
		"runs do not wait for each other":              {RunRules{Calm: true, Writes: 7, NoTurn: true}, func(r RunsResult) []string { return r.Gone }},
		"the mark of a fenced run is not replaced":     {RunRules{Without: []int{runR}, Writes: 7, NoTakeOver: true}, func(r RunsResult) []string { return r.Gone }},
		"a fenced run goes on":                         {RunRules{Without: []int{runR}, Writes: 7, NoFence: true}, func(r RunsResult) []string { return r.Gone }},
		"what is given back goes unpinned":             {RunRules{Without: []int{runR}, Writes: 7, Unpinned: true}, func(r RunsResult) []string { return r.Gone }},
		"the claim is not looked at before the commit": {RunRules{Without: []int{runR}, Writes: 7, NoLook: true}, func(r RunsResult) []string { return r.Gone }},
	} {
		t.Run(name, func(t *testing.T) {
			way := test.found(test.rules.Search())
			if way == nil {
				t.Fatalf("the search of %d states does not find it", test.rules.Search().States)
			}
			t.Logf("found:\n%s", strings.Join(way, "\n"))
		})
	}
}
