package soak_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
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
	// asked is how many live routes ended as commands asked for, by verb; lost are those that nobody asked
	// to end.
	asked map[string]int
	lost  []lossOf
	// restarts and downs are what happened to Akash's operators.
	restarts, downs int
}

// outcomes are how a command may end.
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
	var s strings.Builder
	total := map[string]int{}
	table := r.table(total)
	all := 0
	for _, n := range total {
		all += n
	}
	kernel, _ := exec.Command("uname", "-sr").Output()
	fmt.Fprintf(&s, `# Soak%s, %s

Made by `+"`make soak`"+`: %d tenants with %d deployments each, %d hosts, %d addresses; processes of the program,
%d at a time, against an API server with MetalLB. %s, %d cores, %s.

- %d commands in %.0f s, %.1f a second; %d killed (SIGKILL), %d interrupted (SIGINT)
%s- %d readings of the ledger in the midst of the work: no owner below another owner's wildcard, no claim of two owners
- live routes that were lost, though no command of their lease, nor a transfer of their owner's, asked for it: %d. Every write was followed: %s ended as they were asked to
- at the end %s; %s
- the audit finds: %s
- `+"`state --problems`"+` shows all of it: %s
- `+"`repair -f`"+` with the definitions that were applied last, then with the last that could be applied, mends all but: %s; %d leases, whose definition cannot be applied, are released
- after that `+"`state --problems`"+` shows nothing (exit code 0), and the audit finds nothing

Commands by how they ended: held is exit code 4, problems is what `+"`state --problems` and `repair`"+` say with exit
code 1, the mean leaves out the killed.

%s`,
		map[bool]string{true: " beside Akash's operators"}[r.operated], time.Now().UTC().Format(time.DateOnly), r.tenants, deployments, r.tenants*domains*hosts, addresses, workers,
		strings.TrimSpace(string(kernel)), runtime.NumCPU(), runtime.Version(),
		all, r.took.Seconds(), float64(all)/r.took.Seconds(), total["killed"], total["interrupted"], r.beside(), r.audits,
		len(r.lost), sums(r.asked),
		counts(slices.Collect(maps.Values(r.end.claims)), func(c claim) string { return c.kind + " claims" }),
		counts(r.end.routes, func(x route) string { return x.kind }),
		counts(r.end.found, func(f finding) string { return f.rule }),
		counts(r.shown, func(p problem) string { return p.Problem }),
		counts(r.left, func(p problem) string { return p.Problem }), r.released, table)
	return s.String()
}

// beside says what Akash's operators did meanwhile.
func (r *report) beside() string {
	if !r.operated {
		return ""
	}
	return fmt.Sprintf("- beside doubles of Akash's hostname operator and IP operator, which were restarted %d times and down %d times\n", r.restarts, r.downs)
}

// table has a row for each command.
func (r *report) table(total map[string]int) string {
	var s strings.Builder
	fmt.Fprintf(&s, "| command | %s | mean |\n|%s\n", strings.Join(outcomes, " | "), strings.Repeat(" --- |", len(outcomes)+2))
	for _, verb := range slices.Sorted(maps.Keys(r.outcomes)) {
		fmt.Fprintf(&s, "| %s |", verb)
		for _, o := range outcomes {
			total[o] += r.outcomes[verb][o]
			fmt.Fprintf(&s, " %d |", r.outcomes[verb][o])
		}
		fmt.Fprintf(&s, " %.2f s |\n", r.usual(verb).Seconds())
	}
	fmt.Fprint(&s, "| all |")
	for _, o := range outcomes {
		fmt.Fprintf(&s, " %d |", total[o])
	}
	return s.String() + " |\n"
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
