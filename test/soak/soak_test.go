package soak_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// problem is what the program says of the cluster.
type problem struct {
	Problem, Thing, Lease, Message string
	Manual                         bool
}

func (p problem) String() string {
	return strings.TrimSpace(fmt.Sprint(p.Problem, " ", p.Thing, " ", p.Lease, ": ", p.Message))
}

// problems asks the program.
func problems(t *testing.T) []problem {
	t.Helper()
	cmd := command(t.Context(), "state", "--problems", "--crashed-after", "0s", "-o", "json")
	out, err := cmd.Output()
	var book struct{ Problems []problem }
	if err := json.Unmarshal(out, &book); err != nil {
		t.Fatalf("state --problems: %v\n%s", err, out)
	}
	if found := len(book.Problems) > 0; found != (cmd.ProcessState.ExitCode() == 1) || cmd.ProcessState.ExitCode() > 1 {
		t.Fatalf("state --problems: %d problems, %v", len(book.Problems), err)
	}
	return book.Problems
}

// covers is true when a problem shows what the audit found.
func (p problem) covers(f finding) bool {
	return p.Thing == f.thing || f.rule == "announced" && p.Problem == "CrashedRun" && strings.Contains(p.Thing+p.Message, strings.TrimPrefix(f.thing, "run--")) ||
		p.Problem == "MixedDefinitions" && p.Thing == f.group && f.rule == "half"
}

// auditClaims looks, while the work goes on, at what holds at every moment.
func (s *soak) auditClaims() {
	a := readLedger(s.t)
	a.judgeWildcards()
	for _, f := range a.found {
		s.t.Errorf("in the midst of the work: %s", f)
	}
	s.mu.Lock()
	s.audits++
	s.mu.Unlock()
}

// newSoak is of a number of tenants. Its journal begins now.
func newSoak(t *testing.T, tenants int, operated bool) *soak {
	t.Helper()
	return &soak{
		t: t, began: time.Now(), tenants: tenants, operated: operated, journal: keepJournal(t),
		applied:  definitions{last: map[string]*definition{}, done: map[string]*definition{}},
		caughtUp: func() {},
		outcomes: map[string]map[string]int{}, times: map[string][]time.Duration{}, failures: map[string]int{},
	}
}

// size is how long a soak lasts and of how many tenants it is. A short one is of few, so that they meet.
func size(t *testing.T, short time.Duration, few, many int) (time.Duration, int) {
	t.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return short, few
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SOAK: %v", err)
	}
	return d / 2, many // the other half is that beside Akash's operators
}

// Whatever many tenants do at once, and whatever is killed, no live route goes that nobody has asked to go,
// `state --problems` shows all that is wrong in the end, and when `repair` has been run nothing is.
func TestSoak(t *testing.T) {
	onPlane(t)
	length, tenants := size(t, 8*time.Second, 8, 50)
	s := newSoak(t, tenants, false)
	s.work(length)
	s.end("")
}

// end audits what the work has left behind, mends it, gives everything up, and reports.
func (s *soak) end(beside string) {
	t, r := s.t, &report{soak: s, took: time.Since(s.began), beside: beside}
	defer r.write(t)
	holdsOver(t)
	s.caughtUp()
	r.end, r.shown = auditAll(t), problems(t)
	for _, f := range r.end.found {
		if !slices.ContainsFunc(r.shown, func(p problem) bool { return p.covers(f) }) {
			t.Errorf("state --problems does not show: %s\n%s", f, s.story(f))
		}
	}
	s.repair(r)
	s.caughtUp()
	for _, p := range problems(t) {
		t.Errorf("after repair: %s", p)
	}
	for _, f := range auditAll(t).found {
		t.Errorf("after repair, found by the audit: %s\n%s", f, s.story(f))
	}
	if out, err := s.do(operation{verb: "release --all", args: []string{"release", "--all", "--yes"}, asks: asks{all: true}}); err != nil {
		t.Errorf("release --all: %v\n%.2000s", err, out)
	}
	if a := auditAll(t); len(a.claims)+len(a.routes) > 0 {
		t.Errorf("release --all leaves %v and %v", a.claims, a.routes)
	}
	changes := s.journal.read(t)
	var gone []lossOf
	r.asked, gone = lost(changes, s.operated, s.atWork)
	for _, l := range gone {
		var beside []string
		for _, op := range s.atWork(l.revision) {
			beside = append(beside, strings.Join(op.args, " "))
		}
		t.Errorf("a live route was lost: %s\nbeside %q\n%s", l, beside, story(changes, l.route, l.revision))
	}
}

// story is what became of a thing that the audit has found something about.
func (s *soak) story(f finding) string {
	return story(s.journal.read(s.t), route{thing: f.thing, group: f.group, key: "/"}, math.MaxUint64)
}

// do runs a command to its end.
func (s *soak) do(op operation) (string, error) {
	defer s.begins(&op)()
	out, err := command(s.t.Context(), op.args...).CombinedOutput()
	return string(out), err
}

// repair mends what is wrong, with the definitions that were applied last, or where those cannot be had
// with those that could. What is left then is of leases whose definition is not known or cannot be
// applied, because another lease holds what it wants: they are released.
func (s *soak) repair(r *report) {
	passes := []map[string]*definition{s.applied.last, s.applied.done, nil} // the third is of what needs none
	for _, definitions := range passes {
		s.repairs("repair -f", asks{applies: definitions}, files(definitions)...)
	}
	if s.operated { // what an operator has left, or has not made, is mended by name; then the definitions can be had
		for _, p := range problems(s.t) {
			if p.Manual {
				s.repairs("repair NAME", asks{named: []string{p.Thing}}, p.Problem+"/"+p.Thing)
			}
		}
		for _, definitions := range passes {
			s.repairs("repair -f", asks{applies: definitions}, files(definitions)...)
		}
	}
	released := map[string]bool{}
	for _, p := range problems(s.t) {
		if r.left = append(r.left, p); !p.Manual {
			s.t.Errorf("repair leaves: %s", p)
		}
		words := strings.Split(p.Lease, "/")
		if len(words) < 3 {
			s.t.Errorf("repair leaves what is of no lease: %s", p)
			continue
		}
		group := strings.Join(words[:3], "/")
		if d := s.applied.of(group); d != nil {
			if _, err := s.do(s.applies("apply", d, "apply")); err == nil {
				s.t.Errorf("repair -f leaves what apply mends: %s", p)
			}
		}
		if out, err := s.do(operation{verb: "release", args: []string{"release", "--timeout=10s", group}, asks: asks{lease: group, releases: true}}); err != nil {
			s.t.Errorf("releasing %s: %v\n%s", group, err, out)
		}
		released[group] = true
	}
	r.released = len(released)
}

func (s *soak) repairs(verb string, asks asks, more ...string) {
	out, err := s.do(operation{verb: verb, args: append([]string{"repair", "--crashed-after=0s", "--assume-crashed", "--assume-serving", "--timeout=5s"}, more...), asks: asks})
	s.t.Logf("repair %.100q: %v\n%s", more, err, out)
}
