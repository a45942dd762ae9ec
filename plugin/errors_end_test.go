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
