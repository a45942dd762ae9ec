package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/dnsproof"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

var testLease = lease.ID{Owner: "o", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "p"}

var otherLease = lease.ID{Owner: "p", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "p"}

// ofLease is an error of one of many leases.
func ofLease(dseq uint64, err error, done ...string) error {
	return &report.LeaseError{Lease: lease.Group{Owner: "akash1owner", DSeq: dseq, GSeq: 1}, Err: err, Done: done, Rest: report.Rest{Stays: len(done) > 0}}
}

// held is an error of a lease that wants h0.b, h1.b, … of these holders.
func held(wants lease.ID, by ...state.Holder) error {
	e := &report.HeldError{Lease: wants}
	for i, h := range by {
		e.Held = append(e.Held, report.HeldThing{Kind: "host", Thing: fmt.Sprintf("h%d.b", i), By: h})
	}
	return e
}

// What commands say at their end, below their exit codes, which are those of the table in docs/commands.md: testdata/endings.golden.
func TestEndings(t *testing.T) {
	got := golden.Cases{}
	synctest.Test(t, func(t *testing.T) {
		endIn := func(ctx context.Context, name string, c *Console, err error) {
			var out bytes.Buffer
			c.ErrOut, c.Text, c.running, c.begun = &out, &out, true, time.Now()
			code := c.End(ctx, err)
			got[name] = fmt.Sprintf("%d\n%s", code, &out)
		}
		end := func(name string, c *Console, err error) { endIn(t.Context(), name, c, err) }
		for name, err := range map[string]error{
			"nothing is wrong":                       nil,
			"any other error":                        errors.New("broken"),
			"a usage error":                          usage.Errorf("which one?"),
			"an invalid input":                       lease.Problems{{Message: "wrong"}},
			"an input that wants a thing twice":      lease.Problems{{Message: "wrong", Held: true}},
			"objects that keep claims":               &report.KeptError{},
			"addresses outside a new configuration":  &install.StrandedError{},
			"another ledger than that of the claims": &install.LedgerLeftError{},
			"a refused answer":                       &RefusedError{Err: errors.New("no room")},
			"workloads of another lease":             &workloads.TakenError{},
			"an order that does not fit":             &reservation.RefusedError{},
			"an order without addresses":             &reservation.AddressesError{},
			"no free address":                        &report.ExhaustedError{},
			"a wait that took too long":              &report.TimeoutError{},
			"another run of the same order":          &reservation.TimeoutError{},
			"old routes that must stay":              &migrate.SettlingError{After: 90 * time.Second},
			"what could not be given back":           &report.HalfError{Why: errors.New("held"), Left: errors.New("host a.b could not be given back: forbidden")},
			"a server that went away": &report.LeaseError{Err: &cluster.AwayError{Host: "https://cluster", After: 30e9, Err: errors.New("refused")},
				Done: strings.Split(strings.Repeat("host/a.b claimed,", 11)+"x", ",")},
			"a failed diff":                   &DiffError{Err: errors.New("broken")},
			"a diff with differences":         &ReportedError{Message: "differences"},
			"an error that wraps another one": fmt.Errorf("lease x: %w", &report.TimeoutError{}),
			"the highest of several":          report.Failures{&report.TimeoutError{}, errors.New("broken")},
			"held by a lease, and by one that is not known": held(testLease,
				state.Holder{Lease: testLease, Namespace: "ns", Since: time.Date(2026, 11, 18, 9, 4, 0, 0, time.UTC), Service: "web", Port: 80}, state.Holder{}),
			"held by a lease that is not known":              held(testLease, state.Holder{}),
			"held by an owner":                               held(testLease, state.Holder{Owner: "o", Reason: "unreadable"}),
			"used by a node":                                 held(testLease, state.Holder{Object: "node own-1"}),
			"used by an object without a lease":              held(testLease, state.Holder{Object: "ingress x/y", Owner: "o"}),
			"used by an object of this lease":                held(testLease, state.Holder{Lease: testLease, Object: "ingress x/y"}),
			"used by an object of another lease":             held(testLease, state.Holder{Lease: otherLease, Object: "ingress x/y"}),
			"used, the first of two":                         held(testLease, state.Holder{Object: "ingress x/y"}, state.Holder{Lease: otherLease}),
			"used, the last of two":                          held(testLease, state.Holder{Lease: otherLease}, state.Holder{Object: "ingress x/y"}),
			"held by two leases":                             held(testLease, state.Holder{Lease: testLease}, state.Holder{Lease: otherLease}),
			"held by thousands: the first of them are named": held(testLease, make([]state.Holder, 1000)...),
			"wanted by two owners in one input": &report.HeldError{Lease: testLease, Held: []report.HeldThing{
				{Thing: "a.b", At: lease.Place{File: "in", Line: 9}, By: state.Holder{Lease: testLease, Input: "in:1"}}}},
			"a wildcard that another lease's object would be": &report.HeldError{Lease: testLease, Held: []report.HeldThing{
				{Thing: "*.b", By: state.Holder{Lease: otherLease, Object: "ingress x/y"}}}},
			"hosts that are not proved": &apply.UnprovedError{Lease: testLease, Hosts: []apply.UnprovedHost{
				{Host: "a.b", Err: &dnsproof.Unproved{
					Asked:   []dnsproof.Exchange{{Server: "9.9.9.9:53", Type: "TXT", Name: "_akash-challenge.a.b", Answer: "refused"}},
					Note:    "without an answer",
					Records: []string{`_akash-challenge.a.b. TXT "o"`, "a.b. CNAME in.example.com."},
				}},
				{Host: "c.d", Err: errors.New("broken")},
			}},
		} {
			end(name, &Console{}, err)
		}

		// What the cluster refuses for every lease is said once, with how many they are; what is different, and what is of a lease
		// alone, is said of each.
		missing := &kinds.MissingError{Resource: schema.GroupVersionResource{Group: "route.openshift.io", Version: "v1", Resource: "routes"}}
		forbidden := func(name string) error {
			return fmt.Errorf("not allowed to patch it: %w", apierrors.NewForbidden(cluster.Leases.GroupResource(), name, errors.New("you may not")))
		}
		half := func(dseq uint64, why error) error {
			return ofLease(dseq, &report.HalfError{Lease: lease.ID{Owner: "akash1owner", DSeq: dseq, GSeq: 1}, Why: why, Left: fmt.Errorf("host %d.b could not be given back", dseq)})
		}
		var alike report.Failures
		for dseq := range uint64(300) {
			alike = append(alike, ofLease(dseq+1, missing))
		}
		alike = append(alike, ofLease(1, missing), // the next step of that lease
			ofLease(1, forbidden("a")), ofLease(2, forbidden("a")), ofLease(3, forbidden("b")), ofLease(4, errors.New("taken")), ofLease(5, errors.New("taken")), half(6, missing))
		end("one error for many leases", &Console{Leases: 300}, alike)
		failures := report.Failures{ofLease(1, errors.New("forbidden")), half(2, context.Canceled), half(3, context.Canceled)}
		end("one lease", &Console{Leases: 1}, failures[:1])
		end("errors of several leases", &Console{Leases: 3}, failures)

		// A server that went away is one error, of however many leases and steps, with all that had been done.
		away := func(unchanged bool) error {
			return &cluster.AwayError{Host: "https://cluster", After: 30e9, Err: errors.New("connection refused"), Unchanged: unchanged}
		}
		gone := report.Failures{
			ofLease(1, away(true)), ofLease(2, away(false), "host/a.b claimed"), ofLease(3, away(false), "host/b.b claimed"),
			ofLease(2, away(false), "host/a.b claimed"), // the next step of that lease
		}
		for dseq := range uint64(197) {
			gone = append(gone, ofLease(dseq+4, away(false)))
		}
		end("a server that left many leases", &Console{Leases: 210}, gone)
		end("a server that left a dry run", &Console{Leases: 210, readOnly: true}, gone)

		// An interrupt is no error, and does not hide one. What is left of leases is counted.
		for signal, cause := range map[string]error{"": context.Canceled, "SIGINT: ": &interrupted{syscall.SIGINT}, "SIGTERM: ": &interrupted{syscall.SIGTERM}} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			stopped := context.Canceled
			endIn(ctx, signal+"interrupted", &Console{claims: true}, stopped)
			endIn(ctx, signal+"interrupted reading", &Console{readOnly: true}, fmt.Errorf("Get https://cluster: %w", stopped))
			if signal != "" {
				continue
			}
			endIn(ctx, "an interrupted diff", &Console{readOnly: true}, &DiffError{Err: stopped})
			endIn(ctx, "an error and an interrupt", &Console{readOnly: true}, errors.New("forbidden"))
			endIn(ctx, "an interrupt and what stays", &Console{}, errors.Join(stopped, errors.New("the hold stays")))
			endIn(ctx, "an interrupt between leases", &Console{Leases: 12}, report.Failures{ofLease(1, stopped), ofLease(2, stopped), ofLease(3, errors.New("why"))})
			endIn(ctx, "an interrupt before a lease", &Console{Leases: 2, readOnly: true}, report.Failures{ofLease(1, stopped)})
			endIn(ctx, "an interrupt before any lease", &Console{Leases: 12}, fmt.Errorf("the claims: %w", stopped))
		}

		// On a terminal no message wraps within a word, what it says to type is one line, and the names in a usage error stay whole: it lists
		// the leases that a short name may mean.
		const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
		holder := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider}
		wants := lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 5905803, GSeq: 1, OSeq: 1, Provider: provider}
		by := state.Holder{Lease: holder, Namespace: holder.Namespace(), Since: time.Date(2026, 11, 21, 4, 47, 23, 0, time.UTC), Service: "web", Port: 80}
		for _, width := range []int{40, 80} {
			in := func() *Console { return &Console{width: func() int { return width }} }
			end(fmt.Sprint(width, " columns, held"), in(), held(wants, by))
			end(fmt.Sprint(width, " columns, usage"), in(), usage.Errorf("type one of\n  %s", holder.Group()))
			end(fmt.Sprint(width, " columns, a lease"), in(), fmt.Errorf("lease %s is closing", holder.Group()))
		}
	})
	early := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &bytes.Buffer{}}}
	if code := early.End(t.Context(), errors.New("unknown flag")); code != report.ExitUsage {
		t.Errorf("an error before the command runs has exit code %d", code)
	}
	got.Check(t, "testdata/endings.golden")
}

// "release" is offered only to a command that claims, and only for leases that it has made. Of others the hint says which definition is kept.
func TestFinishHint(t *testing.T) {
	made, former := report.Rest{Stays: true, Rewritten: true}, report.Rest{Held: true, Former: true}
	rewritten := report.Rest{Stays: true, Held: true, Rewritten: true}
	got := golden.Cases{}
	for name, rests := range map[string][]report.Rest{
		"nothing was begun":                  nil,
		"a new lease of which nothing stays": {{}},
		"new leases":                         {made, made},
		"a lease with its former definition": {former},
		"a lease with the new definition":    {rewritten},
		"a lease without a definition":       {{Stays: true, Held: true}},
		"a new lease and a live one":         {made, rewritten},
	} {
		got[name] = fmt.Sprintf("%s\n%s\n", (&Console{claims: true}).finishHint("LEASE", rests), (&Console{}).finishHint("LEASE", rests))
	}
	got.Check(t, "testdata/hints.golden")
}

// Errors in an input and warnings are counted after many. On a terminal they and the lines of events are folded between words, each below
// its beginning; names, with which scripts go on, are not.
func TestProblems(t *testing.T) {
	var many lease.Problems
	for i := range maxPrinted + 2 {
		many.Add(lease.Place{File: "a", Line: i + 1}, "wrong\n")
		many.Warn(lease.Place{File: "a", Line: i + 1}, "strange")
	}
	many.Add(lease.Place{File: "-"}, "wrong")
	problems := lease.Problems{
		{At: lease.Place{File: "deploy.yaml", Line: 14, Column: 13}, Message: "99999 is not a port (1 to 65535)"},
		{At: lease.Place{File: "deploy.yaml", Line: 15, Column: 13}, Message: "this key is not known", Warning: true},
	}
	event := report.Event{Action: report.Withheld, Kind: "host", Name: "shop.example.com", Message: "held by deployment 8438017"}
	got := golden.Cases{}
	for name, output := range map[string]string{"many": "", "on a terminal": "", "on a terminal, -o name": OutputName} {
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, Text: &out, running: true}
		if name == "many" {
			c.printProblems(many)
			c.Warn(many)
		} else {
			c.width, c.outWidth = func() int { return 40 }, func() int { return 40 }
			c.printProblems(problems)
			c.Warn(problems)
			NewEvents(c, output, "").Report(event)
		}
		got[name] = out.String()
	}
	got.Check(t, "testdata/problems.golden")
}

// broken is a standard input whose Read panics.
type broken struct{}

func (broken) Read([]byte) (int, error) { panic("a reader\x1b[2J") }

// A panic, also in the goroutine that reads, is one sentence with a request to report it, and its trace only if the variable is set.
func TestFault(t *testing.T) {
	for debug, wantTrace := range map[string]bool{"": false, "1": true} {
		t.Setenv(debugVariable, debug)
		var out bytes.Buffer
		c := &Console{IOStreams: genericiooptions.IOStreams{ErrOut: &terminal.SafeWriter{Out: &out}}, running: true}
		_, read := files.Interruptible(t.Context(), broken{}).Read(make([]byte, 1))
		for other, end := range map[string]func() int{
			"a reader": func() int { return c.End(t.Context(), read) },
			"a worker": func() (code int) {
				defer func() { code = c.ReportPanic(recover()) }()
				_, err := parallel.Abandonable(t.Context(), func() (int, error) { return broken{}.Read(nil) })
				return c.End(t.Context(), err)
			},
			"Error: other": func() int { return c.End(t.Context(), report.Failures{errors.New("other"), read}) },
		} {
			out.Reset()
			code := end()
			if text := out.String(); code != report.ExitFailed || !strings.Contains(text, "this is a fault of kubectl akash-net") || !strings.Contains(text, "/issues (version ") ||
				strings.Contains(text, "\x1b") || strings.Contains(text, "errors_test.go") != wantTrace || strings.Contains(text, "Error: other") != (other == "Error: other") {
				t.Errorf("%s: exit code %d with %s=%q\n%s", other, code, debugVariable, debug, text)
			}
		}
	}
}

// The total names what there is of each, and counts each lease once.
func TestTotal(t *testing.T) {
	stays, nothing := report.Rest{Stays: true}, report.Rest{}
	live := func(n int) []string { return strings.Fields(strings.Repeat("live ", n)) }
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
