package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/state"
)

// Tally counts changes: those that a dry run would make, and those that a diff shows.
type Tally struct{ counts map[string]int }

// tallied are the words for actions, in the order of a tally.
var tallied = []struct {
	word    string
	actions []Action
}{
	{"claim", []Action{Claimed}}, {"transfer", []Action{Transferred}}, {"create", []Action{Created}}, {"update", []Action{Configured}},
	{"delete", []Action{Pruned, Replaced, Deleted, Released}}, {"release", nil}, {"repair", []Action{Repaired}},
	{"withheld", []Action{Withheld}}, {"kept", []Action{Kept}}, {"skipped", []Action{Skipped}}, {"unconfirmed", []Action{Unconfirmed}},
	{"refused", []Action{Failed, Refused}},
}

// claimed are the kinds of what leases hold. An object is deleted; what a lease holds is released.
var claimed = []string{string(state.Host), string(state.Wildcard), string(state.Address), string(state.Endpoint), KindOrder}

// Add counts an action on an object or a claimed thing of a kind. It ignores actions that change nothing.
func (t *Tally) Add(a Action, kind string) {
	for _, of := range tallied {
		if !slices.Contains(of.actions, a) {
			continue
		}
		if of.word == "delete" && slices.Contains(claimed, kind) {
			of.word = "release"
		}
		if t.counts == nil {
			t.counts = map[string]int{}
		}
		t.counts[of.word]++
	}
}

// String returns the counts, as "1 claim, 3 create, 2 update, 1 delete"; "" if nothing was counted.
func (t *Tally) String() string {
	var out []string
	for _, of := range tallied {
		if n := t.counts[of.word]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, of.word))
		}
	}
	return strings.Join(out, ", ")
}
