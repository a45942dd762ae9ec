//go:debug randseednop=0

package sim

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	for name, value := range map[string]string{
		"rapid.shrinktime": "0s", // the clock of a bubble stands still while rapid makes a failure smaller
		"rapid.checks":     map[bool]string{false: "30", true: "1000"}[long()],
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

var seedFlag = flag.Int64("seed", -1, "replay the history of this seed, and print it")

var histories = flag.Int64("histories", map[bool]int64{false: few, true: many}[long()], "how many histories to live through")

// How many histories there are: with LONG more.
const few, many = 150, 100_000

// Histories of commands that cross, crash and meet faults keep the ledger's promises.
func TestHistories(t *testing.T) {
	if *seedFlag >= 0 {
		w := live(t, *seedFlag, "")
		t.Logf("history %d:\n%s", *seedFlag, strings.Join(w.trace, "\n"))
		if len(w.verdicts) > 0 {
			t.Error(strings.Join(w.verdicts, "\n"))
		}
		return
	}
	requests, failed := 0, 0
	for seed := range *histories {
		w := live(t, seed, "")
		requests += len(w.trace)
		if len(w.verdicts) > 0 {
			t.Errorf("history %d (go test ./test/sim -run TestHistories -seed %[1]d -v):\n%s", seed, strings.Join(w.verdicts, "\n"))
			if failed++; failed == 10 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d histories, %d steps", *histories, requests)
}

// live lives through the history of a seed.
func live(t *testing.T, seed int64, broken rule) (w *world) {
	t.Helper()
	rand.Seed(seed)                             //nolint:staticcheck // the jitter of waits is drawn from it
	cryptotest.SetGlobalRandom(t, uint64(seed)) // and the nonces of commands
	synctest.Test(t, func(t *testing.T) {
		server := furnished(t)
		w = &world{Rand: rand.New(rand.NewSource(seed)), seed: seed, server: server, broken: broken, announced: map[string]*process{}, arrived: make(chan struct{}, 1)}
		server.Skew = []time.Duration{0, 7 * time.Hour, -7 * time.Hour}[w.Intn(3)]
		w.faults = []int{0, 0, 2, 6}[w.Intn(4)]
		w.sticky = []int{0, 50, 90, 97}[w.Intn(4)]
		w.lazy = []int{0, 2, 10}[w.Intn(3)]
		w.remember()
		leases := allLeases()
		leases = leases[:2+w.Intn(len(leases)-1)]
		for i := range 2 + w.Intn(3) {
			p := w.process(fmt.Sprint("p", i))
			if w.Intn(3) == 0 {
				p.watch()
			}
			var commands []*invocation
			for range 1 + w.Intn(2) {
				commands = append(commands, w.draw(leases))
			}
			p.run(t.Context(), commands...)
		}
		w.schedule()
		w.aftermath(t.Context())
	})
	return w
}

// furnished is a simulated API server with the namespaces.
func furnished(t *testing.T) *Server {
	t.Helper()
	server, err := New()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"akash-net", settings().ManifestNamespace, settings().IP.MetalLBNamespace}
	for _, id := range allLeases() {
		names = append(names, id.Namespace())
	}
	for _, name := range names {
		addNamespace(t, server, name)
	}
	return server
}

func addNamespace(t *testing.T, server *Server, name string) {
	t.Helper()
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://sim/api/v1/namespaces", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.RoundTrip(r) //nolint:bodyclose // it is in memory
	if err != nil || response.StatusCode != http.StatusCreated {
		t.Fatal(err, response)
	}
}

// aftermath: nothing goes wrong any more. What successful runs have taken is still theirs, repair leaves no
// problem, and what is applied again is not written again.
func (w *world) aftermath(ctx context.Context) {
	for _, c := range w.commands {
		if c.ended > 0 {
			w.judgeCommand(c, len(w.trace))
		}
	}
	w.quiet, w.faults, w.lazy = true, 0, 0
	time.Sleep(5 * time.Minute)
	last := map[lease.Group]*invocation{}
	var defs []*lease.Definition
	for _, c := range w.commands {
		was := last[c.id.Group()]
		if c.verb == "apply" && (was == nil || was.err != nil || c.err == nil && c.ended >= was.ended) {
			last[c.id.Group()] = c
		}
	}
	for _, id := range allLeases() {
		if c := last[id.Group()]; c != nil {
			defs = append(defs, c.definition())
		}
	}
	var found []state.Problem
	for range 3 { // what one repair mends may show another problem
		w.alone(ctx, &invocation{verb: "repair", defs: defs})
		if found = w.problems(ctx); len(found) == 0 {
			break
		}
	}
	for _, f := range found {
		var byDefinition lease.Group
		if f.Fix.Is(state.Heal) || f.Fix.Is(state.MoveRoutes) {
			byDefinition = f.Fix.Group
		}
		if c := last[byDefinition]; byDefinition != (lease.Group{}) && (c == nil || w.isRefused(ctx, c)) {
			continue // only its definition mends it, which others do not let it have
		}
		w.wrong("problem %s of %s is left after repair: %s; %s", f.Name(), f.Lease, f.Message, f.Plan)
	}
	for _, i := range w.Perm(len(defs))[:min(len(defs), 1)] {
		c := last[defs[i].Lease.Group()]
		first, second := *c, *c
		w.alone(ctx, &first)
		writes := w.writes
		if w.alone(ctx, &second); first.err == nil && w.writes != writes {
			w.wrong("%s writes again", &second)
		}
		if first.err == nil {
			w.judgeEnd(&first)
		}
	}
}

// isRefused is true where the lease cannot have what the command wants.
func (w *world) isRefused(ctx context.Context, c *invocation) bool {
	again := *c
	w.alone(ctx, &again)
	return refused(again.err)
}

// problems are those that state shows.
func (w *world) problems(ctx context.Context) (found []state.Problem) {
	p := w.process("state")
	go func() {
		var err error
		if found, err = diagnosis.Problems(ctx, p.cluster, settings(), crash, ""); err != nil {
			w.wrong("problems cannot be read: %v", err)
		}
		found = slices.DeleteFunc(found, func(f state.Problem) bool { return f.Sound })
		p.ended.Store(true)
		p.tell()
	}()
	w.schedule()
	return found
}

// alone runs commands while nothing else happens.
func (w *world) alone(ctx context.Context, commands ...*invocation) {
	p := w.process("alone" + fmt.Sprint(len(w.processes)))
	for _, c := range commands {
		c.withheld, c.ended, c.err, c.beside = map[string]bool{}, 0, nil, nil
	}
	p.run(ctx, commands...)
	w.schedule()
}

// A seed replays its history exactly.
func TestSeedReplays(t *testing.T) {
	for seed := range int64(20) {
		first, second := live(t, seed, ""), live(t, seed, "")
		if !slices.Equal(first.trace, second.trace) {
			for i := range first.trace {
				if i >= len(second.trace) || first.trace[i] != second.trace[i] {
					t.Errorf("history %d differs at step %d: %s and then %s", seed, i, first.trace[i], second.trace[min(i, len(second.trace)-1)])
					break
				}
			}
		}
	}
}

// Histories find a rule of the protocol that is left out.
func TestLeftOutRulesAreFound(t *testing.T) {
	if !long() {
		t.Skip("it takes long: LONG=1 runs it, as make test-long does")
	}
	const most = 1000
	for _, broken := range []rule{noMark, noPin, noFence, noTurn, noLook, noYield, noSecondRead} {
		t.Run(string(broken), func(t *testing.T) {
			// Where a pin decides a command has to stand still at the right moment: the search begins shortly before.
			first := map[rule]int64{noPin: 1400}[broken]
			for seed := first; seed < first+most; seed++ {
				if w := live(t, seed, broken); len(w.verdicts) > 0 {
					t.Logf("history %d: %s", seed, w.verdicts[0])
					return
				}
			}
			t.Errorf("%d histories without %s are all right", most, broken)
		})
	}
}
