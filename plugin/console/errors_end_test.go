package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// The number of unprocessed leases is printed, unless the interrupt ended the command before any lease.
func TestInterruptCountsLeases(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{report.Failures{ofLease(1, ctx.Err()), ofLease(2, ctx.Err()), ofLease(3, errors.New("why"))}, "12 leases: 9 done, 1 failed, 2 not processed, 0s\n"},
		{report.Failures{ofLease(1, ctx.Err())}, "12 leases: 11 done, 1 not processed, 0s\n"},
		{fmt.Errorf("the claims: %w", ctx.Err()), ""},
	} {
		var out bytes.Buffer
		command := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, Leases: 12, begun: time.Now()}
		command.End(ctx, c.err)
		if text := out.String(); !strings.Contains(text, c.want) || strings.Contains(text, "not processed") != (c.want != "") {
			t.Errorf("%v: want %q, got\n%s", c.err, c.want, text)
		}
	}
}

// An interrupted command does not print the error of its context. It prints other errors, and the outcome of each lease.
func TestInterruptIsNoError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		err    error
		writes bool
		want   string
	}{
		{ctx.Err(), false, "Interrupted.\n"},
		{fmt.Errorf("Get https://cluster: %w", ctx.Err()), false, "Interrupted.\n"},
		{&DiffError{Err: ctx.Err()}, false, "Interrupted.\n"},
		{ctx.Err(), true, "Interrupted. Run the same command again to finish.\n"},
		{errors.Join(ctx.Err(), errors.New("the hold stays")), true, "Error: the hold stays\nInterrupted. Run the same command again to finish.\n"},
		{errors.New("forbidden"), false, "Error: forbidden\nInterrupted.\n"},
		{report.Failures{ofLease(1, ctx.Err())}, false, "Interrupted.\n2 leases: 1 done, 1 not processed, 0s\n"},
	} {
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, Leases: 2, readOnly: !tt.writes, begun: time.Now()}
		if code := c.End(ctx, tt.err); code != exitInterrupted || out.String() != tt.want {
			t.Errorf("%v: exit code %d, and\n%swant\n%s", tt.err, code, out.String(), tt.want)
		}
	}
}

// An interrupt is printed once for all leases, and decides the exit code.
func TestInterruptIsOneError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
	failures := report.Failures{errors.New("another error")}
	for i := range 9 {
		failures = append(failures, ofLease(uint64(i), context.Canceled))
	}
	code := c.End(ctx, failures)
	if text := out.String(); code != exitInterrupted || strings.Contains(text, "context canceled") || !strings.Contains(text, "another error") || !strings.Contains(text, "9 leases were not processed") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}

// ofLease is an error of one of many leases.
func ofLease(dseq uint64, err error, done ...string) error {
	return &report.LeaseError{Lease: lease.Group{Owner: "akash1owner", DSeq: dseq, GSeq: 1}, Err: err, Done: done, Rest: report.Rest{Stays: len(done) > 0}}
}

// A server that went away is one error, of however many leases and steps, with all that had been done.
func TestServerAwayIsOneError(t *testing.T) {
	away := func(unchanged bool) error {
		return &cluster.AwayError{Host: "https://cluster", After: 30e9, Err: errors.New("connection refused"), Unchanged: unchanged}
	}
	failures := report.Failures{ofLease(1, away(true)), ofLease(2, away(false), "host/a.example.com claimed"), ofLease(3, away(false), "host/b.example.com claimed")}
	failures = append(failures, ofLease(2, away(false), "host/a.example.com claimed")) // the next step of that lease
	for dseq := range uint64(197) {
		failures = append(failures, ofLease(dseq+4, away(false)))
	}
	var out bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, Leases: 210, begun: time.Now()}
	code := c.End(t.Context(), failures)
	want := `Error: the API server at https://cluster has stopped answering, for 30s now: connection refused
Done until then, and kept: host/a.example.com claimed, host/b.example.com claimed.
Run the same command again to finish.
210 leases: 10 done, 2 begun, 198 not processed, 0s
`
	if out.String() != want || code != exitFailed {
		t.Errorf("exit code %d, and\n%swant\n%s", code, out.String(), want)
	}

	out.Reset()
	c.readOnly = true // a dry run
	c.End(t.Context(), failures)
	if text := out.String(); strings.Contains(text, "kept") || strings.Contains(text, "run again") || !strings.Contains(text, "Nothing was changed.") {
		t.Errorf("a dry run says\n%s", text)
	}
}

// Each error names its lease if there are several. Changes that could not be undone are printed for each lease, also after a
// stop.
func TestFailuresNameTheirLeases(t *testing.T) {
	half := func(dseq uint64) error {
		return &report.HalfError{Lease: lease.ID{Owner: "akash1owner", DSeq: dseq, GSeq: 1}, Why: context.Canceled, Left: fmt.Errorf("host %d.example.com could not be given back", dseq)}
	}
	failures := report.Failures{ofLease(1, errors.New("forbidden")), ofLease(2, half(2)), ofLease(3, half(3))}
	for leases, want := range map[int][]string{
		1: {"Error: forbidden\n"},
		3: {"Error: lease akash1owner/1/1: forbidden\n", "host 2.example.com could not be", "Run the same command again to finish.\n", "host 3.example.com could not be"},
	} {
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, Leases: leases}
		c.End(t.Context(), failures[:leases])
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("of %d leases: no %q in\n%s", leases, text, out.String())
			}
		}
	}
}
