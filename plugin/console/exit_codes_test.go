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
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/dnsproof"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

var testLease = lease.ID{Owner: "o", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "p"}

var otherLease = lease.ID{Owner: "p", DSeq: 1, GSeq: 2, OSeq: 3, Provider: "p"}

func testConsole() (*Console, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &Console{IOStreams: genericiooptions.IOStreams{ErrOut: out}, running: true}, out
}

// The codes are those of the table in docs/commands.md.
func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		code  int
		prose string
	}{
		{"nothing is wrong", nil, 0, ""},
		{"any other error", errors.New("broken"), 1, "Error: broken\n"},
		{"a usage error", usage.Errorf("which one?"), 2, "Error: which one?\nSee 'kubectl akash-net --help' for usage.\n"},
		{"an invalid input", lease.Problems{{Message: "wrong"}}, 3, "Error: wrong\n"},
		{"an input that wants a thing twice", lease.Problems{{Message: "wrong", Held: true}}, 4, "Error: wrong\n"},
		{"a host that is not proved", &apply.UnprovedError{Lease: testLease}, 3, "Nothing was changed for lease o/1/2/3/p.\n"},
		{"a thing of another lease", &report.HeldError{Lease: testLease, Held: []report.HeldThing{{Thing: "a.b"}}}, 4, "Error: a.b is held by another lease\n"},
		{"objects that keep claims", &report.KeptError{}, 4, "Error: "},
		{"addresses outside a new configuration", &install.StrandedError{}, 4, "Error: "},
		{"another ledger than that of the claims", &install.LedgerLeftError{}, 4, "Error: "},
		{"a refused answer", &RefusedError{Err: errors.New("no room")}, 4, "Error: no room\n"},
		{"workloads of another lease", &workloads.TakenError{}, 4, "Error: "},
		{"an order that does not fit", &reservation.RefusedError{}, 4, "Error: "},
		{"an order without addresses", &reservation.AddressesError{}, 4, "Error: "},
		{"no free address", &report.ExhaustedError{}, 4, "Nothing was changed. Release leases that are over"},
		{"a wait that took too long", &report.TimeoutError{}, 5, "run the same command again to continue waiting.\n"},
		{"another run of the same order", &reservation.TimeoutError{}, 5, "Nothing was changed; try again.\n"},
		{"old routes that must stay", &migrate.SettlingError{After: 90 * time.Second}, 5, "with --timeout=1m31s it waits for that now.\n"},
		{"a failed diff", &DiffError{Err: errors.New("broken")}, 6, "Error: broken\n"},
		{"a diff with differences", &ReportedError{Message: "differences"}, 1, ""},
		{"an error that wraps another one", fmt.Errorf("lease x: %w", &report.TimeoutError{}), 5, "Error: lease x: "},
		{"the highest of several", report.Failures{&report.TimeoutError{}, errors.New("broken")}, 5, "Error: broken\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			con, out := testConsole()
			if code := con.End(t.Context(), c.err); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if got := out.String(); !strings.Contains(got, c.prose) || (got == "") != (c.prose == "") {
				t.Errorf("printed %q, want %q", got, c.prose)
			}
		})
	}
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
	for _, c := range []struct {
		name string
		held []report.HeldThing
		want string
	}{
		{
			"the holder is known", []report.HeldThing{{Thing: "a.b", By: state.Holder{Lease: testLease}}, {Thing: "c.d"}},
			"Error: a.b, c.d are held by another lease\n\n|The holder can release it: kubectl akash-net release o/1/2\n",
		},
		{"the holder is unknown", []report.HeldThing{{Thing: "a.b"}}, "The holder can release it: kubectl akash-net release LEASE\n"},
		{
			"an object without a lease", []report.HeldThing{{Thing: "a.b", By: state.Holder{Object: "ingress x/y"}}},
			"Nobody has claimed a.b, and ingress x/y uses it, which names no lease. To see what it serves: kubectl -n x get ingress y -o yaml\n",
		},
		{
			"an object of this lease", []report.HeldThing{{Thing: "a.b", By: state.Holder{Lease: testLease, Object: "ingress x/y"}}},
			"Error: a.b is in use already\n|ingress x/y serves it in the namespace of this lease. To claim it: the same command with --adopt\n",
		},
		{
			"an object of another lease", []report.HeldThing{{Thing: "*.b", By: state.Holder{Lease: otherLease, Object: "ingress x/y"}}},
			"Its owner claims it with: kubectl akash-net reserve '*.b' --adopt --lease p/1/2/3/p\n",
		},
		{
			"two owners in one input", []report.HeldThing{{Thing: "a.b", At: lease.Place{File: "in", Line: 9}, By: state.Holder{Lease: testLease, Input: "in:1"}}},
			"Error: a.b is wanted by two owners of this input: first by lease o/1/2/3/p (in:1), then by lease o/1/2/3/p (in:9",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			con, out := testConsole()
			con.printHeld(&report.HeldError{Lease: testLease, Held: c.held})
			for _, want := range strings.Split(c.want, "|") {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s", want, out.String())
				}
			}
			if n := strings.Count(out.String(), "Nothing was changed for lease o/1/2/3/p.\n"); n != 1 {
				t.Errorf("it says %d times that nothing was changed:\n%s", n, out.String())
			}
		})
	}
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
	want := `Error: a.b, c.d are not proved to belong to o

  HOST   ASKED FOR                  OF           ANSWER
  a.b    TXT _akash-challenge.a.b   9.9.9.9:53   refused
  a.b    -                          -            without an answer
  c.d    -                          -            broken

The tenant can prove it with these DNS records:
  _akash-challenge.a.b. TXT "o"
  or  a.b. CNAME in.example.com.

Nothing was changed for lease o/1/2/3/p.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
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
