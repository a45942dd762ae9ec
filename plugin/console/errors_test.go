package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// Below a wildcard others may hold thousands of hosts: the first are named, and the others counted.
func TestManyHeldAreCounted(t *testing.T) {
	for n, want := range map[int][]string{
		1:    {"Error: h0.example.com is held by another lease\n"},
		2:    {"Error: h0.example.com, h1.example.com are held by another lease\n"},
		1000: {", h9.example.com and 990 more are held by another lease\n", "\n  h49.example.com ", "\n  … and 950 more\n", "Nothing was changed for lease"},
	} {
		held := &report.HeldError{}
		for i := range n {
			held.Held = append(held.Held, report.HeldThing{Kind: "host", Thing: fmt.Sprintf("h%d.example.com", i)})
		}
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
		c.End(t.Context(), held)
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%d held: no %q in:\n%s", n, text, out.String())
			}
		}
		if lines := strings.Count(out.String(), "\n"); lines > 60 {
			t.Errorf("%d held: %d lines", n, lines)
		}
	}
}

// A node and an Ingress use what nobody has claimed; no lease holds it.
func TestWhatNoLeaseHoldsIsInUse(t *testing.T) {
	node, ingress := state.Holder{Object: "node own-1"}, state.Holder{Object: "ingress a/b", Namespace: "a"}
	other := state.Holder{Lease: lease.ID{Owner: "o", DSeq: 1, GSeq: 2, OSeq: 3}, Object: "ingress a/b"}
	claimed := state.Holder{Lease: other.Lease}
	for want, by := range map[string][]state.Holder{
		"Error: 0.a is in use already\n":                      {node},
		"Error: 0.a, 1.a are in use already\n":                {ingress, other},
		"Error: 0.a, 1.a, 2.a are in use already\n":           {claimed, other, {Owner: "o", Object: "ingress a/b"}},
		"Error: 0.a is held by another lease\n\n  HOST":       {claimed},
		"Error: 0.a, 1.a are held by another lease\n\n  HOST": {claimed, claimed},
	} {
		held := &report.HeldError{}
		for i := range by {
			held.Held = append(held.Held, report.HeldThing{Kind: "host", Thing: fmt.Sprintf("%d.a", i), By: by[i]})
		}
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true}
		if c.End(t.Context(), held); !strings.HasPrefix(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
}

// What the cluster refuses for every lease is said once, with how many they are; what is different, and what is of a lease
// alone, is said of each.
func TestOneErrorForManyLeases(t *testing.T) {
	missing := func() error {
		return &cluster.MissingKindError{Resource: schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}}
	}
	forbidden := func(name string) error {
		return fmt.Errorf("not allowed to patch it: %w", apierrors.NewForbidden(cluster.Leases.GroupResource(), name, errors.New("you may not")))
	}
	failures := report.Failures{}
	for dseq := range uint64(300) {
		failures = append(failures, ofLease(dseq+1, missing()))
	}
	failures = append(failures, ofLease(1, missing())) // the next step of that lease
	failures = append(failures, ofLease(1, forbidden("a")), ofLease(2, forbidden("a")), ofLease(3, forbidden("b")), ofLease(4, errors.New("taken")), ofLease(5, errors.New("taken")))
	failures = append(failures, ofLease(6, &report.HalfError{Lease: lease.ID{Owner: "akash1owner", DSeq: 6, GSeq: 1}, Why: missing(), Left: errors.New("stays")}))

	var out bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, running: true, Leases: 300}
	if code := c.End(t.Context(), failures); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	for text, want := range map[string]int{
		"does not serve routes.route.openshift.io": 2, // one is of the lease that could not give back what it took
		"/1/1 and 299 more leases: this cluster":   1,
		"you may not":                              2,
		"/1/1 and 1 more lease: not allowed":       1,
		"/3/1: not allowed":                        1,
		": taken":                                  2,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%q %d times, want %d, in\n%s", text, got, want, out.String())
		}
	}
}

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

// On a terminal of 80 and of 40 columns the message about a conflict does not wrap within a word, and what it says to type is one line.
func TestConflictOnTerminal(t *testing.T) {
	const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	holder := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
	wants := lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 5905803, GSeq: 1, OSeq: 1, Provider: provider}
	held := &report.HeldError{Lease: wants, Held: []report.HeldThing{{Kind: "host", Thing: "shop.example.com", By: state.Holder{
		Lease: holder, Namespace: holder.Namespace(), Since: time.Date(2026, 11, 21, 4, 47, 23, 0, time.UTC), Service: "web", Port: 80,
	}}}}
	got := golden.Cases{}
	for _, width := range []int{40, 80} {
		c, out := testConsole()
		c.width = func() int { return width }
		c.printHeld(held)
		got[fmt.Sprint(width)] = out.String()
	}
	got.Check(t, "testdata/conflict.golden")
}

// The names in a usage error stay whole: it lists the leases that a short name may mean.
func TestUsageErrorNamesLeasesInWhole(t *testing.T) {
	const name = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1"
	for err, want := range map[error]string{
		usage.Errorf("type one of\n  %s", name):        "  " + name + "\n",
		terminalError("lease " + name + " is closing"): "Error: lease akash1h24…9w3c9h/8438017/1 is closing\n",
	} {
		c, out := testConsole()
		c.width = func() int { return 80 }
		if c.print(err); !strings.Contains(out.String(), want) {
			t.Errorf("%q has no %q", out.String(), want)
		}
	}
	if terminal.Cells(name) > 80 {
		t.Fatal("the name is folded")
	}
}

type terminalError string

func (e terminalError) Error() string { return string(e) }

// On a terminal the errors in an input and the lines of events are folded between words, each below its beginning; names, with which
// scripts go on, are not.
func TestLinesOnTerminal(t *testing.T) {
	problems := lease.Problems{
		{At: lease.Place{File: "deploy.yaml", Line: 14, Column: 13}, Message: "99999 is not a port (1 to 65535)"},
		{At: lease.Place{File: "deploy.yaml", Line: 15, Column: 13}, Message: "this key is not known", Warning: true},
	}
	event := report.Event{Action: report.Withheld, Kind: "host", Name: "shop.example.com", Message: "held by deployment 8438017"}
	got := golden.Cases{}
	for _, output := range []string{"", OutputName} {
		c, out := testConsole()
		c.width, c.outWidth, c.Text = func() int { return 40 }, func() int { return 40 }, out
		c.printProblems(problems)
		c.Warn(problems)
		NewEvents(c, output, "").Report(event)
		got["-o "+output] = out.String()
	}
	got.Check(t, "testdata/lines.golden")
}

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
			strings.Contains(text, "\x1b") || strings.Contains(text, "errors_test.go") != wantTrace {
			t.Errorf("exit code %d with %s=%q\n%s", code, debugVariable, debug, text)
		}
		out.Reset()
		if code := c.End(context.Background(), report.Failures{errors.New("other"), &parallel.FaultError{Value: "x"}}); code != exitFailed || !strings.Contains(out.String(), "Error: other") {
			t.Errorf("exit code %d\n%s", code, out.String())
		}
	}
}

// The total names what there is of each, and counts each lease once.
func TestTotal(t *testing.T) {
	stays, nothing := report.Rest{Stays: true}, report.Rest{}
	live := func(n int) (states []string) {
		for range n {
			states = append(states, "live")
		}
		return states
	}
	for want, tt := range map[string]struct {
		leases   int
		states   []string
		stop     stop
		readOnly bool
	}{
		"200 leases: 199 live, 1 failed, 6.1s":                       {200, live(199), stop{failed: 1}, false},
		"2 leases: 1 applied, 1 live, 6.1s":                          {2, []string{"live", "applied"}, stop{}, false},
		"6 leases: 2 live, 1 failed, 1 begun, 2 not processed, 6.1s": {6, live(2), stop{failed: 4, rests: []report.Rest{stays, nothing, nothing}}, false},
		"3 leases: 1 done, 2 not processed, 6.1s":                    {3, nil, stop{failed: 2, rests: []report.Rest{stays, nothing}}, true},
		"2 leases: 2 failed, 6.1s":                                   {2, live(1), stop{failed: 2}, false},
	} {
		if got := totalOf(tt.leases, tt.states, tt.stop, tt.readOnly, 6100*time.Millisecond).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
