package soak_test

import (
	"encoding/json"
	"fmt"
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
	return p.Thing == f.thing || p.Problem == "MixedDefinitions" && p.Thing == f.group && f.rule == "half"
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

// Whatever many tenants do at once, and whatever is killed, `state --problems` shows all that is
// wrong in the end, and when `repair` has been run nothing is.
func TestSoak(t *testing.T) {
	length := 10 * time.Second
	if text := os.Getenv("SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SOAK: %v", err)
		}
	}
	s := &soak{t: t, applied: definitions{last: map[string]string{}, done: map[string]string{}}, outcomes: map[string]map[string]int{}, times: map[string][]time.Duration{}, failures: map[string]int{}}
	began := time.Now()
	s.work(length)
	r := &report{soak: s, took: time.Since(began)}
	s.writeTrace()
	holdsOver(t)

	r.end, r.shown = auditAll(t), problems(t)
	for _, f := range r.end.found {
		if !slices.ContainsFunc(r.shown, func(p problem) bool { return p.covers(f) }) {
			t.Errorf("state --problems does not show: %s", f)
		}
	}
	s.repair(r)
	for _, p := range problems(t) {
		t.Errorf("after repair: %s", p)
	}
	for _, f := range auditAll(t).found {
		t.Errorf("after repair, found by the audit: %s", f)
	}
	r.write(t)
	if out, err := command(t.Context(), "release", "--all", "--yes").CombinedOutput(); err != nil {
		t.Errorf("release --all: %v\n%.2000s", err, out)
	}
	if a := auditAll(t); len(a.claims)+len(a.routes) > 0 {
		t.Errorf("release --all leaves %v and %v", a.claims, a.routes)
	}
}

// repair mends what is wrong, with the definitions that were applied last, or where those cannot be had
// with those that could. What is left then is of leases whose definition is not known or cannot be
// applied, because another lease holds what it wants: they are released.
func (s *soak) repair(r *report) {
	for _, definitions := range [][]string{files(s.applied.last), files(s.applied.done), nil} { // the third is of what needs none
		args := append([]string{"repair", "--crashed-after", "0s", "--assume-crashed", "--assume-serving", "--timeout", "5s"}, definitions...)
		out, err := command(s.t.Context(), args...).CombinedOutput()
		s.t.Logf("repair: %v\n%s", err, out)
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
		if file := s.applied.of(group); file != "" && command(s.t.Context(), "apply", "--timeout=30s", "-f", file).Run() == nil {
			s.t.Errorf("repair -f leaves what apply mends: %s", p)
		}
		if out, err := command(s.t.Context(), "release", group).CombinedOutput(); err != nil {
			s.t.Errorf("releasing %s: %v\n%s", group, err, out)
		}
		released[group] = true
	}
	r.released = len(released)
}

// writeTrace writes which command did what and when to the file that SOAK_TRACE names.
func (s *soak) writeTrace() {
	if path := os.Getenv("SOAK_TRACE"); path != "" {
		if err := os.WriteFile(path, []byte(strings.Join(s.trace, "\n")+"\n"), 0o600); err != nil {
			s.t.Error(err)
		}
	}
}
