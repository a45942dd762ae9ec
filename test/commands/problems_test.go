package commands

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// problems are those that `state --problems` shows.
func problems(t *testing.T, config string) []state.Problem {
	t.Helper()
	r := run(t.Context(), "state", "--problems", "--crashed-after", "0s", "-o", "json", "--config", config)
	var book struct{ Problems []state.Problem }
	if err := json.Unmarshal([]byte(r.Stdout), &book); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	if found := len(book.Problems) > 0; found != (r.Code == 1) || r.Code > 1 {
		t.Fatalf("%d problems: %s", len(book.Problems), r)
	}
	return book.Problems
}

// problemsOf are the kinds of problem that `state --problems` shows of a thing.
func problemsOf(t *testing.T, config, thing string) []string {
	t.Helper()
	kinds := []string{}
	for _, p := range problems(t, config) {
		if p.Thing == thing {
			kinds = append(kinds, p.Problem)
		}
	}
	return kinds
}

// How repair is told to mend a problem.
type way int

const (
	// byItself needs no word; withDefinition is given the lease's definition.
	byItself way = iota
	// byName is to be named.
	byName
	withDefinition
	// byOthers is not repair's to mend.
	byOthers
)

// scene is what a problem is made in.
type scene struct {
	id   lease.ID
	host string
	// subnet is that of the range of all leases, other one that no other scene has.
	subnet, other string
	// plain is the configuration by which leases are applied.
	plain string
}

func (s scene) apply(t *testing.T, services ...string) {
	t.Helper()
	mustRun(t, 0, "apply", "--config", s.plain, "-f", define(t, s.id, services...))
}

// ends gives up what the scene's lease holds.
func (s scene) ends() {
	run(context.Background(), "release", "--config", s.plain, s.id.Group().String())
}

// newScenes are those of some problems, with the configuration by which these are looked at.
func newScenes(t *testing.T, cases []madeProblem) (scenes []scene, config string) {
	t.Helper()
	subnet := newNet()
	plain := configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+subnet+"0/27]}")
	var blocked []string
	ranges := []string{subnet + "0/27"}
	for _, c := range cases {
		s := scene{id: leaseOf(newOwner(t), 1), host: strings.ToLower(c.kind) + "." + newDomain(), subnet: subnet, other: newNet(), plain: plain}
		scenes = append(scenes, s)
		switch c.kind {
		case state.BlockedHost:
			blocked = append(blocked, s.host)
		case state.NodeAddress, state.PoolDiffers:
			ranges = append(ranges, s.other+"0/29")
		case state.PoolExhausted:
			ranges = append(ranges, s.other+"7/32")
		}
	}
	return scenes, configure(t, "hosts: {wildcards: true, blocked: ["+strings.Join(blocked, ", ")+"]}", "ip: {ranges: ["+strings.Join(ranges, ", ")+"]}")
}

// produced is a problem that was made.
type produced struct {
	thing string
	// definition is that of the lease, in a file.
	definition string
	// after looks at what has become of it, or does what repair does not do.
	after func(t *testing.T)
}

// Each kind of problem is shown, and is mended by one line, or left with the command that mends it. Nothing is touched of a lease without
// a problem, nor of what repair leaves. It does not run beside other tests: repair mends what these make, too.
func TestProblems(t *testing.T) {
	cases := madeProblems()
	scenes, config := newScenes(t, cases)
	unseen := map[string]bool{}
	for _, kind := range state.ProblemKinds {
		unseen[kind] = true
	}
	for _, kind := range []string{ // whose tests these are
		state.LeaseFails,                       // the reconciler records it: test/reconcile
		state.OperatorStops,                    // where an operator runs all leases have it: test/akash
		state.StrayRecord, state.RecordDiffers, // TestRecordProblems
	} {
		delete(unseen, kind)
	}
	beside := scene{id: leaseOf(newOwner(t), 1), host: "beside." + newDomain(), plain: scenes[0].plain}
	beside.apply(t, web("web", 8080, beside.host), leased("game", "public", 7001))
	t.Cleanup(beside.ends)
	untouched := []string{beside.id.Namespace(), beside.host, claimOf(addressOf(t, beside.id.Owner)), kept.Name(beside.id.Group())}

	made := make([]produced, len(cases))
	making := parallel.New(8)
	for i, c := range cases {
		delete(unseen, c.kind)
		t.Cleanup(scenes[i].ends)
		making.Go(func() error {
			made[i] = c.make(t, scenes[i])
			return nil
		})
		if c.way == byOthers {
			untouched = append(untouched, scenes[i].id.Namespace(), scenes[i].host)
		}
	}
	if err := making.Wait(); err != nil || t.Failed() {
		t.Fatal(err)
	}
	for kind := range unseen {
		t.Errorf("no test makes a problem %s", kind)
	}
	shown := map[string]bool{}
	for _, p := range problems(t, config) {
		shown[p.Name()] = true
	}
	args := []string{"repair", "--crashed-after", "0s", "--assume-crashed", "--assume-serving", "--config", config}
	was := fingerprint(t)
	run(t.Context(), append(slices.Clone(args), "--dry-run")...)
	if now := changed(was, fingerprint(t)); len(now) > 0 {
		t.Errorf("--dry-run changed %q", now)
	}
	first := run(t.Context(), args...)
	for i, c := range cases {
		if c.way == byName || c.way == withDefinition {
			args = append(args, c.kind+"/"+made[i].thing)
		}
		if made[i].definition != "" {
			args = append(args, "-f", made[i].definition)
		}
	}
	second := run(t.Context(), args...)
	for i, c := range cases {
		name, p := c.kind+"/"+made[i].thing, made[i]
		if !shown[name] {
			t.Errorf("state --problems does not show %s", name)
			continue
		}
		line := func(r result, prefix, text string) {
			t.Helper()
			if got := lines(r.Stdout, name+" "+prefix+" ("); len(got) != 1 || !strings.Contains(got[0], text) {
				t.Errorf("want one line %s %s (…%s: %q", name, prefix, text, got)
			}
		}
		switch c.way {
		case byItself:
			line(first, "repaired", "")
		case byName:
			line(first, "skipped", "): kubectl akash-net repair "+name)
			line(second, "repaired", "")
		case withDefinition:
			line(second, "repaired", p.definition+":")
		case byOthers:
			line(first, "skipped", "): kubectl ")
		}
	}
	for _, name := range changed(was, fingerprint(t)) {
		if slices.ContainsFunc(untouched, func(text string) bool { return strings.Contains(name, text) }) {
			t.Errorf("repair touched %s", name)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", first, second)
	}
	left := map[string]bool{}
	for _, p := range problems(t, config) {
		left[p.Name()] = true
	}
	for i, c := range cases {
		if name := c.kind + "/" + made[i].thing; left[name] != (c.way == byOthers) {
			t.Errorf("%s is still a problem: %v", name, left[name])
		}
		if made[i].after != nil {
			made[i].after(t)
		}
	}
}

// A repair that dies after any of its writes is finished by the same command, run again; what it had begun may be a problem of another
// kind.
func TestRepairThatDies(t *testing.T) {
	t.Parallel()
	manySteps := []string{state.CrashedRun, state.NamespaceGone, state.NotServed, state.BlockedHost, state.MigrationUnderWay, state.MixedDefinitions, state.TwoRoutes, state.GrantDiffers}
	cases := slices.DeleteFunc(madeProblems(), func(c madeProblem) bool { return !slices.Contains(manySteps, c.kind) })
	if !harness.Long() {
		drawnToday(t).Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
		cases = cases[:3]
	}
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			dies(t, 5, func(nth int32) (died bool) {
				scenes, config := newScenes(t, []madeProblem{c})
				s := scenes[0]
				defer s.ends()
				p := c.make(t, s)
				args := []string{"repair", "--crashed-after", "0s", "--assume-crashed", "--assume-serving", "--config", config}
				first := append(slices.Clone(args), c.kind+"/"+p.thing)
				if p.definition != "" {
					first = append(first, "-f", p.definition)
				}
				writes := int32(0)
				server := startProxy(t, func(string) bool {
					writes++
					return writes == nth
				})
				runAs(t.Context(), server.kubeconfig, append(slices.Clone(first), "--request-timeout=500ms")...)
				died = writes >= nth
				for range 3 {
					again := slices.Clone(args)
					for _, now := range problems(t, config) {
						if now.Thing == p.thing || strings.Contains(now.Thing, s.host) || strings.Contains(now.Lease, s.id.Owner) {
							again = append(again, now.Name())
						}
					}
					if len(again) == len(args) {
						return died
					}
					if slices.Contains(again, c.kind+"/"+p.thing) {
						again = first
					}
					mustRun(t, 0, again...)
				}
				t.Errorf("after write %d, and three repairs more, there are still problems", nth)
				return died
			})
		})
	}
}
