package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// problemsOf are the kinds of problem that `state --problems` shows of a thing.
func problemsOf(t *testing.T, config, thing string) []string {
	t.Helper()
	r := run(t.Context(), "state", "--problems", "--crashed-after", "0s", "-o", "json", "--config", config)
	var book struct{ Problems []state.Problem }
	if err := json.Unmarshal([]byte(r.Stdout), &book); err != nil {
		t.Fatalf("%v: %s", err, r)
	}
	if found := len(book.Problems) > 0; found != (r.Code == 1) || r.Code > 1 {
		t.Fatalf("%d problems: %s", len(book.Problems), r)
	}
	kinds := []string{}
	for _, p := range book.Problems {
		if p.Thing == thing {
			kinds = append(kinds, p.Problem)
		}
	}
	return kinds
}

// How repair is told to mend a problem.
type way int

const (
	// byItself needs no word.
	byItself way = iota
	// byName is to be named, byDefinition to be given the lease's definition.
	byName
	byDefinition
	// withName is named, and withDefinition given a definition, which it could do without.
	withName
	withDefinition
	// byOthers is not repair's to mend.
	byOthers
)

// scene is what a problem is made in.
type scene struct {
	id   lease.ID
	host string
	// subnet is that of the configuration's range, other one that no other test has.
	subnet, other string
	// plain is the configuration by which it is looked at, unless produced says otherwise.
	plain string
}

func (s scene) apply(t *testing.T, services ...string) {
	t.Helper()
	mustRun(t, 0, "apply", "--config", s.plain, "-f", define(t, s.id, services...))
}

// produced is a problem that was made.
type produced struct {
	thing  string
	config string
	// definition is that of the lease, in a file.
	definition string
	// touched are the objects that the mend may change.
	touched []string
	// after looks at what has become of it, or does what repair does not do.
	after func(t *testing.T)
}

// Each problem is shown, is mended by one line or left with the command that mends it, and nothing else
// is touched. The tests do not run side by side: they compare the whole cluster.
func TestProblems(t *testing.T) {
	subnet := newNet()
	s := scene{subnet: subnet, plain: configure(t, "hosts: {wildcards: true}", "ip: {ranges: ["+subnet+"0/29]}")}
	beside := leaseOf(newOwner(), 1)
	mustRun(t, 0, "apply", "--config", s.plain, "-f", define(t, beside, web("web", 8080, "beside."+newDomain()), leased("game", "public", 7001)))
	t.Cleanup(func() { run(context.Background(), "release", beside.Group().String()) })
	unseen := map[string]bool{}
	for _, kind := range state.ProblemKinds {
		unseen[kind] = true
	}
	delete(unseen, state.LeaseFails)    // the reconciler records it: test/reconcile makes it
	delete(unseen, state.OperatorStops) // where an operator runs, all leases beside have the problem: test/akash makes it
	for _, test := range madeProblems() {
		delete(unseen, test.kind)
		t.Run(test.kind, func(t *testing.T) {
			s := s
			s.other = newNet()
			s.id, s.host = leaseOf(newOwner(), 1), strings.ToLower(test.kind)+"."+newDomain()
			t.Cleanup(func() { run(context.Background(), "release", "--config", s.plain, s.id.Group().String()) })
			p := test.make(t, s)
			p.config = cmp.Or(p.config, s.plain)
			mends(t, test.kind, test.way, p)
		})
	}
	for kind := range unseen {
		t.Errorf("no test makes a problem %s", kind)
	}
}

// mends lets repair mend a problem that was made.
func mends(t *testing.T, kind string, how way, p produced) {
	t.Helper()
	if kinds := problemsOf(t, p.config, p.thing); !slices.Contains(kinds, kind) {
		t.Fatalf("state --problems shows %q of %s", kinds, p.thing)
	}
	name, flags := kind+"/"+p.thing, []string{"--crashed-after", "0s", "--assume-crashed", "--assume-serving", "--config", p.config}
	if how == byName || how == byDefinition || how == byOthers {
		left := run(t.Context(), append([]string{"repair"}, flags...)...)
		command := map[way]string{byName: "): kubectl akash-net repair " + name, byDefinition: "): kubectl akash-net repair -f FILE", byOthers: "): kubectl "}[how]
		if got := lines(left.Stdout, name+" left ("); len(got) != 1 || !strings.Contains(got[0], command) || how != byOthers && !strings.HasSuffix(got[0], command) {
			t.Errorf("want one line %s left (…%s: %s", name, command, left)
		}
	}
	switch how {
	case byName, withName:
		flags = append(flags, name)
	case byDefinition, withDefinition:
		flags = append(flags, "-f", p.definition)
	case byOthers:
		mustRun(t, 1, append([]string{"repair", name}, flags...)...)
		p.after(t)
		return
	}
	was := fingerprint(t)
	plan := mustRun(t, 0, append([]string{"repair", "--dry-run"}, flags...)...)
	if now := changed(was, fingerprint(t)); len(now) > 0 {
		t.Errorf("--dry-run changed %q: %s", now, plan)
	}
	done := mustRun(t, 0, append([]string{"repair"}, flags...)...)
	for _, r := range []result{plan, done} {
		if got := lines(r.Stdout, name+" repaired ("); len(got) != 1 || p.definition != "" && !strings.Contains(got[0], p.definition+":") {
			t.Errorf("want one line %s repaired (…: %s", name, r)
		}
	}
	for _, name := range changed(was, fingerprint(t)) {
		// To apply a definition moves the claims and the objects of the host that it writes for.
		applied := p.definition != "" && (strings.HasSuffix(name, "/"+p.thing) || strings.HasSuffix(name, "/too."+p.thing) ||
			strings.HasSuffix(name, "/"+claimOf(p.thing)) || strings.HasPrefix(name, "providerleasedips "))
		// The definition of a lease goes with the last that it holds.
		forgotten := strings.HasPrefix(name, "leases "+ledger+"/df--")
		if !slices.Contains(p.touched, name) && !applied && !forgotten {
			t.Errorf("repair touched %s: %s", name, done)
		}
	}
	mustRun(t, 0, "state", "--problems", "--crashed-after", "0s", "--config", p.config)
	if p.after != nil {
		p.after(t)
	}
}
