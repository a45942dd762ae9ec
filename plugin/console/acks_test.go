package console

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile/events"
	"github.com/akash-net/kubectl-akash-net/report"
)

// An acknowledgement is one line of JSON, whatever text it has, and what people read goes elsewhere.
func TestAcknowledge(t *testing.T) {
	var out, errOut bytes.Buffer
	c := &Console{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, Text: &out, Terminal: true}
	e := NewEvents(c.ForData(), "", "")
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 2, Provider: "akash1p"}
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, a := range []events.Ack{
		{Line: 3, Type: "ManifestReceived", Result: report.Event{
			Time: at, Action: report.Done, Lease: id, Message: "applied", Summary: &report.Summary{Hosts: []string{"a.example.com"}, Withheld: 1, Changed: true},
		}},
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
