package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

var testLease = lease.ID{Owner: "o", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "p"}

var otherLease = lease.ID{Owner: "p", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "p"}

func testConsole() (*Console, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &Console{IOStreams: genericiooptions.IOStreams{ErrOut: out}, running: true}, out
}

// The codes are those of the table in docs/commands.md.
func TestExitCodes(t *testing.T) {
	got := golden.Cases{}
	for _, c := range []struct {
		name string
		err  error
		code int
	}{
		{"nothing is wrong", nil, 0},
		{"any other error", errors.New("broken"), 1},
		{"a usage error", usage.Errorf("which one?"), 2},
		{"an invalid input", lease.Problems{{Message: "wrong"}}, 3},
		{"an input that wants a thing twice", lease.Problems{{Message: "wrong", Held: true}}, 4},
		{"a host that is not proved", &apply.UnprovedError{Lease: testLease}, 3},
		{"a thing of another lease", &report.HeldError{Lease: testLease, Held: []report.HeldThing{{Thing: "a.b"}}}, 4},
		{"objects that keep claims", &report.KeptError{}, 4},
		{"addresses outside a new configuration", &install.StrandedError{}, 4},
		{"another ledger than that of the claims", &install.LedgerLeftError{}, 4},
		{"a refused answer", &RefusedError{Err: errors.New("no room")}, 4},
		{"workloads of another lease", &workloads.TakenError{}, 4},
		{"an order that does not fit", &reservation.RefusedError{}, 4},
		{"an order without addresses", &reservation.AddressesError{}, 4},
		{"no free address", &report.ExhaustedError{}, 4},
		{"a wait that took too long", &report.TimeoutError{}, 5},
		{"another run of the same order", &reservation.TimeoutError{}, 5},
		{"old routes that must stay", &migrate.SettlingError{After: 90 * time.Second}, 5},
		{"what could not be given back", &report.HalfError{Why: errors.New("held"), Left: errors.New("host a.b could not be given back: forbidden")}, 1},
		{"a server that went away", &report.LeaseError{Err: &cluster.AwayError{Host: "https://cluster", After: 30e9, Err: errors.New("refused")}, Done: strings.Split(strings.Repeat("host/a.b claimed,", 11)+"x", ",")}, 1},
		{"a failed diff", &DiffError{Err: errors.New("broken")}, 6},
		{"a diff with differences", &ReportedError{Message: "differences"}, 1},
		{"an error that wraps another one", fmt.Errorf("lease x: %w", &report.TimeoutError{}), 5},
		{"the highest of several", report.Failures{&report.TimeoutError{}, errors.New("broken")}, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			con, out := testConsole()
			if code := con.End(t.Context(), c.err); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			got[c.name] = out.String()
		})
	}
	got.Check(t, "testdata/exit-codes.golden")
	con, _ := testConsole()
	con.running = false
	if code := con.End(t.Context(), errors.New("unknown flag")); code != 2 {
		t.Errorf("an error before the command runs has exit code %d", code)
	}
}

func TestInterruptedCommandsSayHowToResume(t *testing.T) {
	for _, c := range []struct {
		name             string
		readOnly, claims bool
		cause            error
		code             int
		want             string
	}{
		{"a command that writes nothing", true, false, context.Canceled, 130, "Interrupted.\n"},
		{"a command that claims, and has begun nothing", false, true, context.Canceled, 130, "Interrupted. Run the same command again to finish.\n"},
		{"a command that claims nothing", false, false, context.Canceled, 130, "Interrupted. Run the same command again to finish.\n"},
		{"SIGINT", true, false, &interrupted{syscall.SIGINT}, 130, "Interrupted.\n"},
		{"SIGTERM", true, false, &interrupted{syscall.SIGTERM}, 143, "Interrupted.\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(c.cause)
			con, out := testConsole()
			con.readOnly, con.claims = c.readOnly, c.claims
			if code := con.End(ctx, context.Canceled); code != c.code || !strings.HasSuffix(out.String(), c.want) {
				t.Errorf("exit code %d, want %d; printed %q", code, c.code, out.String())
			}
		})
	}
}

// "release" is offered only to a command that claims, and only for leases that it has made. Of others the hint says which definition is kept.
func TestFinishHint(t *testing.T) {
	const again = "Run the same command again to finish"
	made, former := report.Rest{Stays: true, Rewritten: true}, report.Rest{Held: true, Former: true}
	rewritten, nothing := report.Rest{Stays: true, Held: true, Rewritten: true}, report.Rest{}
	for name, tt := range map[string]struct {
		claims bool
		rests  []report.Rest
		want   string
	}{
		"nothing was begun":                  {true, nil, again + "."},
		"a new lease of which nothing stays": {true, []report.Rest{nothing}, again + "."},
		"new leases":                         {true, []report.Rest{made, made}, again + "; `kubectl akash-net release LEASE` undoes it."},
		"a lease with its former definition": {true, []report.Rest{former}, again + "; the former definition is kept: kubectl akash-net repair LEASE"},
		"a lease with the new definition":    {true, []report.Rest{rewritten}, again + "; the new definition is kept, too: kubectl akash-net repair LEASE"},
		"a lease without a definition":       {true, []report.Rest{{Stays: true, Held: true}}, again + "."},
		"a new lease and a live one":         {true, []report.Rest{made, rewritten}, again + "; `kubectl akash-net repair` finishes it by the definition that the ledger keeps."},
		"a command that claims nothing":      {false, []report.Rest{made}, again + "."},
	} {
		c, _ := testConsole()
		if c.claims = tt.claims; c.finishHint("LEASE", tt.rests) != tt.want {
			t.Errorf("%s: %q", name, c.finishHint("LEASE", tt.rests))
		}
	}
}

func TestHeldCells(t *testing.T) {
	since := time.Date(2026, 11, 18, 9, 4, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		by   state.Holder
		want string
	}{
		{"a lease", state.Holder{Lease: testLease, Namespace: "ns", Since: since, Service: "web", Port: 80}, "a.b|o/1/2/3|ns|2026-11-18T09:04:00Z|web:80"},
		{"an object of a lease", state.Holder{Lease: testLease, Object: "ingress x/a.b"}, "a.b|o/1/2/3 by ingress x/a.b|-|-|-"},
		{"an object without a lease", state.Holder{Object: "ingress x/a.b", Owner: "o"}, "a.b|ingress x/a.b|-|-|-"},
		{"only an owner", state.Holder{Owner: "o", Reason: "unreadable"}, "a.b|o (unreadable)|-|-|-"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(heldCells(report.HeldThing{Thing: "a.b", By: c.by}), "|"); got != c.want {
				t.Errorf("cells are %q, want %q", got, c.want)
			}
		})
	}
}

func TestHeldThingsSayHowToGetThem(t *testing.T) {
	thing := func(name string, by state.Holder) report.HeldThing { return report.HeldThing{Thing: name, By: by} }
	got := golden.Cases{}
	for name, held := range map[string][]report.HeldThing{
		"the holder is known":        {thing("a.b", state.Holder{Lease: testLease}), thing("c.d", state.Holder{})},
		"the holder is unknown":      {thing("a.b", state.Holder{})},
		"an object without a lease":  {thing("a.b", state.Holder{Object: "ingress x/y"})},
		"an object of this lease":    {thing("a.b", state.Holder{Lease: testLease, Object: "ingress x/y"})},
		"an object of another lease": {thing("*.b", state.Holder{Lease: otherLease, Object: "ingress x/y"})},
		"two owners in one input":    {{Thing: "a.b", At: lease.Place{File: "in", Line: 9}, By: state.Holder{Lease: testLease, Input: "in:1"}}},
	} {
		con, out := testConsole()
		con.printHeld(&report.HeldError{Lease: testLease, Held: held})
		got[name] = out.String()
	}
	got.Check(t, "testdata/held.golden")
}

func TestUnprovedHosts(t *testing.T) {
	con, out := testConsole()
	con.printUnproved(&apply.UnprovedError{Lease: testLease, Hosts: []apply.UnprovedHost{
		{Host: "a.b", Err: &dnsproof.Unproved{
			Asked:   []dnsproof.Exchange{{Server: "9.9.9.9:53", Type: "TXT", Name: "_akash-challenge.a.b", Answer: "refused"}},
			Note:    "without an answer",
			Records: []string{`_akash-challenge.a.b. TXT "o"`, "a.b. CNAME in.example.com."},
		}},
		{Host: "c.d", Err: errors.New("broken")},
	}})
	golden.Check(t, "testdata/unproved.golden", out.String())
}

func TestManyProblemsAreCounted(t *testing.T) {
	var problems lease.Problems
	for i := range maxPrinted + 2 {
		problems.Add(lease.Place{File: "a", Line: i + 1}, "wrong\n")
		problems.Warn(lease.Place{File: "a", Line: i + 1}, "strange")
	}
	problems.Add(lease.Place{File: "-"}, "wrong")
	con, out := testConsole()
	con.printProblems(problems)
	lines := strings.Split(out.String(), "\n")
	want := []string{"… and 3 more", "Error: standard input has 1 error", fmt.Sprintf("Error: a has %d errors", maxPrinted+2), ""}
	if diff := cmp.Diff(want, lines[maxPrinted:]); diff != "" {
		t.Error(diff)
	}
	con, out = testConsole()
	con.Warn(problems)
	lines = strings.Split(out.String(), "\n")
	if len(lines) != maxPrinted+2 || !strings.HasPrefix(lines[0], "Warning: a:1") || lines[maxPrinted] != "Warning: … and 2 more" {
		t.Errorf("warnings are %q", lines)
	}
}

func TestEventLines(t *testing.T) {
	done := func(s report.Summary) report.Event {
		return report.Event{Action: report.Done, Lease: testLease, Message: "active", Summary: &s}
	}
	for _, c := range []struct {
		name  string
		event report.Event
		want  string
	}{
		{"an action", report.Event{Action: report.Created, Kind: "ingress", Name: "a.b"}, "ingress/a.b created"},
		{"a message", report.Event{Action: report.Created, Kind: "ingress", Name: "a.b", Message: "m"}, "ingress/a.b created (m)"},
		{"what a thing lacks", report.Event{Action: report.Lacks, Kind: "ingress", Name: "a.b", Message: "TLS"}, "ingress/a.b " + string(report.Lacks) + " TLS"},
		{"the reason of a missing proof is in the error", report.Event{Action: report.Unproved, Kind: "host", Name: "a.b", Message: "m"}, "host/a.b " + string(report.Unproved)},
		{"the next step", report.Event{Action: report.Left, Kind: "ingress", Name: "a.b", Next: "delete it"}, "ingress/a.b left!: delete it"},
		{
			"a lease", done(report.Summary{Hosts: []string{"a", "b"}, Addresses: []string{"1.2.3.4"}, Withheld: 1, Unrouted: 1, Changed: true, Took: 1234 * time.Millisecond}),
			"lease o/1/2 is active: 1 host, 1 not routed over HTTP, 1 address (1.2.3.4), 1 withheld, 1.2s!",
		},
		{"an unchanged lease", done(report.Summary{}), "lease o/1/2 is active: 0 hosts, unchanged, 0s!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := strings.ReplaceAll(c.want, "!", "")
			if got := eventLine(c.event, ""); got != want {
				t.Errorf("line is %q, want %q", got, want)
			}
			before, after, _ := strings.Cut(c.want, "!")
			if got, want := DryRunLine(c.event), before+" (dry run)"+after; got != want {
				t.Errorf("line of a dry run is %q, want %q", got, want)
			}
		})
	}
}
