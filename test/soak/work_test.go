package soak_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// workers are the processes under way at a time.
const workers = 6

// operation is a command of a tenant.
type operation struct {
	verb string
	args []string
	// group is the deployment group that it is about.
	group string
	// reads is true for a command that writes nothing.
	reads bool
	// definition is what it applies to the group, if it does.
	definition *definition
	asks       asks
	// began and ended are the cluster's revisions when it did; ended is zero while it is at work.
	began, ended uint64
}

// soak is the work and what came of it.
type soak struct {
	t     *testing.T
	began time.Time
	// tenants is how many there are; operated is true where Akash's operators make the routes.
	tenants  int
	operated bool
	applied  definitions
	files    atomic.Int64
	journal  *journal
	// caughtUp waits until the operators have done what is to be done.
	caughtUp func()

	mu sync.Mutex
	// outcomes count how commands ended, by verb; times are how long they took.
	outcomes map[string]map[string]int
	times    map[string][]time.Duration
	// failures are what commands said that ended with exit code 1, with how often.
	failures map[string]int
	audits   int
	begun    []*operation
}

// define makes up a definition for a deployment and keeps it in a file.
func (s *soak) define(t tenant, deployment int) *definition {
	d := t.definition(deployment)
	d.file = filepath.Join(harness.Plane.Dir, fmt.Sprintf("definition-%d.yaml", s.files.Add(1)))
	if err := os.WriteFile(d.file, []byte(d.text), 0o600); err != nil {
		s.t.Error(err)
	}
	s.applied.remember(d)
	return d
}

// served is a host that a deployment defines, or now and then another.
func (s *soak) served(t tenant, deployment int) string {
	d := s.applied.of(t.group(deployment))
	if d == nil || t.IntN(8) == 0 {
		return t.host()
	}
	names := slices.Sorted(maps.Keys(d.hosts))
	return names[t.IntN(len(names))]
}

// timeout is for how long commands wait. An operator that is down comes back, but not all that it has missed
// is done then: there is no use in waiting for long.
func (s *soak) timeout() string {
	if s.operated {
		return "--timeout=4s"
	}
	return "--timeout=30s"
}

// applies is the operation that applies a definition.
func (s *soak) applies(verb string, d *definition, args ...string) operation {
	return operation{
		verb: verb, definition: d, args: append(args, s.timeout(), "--assume-serving", "-f", d.file),
		asks: asks{applies: map[string]*definition{d.group: d}},
	}
}

// next makes up a command for a deployment.
func (s *soak) next(t tenant, d int) operation {
	to := "--lease=" + t.lease(d)
	group := t.group(d)
	switch n := t.IntN(100); {
	case n < 28:
		return s.applies("apply", s.define(t, d), "apply")
	case n < 31:
		op := s.applies("apply --prune=false", s.define(t, d), "apply", "--prune=false")
		op.asks.keeps = true
		return op
	case n < 34 && !s.operated:
		return s.applies("apply --target httproute", s.define(t, d), "apply", "--target=httproute")
	case n < 36 && !s.operated:
		to := []string{"httproute", "ingress"}[t.IntN(2)]
		return operation{verb: "migrate", args: []string{"migrate", "--to=" + to, "--assume-serving", "--overlap=0s", s.timeout(), group}, asks: asks{lease: group, moves: true}}
	case n < 44:
		if last := s.applied.of(group); last != nil {
			return s.applies("apply, the same again", last, "apply")
		}
		return operation{verb: "check", reads: true, args: append([]string{"check", to}, t.some(4, t.thing)...)}
	case n < 52:
		args := append([]string{"reserve", to}, t.some(6, t.thing)...)
		if t.IntN(2) == 0 {
			args = append(args, "--prune=false")
		}
		return operation{verb: "reserve", args: args}
	case n < 56 && !s.operated:
		return operation{verb: "reserve --address", args: []string{"reserve", to, "--prune=false", "--endpoint", t.endpoint(), "--address", "auto"}}
	case n < 58 && !s.operated:
		address := fmt.Sprintf("10.99.0.%d", t.IntN(40))
		return operation{verb: "reserve --address IP", args: []string{"reserve", to, "--endpoint=fixed", "--address", address}}
	case n < 65:
		ends := []string{"1s", "3s", "6h"}[t.IntN(3)]
		return operation{verb: "reserve --expires", args: append([]string{"reserve", to, "--prune=false", "--expires", ends}, t.some(4, t.thing)...)}
	case n < 68:
		return operation{verb: "check", reads: true, args: append([]string{"check", to}, t.some(4, t.thing)...)}
	case n < 81:
		things := t.some(6, func() string { return s.served(t, t.deployment()) })
		if t.IntN(3) == 0 {
			things = append(things, t.endpoint())
		}
		op := operation{verb: "transfer", args: append([]string{"transfer", "--assume-serving", "--to=" + t.lease(d)}, things...)}
		op.asks = asks{lease: group, things: things, transfers: true}
		if t.IntN(2) == 0 {
			op.verb, op.definition = "transfer -f", s.define(t, d)
			op.args = append(op.args, "-f", op.definition.file)
			op.asks.applies = map[string]*definition{group: op.definition}
		}
		return op
	case n < 86:
		things := t.some(4, func() string { return s.served(t, d) })
		return operation{verb: "release THING", args: append([]string{"release", group}, things...), asks: asks{lease: group, things: things, releases: true}}
	case n < 93:
		return operation{verb: "release", args: []string{"release", s.timeout(), group}, asks: asks{lease: group, releases: true}}
	case n < 96:
		return operation{verb: "repair", args: []string{"repair", "--crashed-after", []string{"2m", "1m"}[t.IntN(2)]}}
	case n < 98:
		last, _ := s.applied.copies()
		return operation{verb: "repair -f", args: append([]string{"repair", s.timeout(), "--assume-serving"}, files(last)...), asks: asks{applies: last}}
	default:
		return operation{verb: "state --problems", reads: true, args: []string{"state", "--problems"}}
	}
}

// work runs commands, several at a time, until the time is over. Those that have begun end.
func (s *soak) work(for_ time.Duration) {
	end := time.Now().Add(for_)
	var group sync.WaitGroup
	for worker := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(24, uint64(worker)))
			for n := 0; time.Now().Before(end) && !s.t.Failed(); n++ {
				t := tenant{random, random.IntN(s.tenants), s.tenants}
				d := t.deployment()
				op := s.next(t, d)
				op.group = t.group(d)
				s.run(random, op)
				if worker == 0 && n%20 == 0 {
					s.auditClaims()
				}
			}
		})
	}
	group.Wait()
}

// run runs a command; one in eight of those that write is killed (SIGKILL) at some moment, one in
// forty is interrupted.
func (s *soak) run(random *rand.Rand, op operation) {
	// A command waits for a minute, and what it takes back may be waited for half a minute more, twice. A repair takes a turn after the
	// other for what it applies, and each may wait until the announcement of another command that was killed has expired.
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute+time.Duration(len(op.asks.applies))*20*time.Second)
	defer cancel()
	cmd := command(ctx, op.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it says where it stands
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	ends, began := s.begins(&op), time.Now()
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return
	}
	if n := random.IntN(40); n < 6 && !op.reads {
		signal := syscall.SIGKILL
		if n == 0 {
			signal = syscall.SIGINT
		}
		kill := time.AfterFunc(time.Duration(random.Float64()*1.2*float64(s.usual(op.verb))), func() { _ = cmd.Process.Signal(signal) })
		defer kill.Stop()
	}
	err := cmd.Wait()
	took := time.Since(began)
	if ctx.Err() != nil {
		s.t.Errorf("it does not end: %v: %v\n%s", op.args, err, errOut.String())
	}
	outcome := s.outcome(op, err, errOut.String())
	if outcome == "killed" { // what it has sent is written a little later
		time.AfterFunc(time.Second, ends)
	} else {
		ends()
	}
	if outcome == "done" && op.definition != nil {
		s.applied.succeeded(op.definition)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(op, outcome, took, errOut.String())
}

// begins notes that a command is at work until it ends.
func (s *soak) begins(op *operation) (ends func()) {
	now := revision(s.t)
	s.mu.Lock()
	defer s.mu.Unlock()
	op.began = now
	s.begun = append(s.begun, op)
	return func() {
		now := revision(s.t)
		s.mu.Lock()
		defer s.mu.Unlock()
		op.ended = now
	}
}

// atWork are the commands that were at work at a revision.
func (s *soak) atWork(at uint64) (out []operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, op := range s.begun {
		if op.began < at && (op.ended == 0 || at <= op.ended) {
			out = append(out, *op)
		}
	}
	return out
}

// usual is how long a command takes: the mean of what was seen.
func (s *soak) usual(verb string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum time.Duration
	for _, d := range s.times[verb] {
		sum += d
	}
	if sum == 0 {
		return time.Second
	}
	return sum / time.Duration(len(s.times[verb]))
}

// outcome is how a command ended. A usage error, an error of the input and a panic are none that may be.
func (s *soak) outcome(op operation, err error, said string) string {
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return "done"
	case !errors.As(err, &exit):
		s.t.Error(err)
		return "failed"
	}
	status, _ := exit.Sys().(syscall.WaitStatus)
	switch signal := status.Signal(); { // -1 for a process that ended by itself
	case signal == syscall.SIGKILL:
		return "killed"
	case signal == syscall.SIGINT, strings.Contains(said, "Interrupted."):
		return "interrupted"
	}
	switch code := exit.ExitCode(); {
	case code == 4:
		return "held"
	case code == 5:
		return "timeout"
	case code == 1 && (strings.HasPrefix(op.verb, "repair") || op.verb == "state --problems"):
		return "problems"
	case code != 1, op.verb == "check": // it writes nothing, and so nothing of it can fail
		s.t.Errorf("%v: %v\n%s", op.args, err, said)
	}
	return "failed"
}

// count counts an outcome. The caller has the lock.
func (s *soak) count(op operation, outcome string, took time.Duration, said string) {
	if s.outcomes[op.verb] == nil {
		s.outcomes[op.verb] = map[string]int{}
	}
	s.outcomes[op.verb][outcome]++
	if outcome != "killed" {
		s.times[op.verb] = append(s.times[op.verb], took)
	}
	if outcome == "failed" || outcome == "timeout" {
		s.failures[op.verb+": "+said]++
	}
}
