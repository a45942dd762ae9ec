package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state"
)

// A repair that dies after any of its writes is finished by the same command, run again.
func TestRepairThatDies(t *testing.T) {
	subnet := newNet()
	plain := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+subnet+"0/29]}")
	manySteps := []string{state.NamespaceGone, state.NotServed, state.BlockedHost, state.MigrationUnderWay, state.MixedDefinitions, state.TwoRoutes, state.GrantDiffers, state.PoolOverlap}
	for i, test := range madeProblems() {
		slow := test.kind == state.MigrationUnderWay && test.way == byName // it lets both routes stand for a while
		if !slices.Contains(manySteps, test.kind) || test.way == byOthers || slow {
			continue
		}
		t.Run(fmt.Sprint(i, " ", test.kind), func(t *testing.T) {
			for n, died := 1, true; died; n++ {
				died = diesAfter(t, n, test, scene{
					id: leaseOf(newOwner(), 1), host: strings.ToLower(test.kind) + "." + newDomain(), subnet: subnet, other: newNet(), plain: plain,
				})
			}
		})
	}
}

// diesAfter lets a repair die after its nth write and then runs it again. It says whether there was such
// a write.
func diesAfter(t *testing.T, n int, test madeProblem, s scene) (died bool) {
	t.Helper()
	t.Run(fmt.Sprint(n), func(t *testing.T) {
		t.Cleanup(func() { run(context.Background(), "release", "--config", s.plain, s.id.Group().String()) })
		p := test.make(t, s)
		if p.config == "" {
			p.config = s.plain
		}
		args := []string{"repair", "--crashed-after", "0s", "--assume-crashed", "--assume-serving", "--config", p.config}
		switch test.way {
		case byName:
			args = append(args, test.kind+"/"+p.thing)
		case byDefinition, withDefinition:
			args = append(args, "-f", p.definition)
		}
		writes := 0
		server := startProxy(t, func(string) bool {
			writes++
			return writes == n
		})
		runAs(t.Context(), server.kubeconfig, append(args, "--request-timeout=500ms")...)
		if died = writes >= n; !died {
			return
		}
		if test.way != byName || slices.Contains(problemsOf(t, p.config, p.thing), test.kind) { // what is mended has no name
			mustRun(t, 0, args...)
		}
		if now := run(t.Context(), "state", "--problems", "--crashed-after", "0s", "--config", p.config); now.Code != 0 {
			mustRun(t, 0, "repair", "--crashed-after", "0s", "--assume-crashed", "--assume-serving", "--config", p.config) // what it had begun is a problem of another kind
		}
		mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", p.config)
	})
	return died
}
