package soak_test

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// report are the figures of a soak.
type report struct {
	*soak
	took time.Duration
	// end is what was there when the work was over.
	end *audit
	// shown are the problems before repair, left those that it leaves whichever definitions it is
	// given; released is how many leases were released for them.
	shown, left []problem
	released    int
	// asked is how many live routes ended as commands asked for, by verb.
	asked map[string]int
	// beside is what happened to Akash's operators.
	beside string
}

// outcomes are how a command may end: held is exit code 4, problems what `state --problems` and `repair` say with exit code 1.
var outcomes = []string{"done", "held", "problems", "timeout", "failed", "interrupted", "killed"}

// write prints the figures, and writes them to the file that SOAK_RESULTS names.
func (r *report) write(t *testing.T) {
	text := r.markdown()
	t.Log("\n" + text)
	for said, n := range r.failures {
		t.Logf("%d times: %s", n, said)
	}
	if path := os.Getenv("SOAK_RESULTS"); path != "" && !t.Failed() {
		if r.operated {
			path = strings.TrimSuffix(path, ".md") + "-operators.md"
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

func (r *report) markdown() string {
	var table strings.Builder
	total, all := map[string]int{}, 0
	for _, verb := range slices.Sorted(maps.Keys(r.outcomes)) {
		fmt.Fprintf(&table, "| %s |", verb)
		for _, o := range outcomes {
			n := r.outcomes[verb][o]
			total[o], all = total[o]+n, all+n
			fmt.Fprintf(&table, " %d |", n)
		}
		fmt.Fprintf(&table, " %.2f s |\n", r.usual(verb).Seconds())
	}
	return fmt.Sprintf(`# Soak, %s

Made by `+"`make soak`"+`: %d tenants with %d deployments each; processes of the program, %d at a time, against an API server with MetalLB. %d cores, %s. %s

- %d commands in %.0f s, of which %s; %d readings of the ledger in the midst of the work
- no live route was lost: %s ended as they were asked to
- at the end %s; %s
- the audit finds %s; `+"`state --problems`"+` shows all of it: %s
- repair mends all but %s; %d leases, whose definition cannot be applied, are released. After that nothing is wrong

| command | %s | mean, without the killed |
|%s
%s`,
		time.Now().UTC().Format(time.DateOnly), r.tenants, deployments, workers, runtime.NumCPU(), runtime.Version(), r.beside,
		all, r.took.Seconds(), sums(total), r.audits, sums(r.asked),
		counts(slices.Collect(maps.Values(r.end.claims)), func(c claim) string { return c.kind + " claims" }), counts(r.end.routes, func(x route) string { return x.kind }),
		counts(r.end.found, func(f finding) string { return f.rule }), counts(r.shown, func(p problem) string { return p.Problem }),
		counts(r.left, func(p problem) string { return p.Problem }), r.released,
		strings.Join(outcomes, " | "), strings.Repeat(" --- |", len(outcomes)+2), table.String())
}

// counts says how many there are of each kind.
func counts[T any](all []T, kind func(T) string) string {
	n := map[string]int{}
	for _, x := range all {
		n[kind(x)]++
	}
	return sums(n)
}

// sums says each number with its name.
func sums(n map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(n)) {
		out = append(out, fmt.Sprintf("%d %s", n[k], k))
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}
