package plugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply"
)

// What an interrupt has left undone is said in numbers, unless it ended the command before any lease.
func TestInterruptCountsLeases(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{apply.Failures{fmt.Errorf("lease 1: %w", ctx.Err()), fmt.Errorf("lease 2: %w", ctx.Err()), errors.New("lease 3")}, "It ended the work on 2 of 12 leases; 9 were done.\n"},
		{apply.Failures{fmt.Errorf("lease 1: %w", ctx.Err())}, "It ended the work on 1 of 12 leases; 11 were done.\n"},
		{fmt.Errorf("the claims: %w", ctx.Err()), ""},
	} {
		var out bytes.Buffer
		command := &cli{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, leases: 12}
		command.end(ctx, c.err)
		if text := out.String(); !strings.Contains(text, c.want) || strings.Contains(text, "It ended") != (c.want != "") {
			t.Errorf("%v: want %q, got\n%s", c.err, c.want, text)
		}
	}
}

// An interrupt is one error, of however many leases, and has the exit code of the interrupt.
func TestInterruptIsOneError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	c := &cli{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
	failures := apply.Failures{errors.New("another error")}
	for i := range 9 {
		failures = append(failures, fmt.Errorf("lease %d: %w", i, context.Canceled))
	}
	code := c.end(ctx, failures)
	if text := out.String(); code != exitInterrupted || strings.Count(text, "context canceled") != 1 || !strings.Contains(text, "another error") || !strings.Contains(text, "ended the work on 9 leases") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}
