package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/plugin"
)

// Deadline limits every wait and every run of the program; a passing test needs far less.
const Deadline = 2 * time.Minute

// Result is the exit code and the output of a run of the program.
type Result struct {
	Args           []string
	Code           int
	Stdout, Stderr string
}

func (r Result) String() string {
	return fmt.Sprintf("%s: exit code %d\n--- stdout\n%s--- stderr\n%s", strings.Join(r.Args, " "), r.Code, r.Stdout, r.Stderr)
}

// Exits ends the test unless the exit code is as wanted.
func (r Result) Exits(t *testing.T, code int) Result {
	t.Helper()
	if r.Code != code {
		t.Fatalf("want exit code %d: %s", code, r)
	}
	return r
}

// Prints fails the test unless standard output contains each text.
func (r Result) Prints(t *testing.T, texts ...string) Result {
	t.Helper()
	return r.has(t, "standard output", r.Stdout, texts)
}

// Says fails the test unless standard error contains each text.
func (r Result) Says(t *testing.T, texts ...string) Result {
	t.Helper()
	return r.has(t, "standard error", r.Stderr, texts)
}

// Tells fails the test unless standard output or standard error contains each text.
func (r Result) Tells(t *testing.T, texts ...string) Result {
	t.Helper()
	return r.has(t, "the output", r.Stdout+r.Stderr, texts)
}

// has fails the test unless output contains each text.
func (r Result) has(t *testing.T, where, output string, texts []string) Result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(output, text) {
			t.Errorf("%s has no %q: %s", where, text, r)
		}
	}
	return r
}

// Run runs the plugin in this process, as the administrator.
func Run(ctx context.Context, args ...string) Result { return RunAs(ctx, Plane.Kubeconfig, args...) }

// RunAs is Run with another kubeconfig.
func RunAs(ctx context.Context, kubeconfig string, args ...string) Result {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}
	code := plugin.Main(ctx, append([]string{Program, "--kubeconfig", kubeconfig}, args...), streams)
	return Result{Args: args, Code: code, Stdout: out.String(), Stderr: errOut.String()}
}

// Command returns a command that runs the built program.
func Command(ctx context.Context, kubeconfig string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(Binaries(), Program), args...) //nolint:gosec // the program that was built
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	return cmd
}

// Execute runs the built program and waits for its end.
func Execute(ctx context.Context, kubeconfig string, args ...string) Result {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	return Finish(Command(ctx, kubeconfig, args...))
}

// Finish runs a command and waits for its end.
func Finish(cmd *exec.Cmd) Result { return Start(cmd)() }

// Start starts a command and returns a function that waits for its end.
func Start(cmd *exec.Cmd) (end func() Result) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Start()
	return func() Result {
		if err == nil {
			err = cmd.Wait()
		}
		r := Result{Args: cmd.Args[1:], Stdout: out.String(), Stderr: errOut.String()}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			r.Code = exit.ExitCode()
		} else if err != nil {
			r.Code, r.Stderr = -1, r.Stderr+err.Error()
		}
		return r
	}
}

// Kubectl runs kubectl as the administrator, with text on its standard input and further environment variables. Its
// error has the output.
func Kubectl(ctx context.Context, stdin string, env []string, args ...string) error {
	path, err := programs.Path("kubectl")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...) //nolint:gosec // the kubectl of the testbed
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+Plane.Kubeconfig), env...)
	return Succeed(cmd)
}

// Succeed runs a command. Its error has the output.
func Succeed(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
