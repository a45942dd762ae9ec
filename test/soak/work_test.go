package soak_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
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
}

// soak is the work and what came of it.
type soak struct {
	t       *testing.T
	applied definitions
	files   atomic.Int64

	mu sync.Mutex
	// outcomes count how commands ended, by verb; times are how long they took.
	outcomes map[string]map[string]int
	times    map[string][]time.Duration
	// failures are what commands said that ended with exit code 1, with how often.
	failures map[string]int
	audits   int
	// trace has a line for each command: when it began and ended, how, and what it was.
	trace []string
}

// write keeps a definition in a file.
func (s *soak) write(text string) string {
	path := filepath.Join(plane.Dir, fmt.Sprintf("definition-%d.yaml", s.files.Add(1)))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Error(err)
	}
	return path
}

// next makes up a command for a deployment.
func (s *soak) next(t tenant, d int) operation {
	to := "--lease=" + t.lease(d)
	switch n := t.IntN(100); {
	case n < 32:
		file := s.write(t.definition(d))
		s.applied.remember(t.group(d), file)
		args := []string{"apply", "--timeout=30s", "-f", file}
		if t.IntN(8) == 0 {
			return operation{verb: "apply --prune=false", args: append(args, "--prune=false")}
		}
		return operation{verb: "apply", args: args}
	case n < 36:
		file := s.write(t.definition(d))
		s.applied.remember(t.group(d), file)
		return operation{verb: "apply --target httproute", args: []string{"apply", "--timeout=30s", "--target=httproute", "-f", file}}
	case n < 44:
		if file := s.applied.of(t.group(d)); file != "" {
			return operation{verb: "apply, the same again", args: []string{"apply", "--timeout=30s", "-f", file}}
		}
		return operation{verb: "check", reads: true, args: append([]string{"check", to}, t.some(4, t.thing)...)}
	case n < 54:
		args := append([]string{"reserve", to}, t.some(6, t.thing)...)
		if t.IntN(2) == 0 {
			args = append(args, "--prune=false")
		}
		return operation{verb: "reserve", args: args}
	case n < 58:
		return operation{verb: "reserve --address", args: []string{"reserve", to, "--prune=false", "--endpoint", t.endpoint(), "--address", "auto"}}
	case n < 60:
		address := fmt.Sprintf("10.99.0.%d", t.IntN(40))
		return operation{verb: "reserve --address IP", args: []string{"reserve", to, "--endpoint=fixed", "--address", address}}
	case n < 69:
		ends := []string{"1s", "3s", "6h"}[t.IntN(3)]
		return operation{verb: "reserve --expires", args: append([]string{"reserve", to, "--prune=false", "--expires", ends}, t.some(4, t.thing)...)}
	case n < 74:
		return operation{verb: "check", reads: true, args: append([]string{"check", to}, t.some(4, t.thing)...)}
	case n < 84:
		things := t.some(4, t.host)
		if t.IntN(3) == 0 {
			things = append(things, t.endpoint())
		}
		args := append([]string{"transfer", "--to=" + t.lease(d)}, things...)
		if t.IntN(3) == 0 {
			file := s.write(t.definition(d))
			s.applied.remember(t.group(d), file)
			return operation{verb: "transfer -f", args: append(args, "-f", file)}
		}
		return operation{verb: "transfer", args: args}
	case n < 89:
		return operation{verb: "release THING", args: append([]string{"release", t.group(d)}, t.some(3, t.host)...)}
	case n < 96:
		return operation{verb: "release", args: []string{"release", t.group(d)}}
	case n < 98:
		return operation{verb: "repair", args: []string{"repair", "--crashed-after", []string{"2m", "1m"}[t.IntN(2)]}}
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
				t := tenant{random, random.IntN(tenants)}
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
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := command(ctx, op.args...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	began := time.Now()
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
	outcome := s.outcome(op, err, errOut.String())
	if outcome == "done" {
		s.applied.succeeded(op.group, op.args)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, fmt.Sprintf("%s %5.2fs %s %s: %s", began.UTC().Format("15:04:05.00"), time.Since(began).Seconds(), op.group, outcome, strings.Join(op.args, " ")))
	s.count(op, outcome, time.Since(began), errOut.String())
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
	case code == 1 && (op.verb == "repair" || op.verb == "state --problems"):
		return "problems"
	case code != 1:
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
