package documents

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// sortByPlace sorts problems by line within each file, and keeps the order of files.
func sortByPlace(problems lease.Problems) lease.Problems {
	rank := map[string]int{}
	for _, p := range problems {
		if _, known := rank[p.At.File]; !known {
			rank[p.At.File] = len(rank)
		}
	}
	slices.SortStableFunc(problems, func(a, b lease.Problem) int {
		return cmp.Or(cmp.Compare(rank[a.At.File], rank[b.At.File]), cmp.Compare(a.At.Line, b.At.Line),
			cmp.Compare(a.At.Column, b.At.Column))
	})
	return problems
}

// joinProblems adds the problems found while rendering to the error of reading.
func joinProblems(err error, problems lease.Problems) error {
	if len(problems) == 0 {
		return err
	}
	if read, ok := err.(lease.Problems); ok || err == nil { //nolint:errorlint // Input.Read never wraps them
		return sortByPlace(append(read, problems...))
	}
	return fmt.Errorf("%w (and %s in the input)", err, lease.Count(len(problems), "error"))
}
