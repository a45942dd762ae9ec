package console

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/report"
)

// broken is a standard input whose Read panics.
type broken struct{}

func (broken) Read([]byte) (int, error) { panic("a reader\x1b[2J") }

// A panic in the goroutine that reads is an error of the command.
func TestFaultOfAReader(t *testing.T) {
	var out bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &terminal.SafeWriter{Out: &out}}, running: true}
	_, err := files.Interruptible(t.Context(), broken{}).Read(make([]byte, 1))
	if code := c.End(t.Context(), err); code != exitFailed || !strings.Contains(out.String(), "this is a fault of kubectl akash-net") {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
}

// A panic is printed as one sentence with a request to report it, and with its trace only if the variable is set.
func TestFault(t *testing.T) {
	for debug, wantTrace := range map[string]bool{"": false, "1": true} {
		t.Setenv(debugVariable, debug)
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &terminal.SafeWriter{Out: &out}}, running: true}
		code := func() (code int) {
			defer func() {
				code = c.ReportPanic(recover())
			}()
			_, err := parallel.Abandonable(context.Background(), func() (int, error) { return broken{}.Read(nil) })
			return c.End(context.Background(), err)
		}()
		text := out.String()
		if code != exitFailed || !strings.Contains(text, "this is a fault of kubectl akash-net") || !strings.Contains(text, "/issues (version ") ||
			strings.Contains(text, "\x1b") || strings.Contains(text, "fault_test.go") != wantTrace {
			t.Errorf("exit code %d with %s=%q\n%s", code, debugVariable, debug, text)
		}
		out.Reset()
		if code := c.End(context.Background(), report.Failures{errors.New("other"), &parallel.FaultError{Value: "x"}}); code != exitFailed || !strings.Contains(out.String(), "Error: other") {
			t.Errorf("exit code %d\n%s", code, out.String())
		}
	}
}
