package model

import (
	"fmt"
	"slices"
)

// Search walks through all moments that the runs can reach.
func (rules RunRules) Search() (result RunsResult) {
	var start runsMoment
	for _, n := range rules.Without {
		start.runs[n].step = runDead
	}
	from := map[runsMoment]runsMoment{start: start}
	note := func(found *[]string, bad bool, s runsMoment) {
		if !bad || *found != nil {
			return
		}
		for s != start {
			*found = append([]string{s.describe()}, *found...)
			s = from[s]
		}
	}
	for todo := []runsMoment{start}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		ended := true
		for _, r := range s.runs {
			ended = ended && r.step >= runWon
		}
		for owner, won := range s.won {
			note(&result.Gone, won && int(s.claim.owner) != owner, s)
		}
		if ended && rules.Calm {
			note(&result.Left, s.claim.owner > 0 && !s.won[s.claim.owner], s)
			note(&result.Stopped, slices.ContainsFunc(s.runs[:], func(r atRun) bool { return r.step == runStopped }), s)
			note(&result.Record, s.records != [allRuns]record{}, s)
		}
		if result.Gone != nil {
			break // it is broken: there is no need to look for more
		}
		next := rules.next(s)
		note(&result.Stuck, len(next) == 0 && !ended, s)
		for _, to := range next {
			if _, known := from[to]; !known && to.version <= rules.Writes {
				from[to] = s
				todo = append(todo, to)
			}
		}
	}
	result.States = len(from)
	return result
}

// describe is a moment in words, for the way to a bad one.
func (s *runsMoment) describe() string {
	steps := [...]string{
		"start", "announce", "list", "turn", "fence", "await", "withdraw", "decide", "foreign", "take", "work", "look", "bury", "commit",
		"fail", "undo", "give back", "close", "won", "lost", "stopped", "dead",
	}
	text := fmt.Sprintf("claim of %d, mark %d; ", s.claim.owner, s.claim.mark)
	for n, r := range s.runs {
		text += fmt.Sprintf("%s: %s (%s) ", runNames[n], steps[r.step], [...]string{"", "active", "undoing", "fenced"}[s.records[n].phase])
	}
	return text
}
