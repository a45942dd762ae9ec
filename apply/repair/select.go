package repair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
)

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

// selected returns the named problems and those of what is named, or all if nothing is named, in the selected namespace. It is an error
// to name what does not exist.
func (r *repair) selected(problems []state.Problem) ([]state.Problem, error) {
	chosen := r.chosen(problems)
	for _, g := range r.asked.Leases {
		if len(r.snapshot.Held[g]) == 0 && len(diagnose.OfLeases(chosen, nil, []lease.Group{g})) == 0 {
			return nil, fmt.Errorf("lease/%s holds nothing, and nothing was changed; is its name right? \"kubectl akash-net leases\" lists the leases", g)
		}
	}
	for _, name := range r.asked.Things {
		held := func(c *state.Claim) bool { return c.Thing == name }
		if len(diagnose.OfThing(chosen, name)) == 0 && !slices.ContainsFunc(r.snapshot.List(), held) {
			return nil, fmt.Errorf("nobody holds %s, it has no problem, and nothing was changed; is its name right? \"kubectl akash-net state\" lists what is held", name)
		}
	}
	unknown := slices.DeleteFunc(slices.Clone(r.asked.Problems), func(name string) bool {
		return slices.ContainsFunc(chosen, func(p state.Problem) bool { return p.Name() == name })
	})
	if len(unknown) > 0 {
		return nil, &NoProblemError{Names: unknown}
	}
	return chosen, nil
}

// chosen returns the problems that the command is to work on, of those that exist now.
func (r *repair) chosen(problems []state.Problem) []state.Problem {
	if r.asked.Namespace != "" {
		problems = diagnose.InNamespace(problems, r.snapshot.List(), r.asked.Namespace)
	}
	if len(r.asked.Problems) == 0 && len(r.asked.Leases) == 0 && len(r.asked.Things) == 0 {
		return problems
	}
	of := diagnose.OfLeases(problems, r.snapshot.List(), r.asked.Leases)
	for _, name := range r.asked.Things {
		of = append(of, diagnose.OfThing(problems, name)...)
	}
	return slices.DeleteFunc(problems, func(p state.Problem) bool {
		return !slices.Contains(r.asked.Problems, p.Name()) && !slices.ContainsFunc(of, p.Same)
	})
}
