package input

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The problems of a stream are kept up to a number. An error after many warnings is still one.
func TestProblemsAreKeptUpToANumber(t *testing.T) {
	warning, failed := lease.Problem{Message: "w", Warning: true}, lease.Problem{Message: "e"}
	for name, tt := range map[string]struct {
		batches [][]lease.Problem
		kept    int
		failed  bool
	}{
		"as many as are kept":            {[][]lease.Problem{slices.Repeat([]lease.Problem{warning}, maxProblems)}, maxProblems, false},
		"more warnings":                  {[][]lease.Problem{slices.Repeat([]lease.Problem{warning}, maxProblems+1), {warning}}, maxProblems + 1, false},
		"an error among those left out":  {[][]lease.Problem{slices.Repeat([]lease.Problem{warning}, maxProblems), {warning, failed}}, maxProblems + 1, true},
		"an error long after the others": {[][]lease.Problem{slices.Repeat([]lease.Problem{warning}, maxProblems+1), {warning}, {failed}, {warning}}, maxProblems + 1, true},
	} {
		var kept lease.Problems
		for _, found := range tt.batches {
			kept = keep(kept, found, "f")
		}
		if len(kept) != tt.kept || kept.Failed() != tt.failed {
			t.Errorf("%s: %d problems, failed %t", name, len(kept), kept.Failed())
		}
	}
}
