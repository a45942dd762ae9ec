package console

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile/events"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// The line of each event, and that of a dry run.
func TestEventLines(t *testing.T) {
	done := func(s report.Summary) report.Event {
		return report.Event{Action: report.Done, Lease: testLease, Message: "active", Summary: &s}
	}
	got := golden.Cases{}
	for name, event := range map[string]report.Event{
		"an action":              {Action: report.Created, Kind: "ingress", Name: "a.b"},
		"a message":              {Action: report.Created, Kind: "ingress", Name: "a.b", Message: "m"},
		"what a thing lacks":     {Action: report.Lacks, Kind: "ingress", Name: "a.b", Message: "TLS"},
		"a missing proof":        {Action: report.Unproved, Kind: "host", Name: "a.b", Message: "which the error says"},
		"the next step":          {Action: report.Kept, Kind: "ingress", Name: "a.b", Next: "delete it"},
		"a lease":                done(report.Summary{Hosts: []string{"a", "b"}, Addresses: []string{"1.2.3.4"}, Withheld: 1, Unrouted: 1, Changed: true, Took: 1234 * time.Millisecond}),
		"a lease that is as was": done(report.Summary{}),
	} {
		got[name] = eventLine(event, "") + "\n" + DryRunLine(event) + "\n"
	}
	got.Check(t, "testdata/events.golden")
}

// In a pipe a wait is a line on standard error, with its times; with -o events it has them as keys.
func TestWaitsInAPipe(t *testing.T) {
	since := time.Date(2026, 11, 27, 14, 5, 1, 0, time.Local)
	event := report.Event{
		Action: report.Waiting, Lease: numbered(7), Kind: "lease", Name: numbered(7).Group().String(), Message: "for MetalLB", Since: since, Until: since.Add(2 * time.Minute),
	}
	for output, want := range map[string]string{
		"":           "lease/akash1owner/7/1 waiting for MetalLB (since 14:05:01, until 14:07:01 at most)\n",
		OutputEvents: `"since":"` + since.UTC().Format(time.RFC3339) + `","until":"` + since.UTC().Add(2*time.Minute).Format(time.RFC3339) + `"`,
	} {
		var out bytes.Buffer
		c := New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		NewEvents(&c, output, "").Report(event)
		if !strings.Contains(out.String(), want) {
			t.Errorf("with -o %q printed is\n%swant\n%s", output, out.String(), want)
		}
	}
}

// An acknowledgement is one line of JSON, whatever text it has, and what people read goes elsewhere.
func TestAcknowledge(t *testing.T) {
	var out, errOut bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, Text: &out, Terminal: true}
	e := NewEvents(c.ForData(), "", "")
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 2, Provider: "akash1p"}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, a := range []events.Ack{
		{Line: 3, Type: "ManifestReceived", Result: report.Event{Time: at, Action: report.Done, Lease: id, Message: "applied", Summary: &report.Summary{Hosts: []string{"a.example.com"}, Withheld: 1, Changed: true}}},
		{Line: 4, Retry: true, Result: report.Event{Time: at, Action: report.Failed, Err: errors.New("\x1b[31mtwo\nlines\u2028")}},
	} {
		if err := e.Acknowledge(a); err != nil {
			t.Error(err)
		}
	}
	e.Report(report.Event{Action: report.Claimed, Kind: "host", Name: "a.example.com"})
	const want = `{"schema":"net.akash.network/acks/v1","time":"2026-11-01T12:00:00Z","action":"done","lease":"akash1a/7/1/2/akash1p","message":"applied","hosts":["a.example.com"],"withheld":1,"changed":true,"line":3,"type":"ManifestReceived"}
{"schema":"net.akash.network/acks/v1","time":"2026-11-01T12:00:00Z","action":"failed","error":"\u001b[31mtwo\nlines\u2028","line":4,"retry":true}
`
	if out.String() != want || strings.TrimSpace(errOut.String()) != "host/a.example.com claimed" {
		t.Errorf("%s%s", &out, &errOut)
	}
}

// slow is a user who thinks for nine seconds before each answer.
type slow struct{ answer io.Reader }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(9 * time.Second)
	return s.answer.Read(p)
}

// Only yes is yes, and the command's time is not the user's.
func TestConfirm(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "YES\n": true, "n\n": false, "\n": false, "": false, "yes, no\n": false} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := &Console{IOStreams: genericiooptions.IOStreams{In: slow{bytes.NewBufferString(answer)}, ErrOut: &out}, begun: time.Now()}
			if got := c.Confirm("Release it?"); got != want {
				t.Errorf("%q is %t", answer, got)
			}
			if took := time.Since(c.begun); took != 0 {
				t.Errorf("%q: the command has worked for %s", answer, took)
			}
			if want := "Release it? [y/N] "; out.String() != want && out.String() != want+"\n" {
				t.Errorf("%q: %q", answer, &out)
			}
		})
	}
}
