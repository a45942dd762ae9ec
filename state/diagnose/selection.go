package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Selection says which problems somebody means: those with these names, and those of these deployment groups, hosts and addresses, or all if
// none of these is named; with a namespace only those of the leases in it.
type Selection struct {
	Problems  []string
	Leases    []lease.Group
	Things    []string
	Namespace string
}

// Of returns the problems that are meant.
func (s Selection) Of(problems []state.Problem, claims []*state.Claim) []state.Problem {
	if s.Namespace != "" {
		problems = InNamespace(problems, claims, s.Namespace)
	}
	if len(s.Problems) == 0 && len(s.Leases) == 0 && len(s.Things) == 0 {
		return problems
	}
	of := OfLeases(problems, claims, s.Leases)
	for _, name := range s.Things {
		of = append(of, OfThing(problems, name)...)
	}
	return slices.DeleteFunc(problems, func(p state.Problem) bool {
		return !slices.Contains(s.Problems, p.Name()) && !slices.ContainsFunc(of, p.Same)
	})
}

// Check returns an error if something is named that does not exist; problems are those that are meant.
func (s Selection) Check(problems []state.Problem, claims []*state.Claim) error {
	for _, g := range s.Leases {
		holds := func(c *state.Claim) bool { return len(c.Entries(g)) > 0 }
		if !slices.ContainsFunc(claims, holds) && len(OfLeases(problems, nil, []lease.Group{g})) == 0 {
			return fmt.Errorf("lease/%s holds nothing, and nothing was changed; is its name right? \"kubectl akash-net leases\" lists the leases", g)
		}
	}
	for _, name := range s.Things {
		held := func(c *state.Claim) bool { return c.Thing == name }
		if len(OfThing(problems, name)) == 0 && !slices.ContainsFunc(claims, held) {
			return fmt.Errorf("nobody holds %s, it has no problem, and nothing was changed; is its name right? \"kubectl akash-net state\" lists what is held", name)
		}
	}
	unknown := slices.DeleteFunc(slices.Clone(s.Problems), func(name string) bool {
		return slices.ContainsFunc(problems, func(p state.Problem) bool { return p.Name() == name })
	})
	if len(unknown) > 0 {
		return &NoProblemError{Names: unknown}
	}
	return nil
}

// NoProblemError reports that named problems do not exist.
type NoProblemError struct{ Names []string }

func (e *NoProblemError) Error() string {
	verb := "is no problem"
	if len(e.Names) > 1 {
		verb = "are no problems"
	}
	text := fmt.Sprintf("%s %s of this cluster now, and nothing was changed; \"kubectl akash-net repair --dry-run\" lists those that there are",
		strings.Join(e.Names, ", "), verb)
	if slices.ContainsFunc(e.Names, func(name string) bool { return strings.HasPrefix(name, state.Drift+"/") }) {
		text += "; fields that somebody has set are taken back with: kubectl akash-net apply -f FILE --force-conflicts"
	}
	return text
}
