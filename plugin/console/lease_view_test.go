package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// onTerminal is a command whose output is a terminal.
type onTerminal struct {
	*Console
	written bytes.Buffer
}

// erase is what a terminal takes the rest of a line away for.
const erase = "\r\x1b[K"

func newOnTerminal(leases int) *onTerminal {
	t := &onTerminal{}
	s := terminal.NewStatusOn(&t.written, func() int { return 40 })
	t.Console = &Console{
		IOStreams: genericiooptions.IOStreams{Out: &t.written, ErrOut: &terminal.SafeWriter{Out: s.Wrap(&t.written)}}, Text: &terminal.SafeWriter{Out: s.Wrap(&t.written)},
		running: true, Terminal: true, status: s, Leases: leases, begun: time.Now(),
	}
	return t
}

// seen is what stays on the terminal.
func (t *onTerminal) seen() string {
	var out strings.Builder
	for line := range strings.Lines(t.written.String()) {
		if i := strings.LastIndex(line, erase); i >= 0 {
			line = line[i+len(erase):]
		}
		out.WriteString(line)
	}
	return out.String()
}

func numbered(n int) lease.ID {
	return lease.ID{Owner: "akash1owner", DSeq: uint64(n), GSeq: 1, OSeq: 1, Provider: "akash1provider"}
}

// happened is an event of a numbered lease, with what it is about as KIND/NAME.
func happened(n int, action report.Action, what, message string) report.Event {
	kind, name, _ := strings.Cut(what, "/")
	return report.Event{Action: action, Lease: numbered(n), Kind: kind, Name: name, Message: message}
}

func finished(n int) report.Event {
	e := happened(n, report.Done, "lease/"+numbered(n).String(), "live")
	e.Summary = &report.Summary{Hosts: []string{fmt.Sprintf("%d.example.com", n)}, Changed: true, Took: time.Second}
	return e
}

func failedWith(n int, err error) report.Event {
	e := happened(n, report.Failed, "lease/"+numbered(n).String(), "")
	e.Err = err
	return e
}

// On a terminal each object has at most one line, and the objects of each lease follow its name.
func TestOnATerminal(t *testing.T) {
	next := happened(1, report.Kept, "namespace/n1", "to delete it")
	next.Next = "kubectl delete"
	problem := func(n int) report.Event {
		return happened(n, report.Repaired, fmt.Sprintf("StaleHold/%d.example.com", n), "given up")
	}
	nobodys := problem(9)
	nobodys.Lease = lease.ID{}
	apart := happened(1, report.Created, "ingress/1.example.com", "")
	apart.Namespace = "elsewhere"
	away := &cluster.AwayError{Host: "https://cluster", Err: errors.New("refused")}
	begun := failedWith(1, away)
	begun.Rest.Stays = true
	two := []report.Event{happened(1, report.Claimed, "host/1.example.com", ""), finished(1)}
	once := []report.Event{
		happened(1, report.Created, "service/web", ""), happened(1, report.Granted, "service/web", "203.0.113.0"), apart, happened(1, report.Created, "ingress/1.example.com", ""),
		happened(1, report.Skipped, "service/web", ""), finished(1),
	}
	got := golden.Cases{}
	for name, tt := range map[string]struct {
		leases int
		events []report.Event
		output string
		dryRun string
	}{
		"a dry run of one lease":    {leases: 1, events: two, dryRun: command.DryRunClient},
		"a dry run of two leases":   {leases: 2, events: two, dryRun: command.DryRunClient},
		"a dry run of many leases":  {leases: 9, events: two, dryRun: command.DryRunClient},
		"-o name, an object once":   {leases: 9, events: once, output: OutputName},
		"-o events, a line for all": {leases: 9, events: once, output: OutputEvents},
		"a pipe, a line for all":    {leases: 9, events: once},
		"one lease": {leases: 1, events: []report.Event{
			happened(1, report.Proved, "host/1.example.com", "by TXT"), happened(1, report.Claimed, "host/1.example.com", ""),
			happened(1, report.Unchanged, "namespace/n1", ""),
			happened(1, report.Created, "service/web", ""), happened(1, report.Granted, "service/web", "203.0.113.0"),
			happened(1, report.Created, "ingress/1.example.com", ""), apart, finished(1),
		}},
		"one lease, without an end": {leases: 1, events: []report.Event{
			happened(1, report.Deleted, "ingress/1.example.com", ""), happened(1, report.Released, "host/1.example.com", ""), next,
		}},
		"one lease that was refused": {leases: 1, events: []report.Event{failedWith(1, errors.New("held"))}},
		"leases side by side": {leases: 3, events: []report.Event{
			happened(1, report.Claimed, "host/1.example.com", ""), happened(2, report.Claimed, "host/2.example.com", ""),
			finished(2), failedWith(3, errors.New("held")),
			happened(1, report.Released, "host/1.example.com", ""), failedWith(1, errors.New("forbidden")), failedWith(1, errors.New("forbidden")),
		}},
		"a server that went away": {leases: 3, events: []report.Event{
			happened(1, report.Claimed, "host/1.example.com", ""), begun, failedWith(2, away),
			happened(3, report.Claimed, "host/3.example.com", ""), happened(3, report.Released, "host/3.example.com", "given back"), failedWith(3, away),
		}},
		"many leases": {leases: 6, events: []report.Event{
			happened(1, report.Claimed, "host/1.example.com", ""), happened(2, report.Claimed, "host/2.example.com", ""),
			happened(2, report.Unconfirmed, "dns/2.example.com", "why"), happened(2, report.Lacks, "httproute/2.example.com", "a limit"), finished(2), happened(7, report.Released, "host/7.example.com", ""), happened(3, report.Deleted, "ingress/3.example.com", ""),
			happened(4, report.Claimed, "host/4.example.com", ""), failedWith(4, errors.New("held")), failedWith(5, errors.New("held")), failedWith(6, context.Canceled),
			happened(3, report.Deleted, "service/3", ""), happened(3, report.Released, "host/3.example.com", ""),
		}},
		"problems": {leases: 0, events: []report.Event{problem(1), problem(2), nobodys}},
	} {
		t.Run(name, func(t *testing.T) {
			term := newOnTerminal(tt.leases)
			if term.Terminal = !strings.Contains(name, "pipe"); !term.Terminal || tt.output != "" {
				term.status = &terminal.Status{}
			}
			e := NewEvents(term.Console, tt.output, tt.dryRun)
			for _, event := range tt.events {
				e.Report(event)
			}
			if code := term.End(t.Context(), nil); code != 0 {
				t.Errorf("exit code %d", code)
			}
			got[name] = term.seen()
		})
	}
	got.Check(t, "testdata/on-terminal.golden")
}

// The status line stays below other output, is not longer than the width of the terminal, and is removed at the end.
func TestProgressOnATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		term := newOnTerminal(6)
		e := NewEvents(term.Console, "", "")
		e.Progress("leases", 0, 6)
		time.Sleep(time.Second) // of the bubble's clock
		e.Report(happened(1, report.Claimed, "host/1.example.com", ""))
		e.Report(finished(1))
		e.Progress("leases (of a step with a long name)", 1, 6)
		fmt.Fprintln(term.ErrOut, "Warning: of the server")
		e.Progress("leases", 2, 6)
		term.End(t.Context(), report.Failures{&report.LeaseError{Lease: numbered(2).Group(), Err: errors.New("forbidden")}})
		want := erase + "0 of 6 leases" +
			erase + "lease akash1owner/1/1 is live: 1 host, 1s\n" +
			erase + "1 of 6 leases (of a step with a long…" +
			erase + "Warning: of the server\n" +
			erase + "2 of 6 leases, 2.0/s, 2s to go" +
			erase + "Error: lease akash1owner/2/1: forbidden\n" +
			"6 leases: 4 done, 1 live, 1 failed, 1s\n"
		if diff := cmp.Diff(want, term.written.String()); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	})
}

// On a terminal the last event of a few leases, and a wait, is the status, after the progress if there is one. A wait leaves no line, and
// control characters are escaped.
func TestStatusOnATerminal(t *testing.T) {
	term := newOnTerminal(1)
	e := NewEvents(term.Console, "", "")
	e.Progress("leases", 0, 1)
	e.Report(happened(1, report.Created, "service/web\x1b[2J", ""))
	if got, want := term.written.String(), erase+`service/web\x1b[2J created`; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	since := time.Date(2026, 11, 27, 14, 5, 1, 0, time.Local)
	wait := report.Event{Action: report.Waiting, Lease: numbered(7), Kind: "lease", Name: numbered(7).Group().String(), Message: "for MetalLB", Since: since, Until: since.Add(2 * time.Minute)}
	for leases, want := range map[int]string{
		1:  erase + "lease/akash1owner/7/1 waiting for…",
		10: erase + "0 of 10 leases; lease/akash1owner/7/1…",
	} {
		x := newOnTerminal(leases)
		e := NewEvents(x.Console, "", "")
		e.Progress("leases", 0, leases)
		e.Report(wait)
		if !strings.HasSuffix(x.written.String(), want) {
			t.Errorf("%d leases: %q, want %q at the end", leases, x.written.String(), want)
		}
		e.view.flush()
		if x.seen() != "" {
			t.Errorf("%d leases: %q stays", leases, x.seen())
		}
		e.Report(wait) // a watch has no end: a lease that has failed waits for nothing
		e.Report(report.Event{Action: report.Failed, Lease: numbered(7), Kind: "lease", Name: numbered(7).Group().String(), Err: errors.New("forbidden")})
		if leases == 1 && x.seen() != "" {
			t.Errorf("after it has failed %q stays", x.seen())
		}
	}
}
