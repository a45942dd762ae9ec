package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/report"
)

// What passes by itself is worth another try; what somebody has to mend is not.
func TestRetry(t *testing.T) {
	g := lease.Group{Owner: "akash1a", DSeq: 1, GSeq: 1}
	for _, tt := range []struct {
		err   error
		retry bool
	}{
		{&cluster.AwayError{Err: errors.New("refused")}, true},
		{fmt.Errorf("conflict: %w", ledger.ErrAgain), true},
		{&reservation.PendingError{}, true},
		{&report.TimeoutError{Waiting: []string{"a finalizer"}}, true},
		{context.Canceled, true},
		{report.Gather([]error{&report.LeaseError{Lease: g, Err: report.ErrChanged}}), true},
		{&report.HeldError{}, false},
		{&reservation.NotReservedError{}, false},
		{&DefinedError{&lease.Definition{}}, false},
		{lease.Problems{{Message: "wrong"}}, false},
		{errors.New("forbidden"), false},
	} {
		if a := failed(3, input.Event{}, tt.err); a.Retry != tt.retry || a.Line != 3 || a.Result.Err == nil {
			t.Errorf("%v: %+v", tt.err, a)
		}
	}
}

// An acknowledgement has its lease in a field of its own, and does not repeat it; of many problems it has the first.
func TestFailed(t *testing.T) {
	e := input.Event{Type: input.LeaseClosed, Lease: lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}}
	if a := failed(1, e, &report.LeaseError{Lease: e.Lease.Group(), Err: errors.New("why")}); a.Result.Err.Error() != "why" || a.Type != e.Type || a.Result.Lease != e.Lease {
		t.Errorf("%+v", a)
	}
	var many lease.Problems
	for i := range 1000 {
		many.Add(lease.Place{}, "problem %d", i)
	}
	if text := failed(1, e, many).Result.Err.Error(); !strings.HasSuffix(text, "problem 19\n… and 980 more") {
		t.Errorf("it says %s", text)
	}
}

// Each lease has its own error, and the one of the command as a whole.
func TestErrorOf(t *testing.T) {
	first, second := lease.Group{DSeq: 1}, lease.Group{DSeq: 2}
	of := func(g lease.Group) error { return &report.LeaseError{Lease: g, Err: errors.New("own")} }
	away := errors.New("away")
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"none":               {nil, "<nil>"},
		"its own":            {report.Failures{of(first), of(second)}, of(first).Error()},
		"another's":          {report.Failures{of(second)}, "<nil>"},
		"all's":              {away, "away"},
		"its own, and all's": {report.Failures{of(first), of(second), away}, of(first).Error() + "\naway"},
	} {
		if got := fmt.Sprint(errorOf(tt.err, first)); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// What a command reports of a lease becomes what is acknowledged.
func TestResult(t *testing.T) {
	for name, tt := range map[string]struct {
		event    string
		reported []report.Event
		want     string
	}{
		"won":               {"W1", []report.Event{{Action: report.Claimed}}, "reserved, changed"},
		"won before":        {"W1", []report.Event{{Action: report.Unchanged}}, "reserved"},
		"applied":           {"M1", []report.Event{{Action: report.Claimed}, {Action: report.Done, Message: "applied", Summary: &report.Summary{Changed: true}}}, "applied, changed"},
		"applied before":    {"M1", []report.Event{{Action: report.Done, Message: "applied", Summary: &report.Summary{}}}, "applied"},
		"closed":            {"C1", []report.Event{{Action: report.Deleted, Kind: "ingress"}, {Action: report.Released}}, "released, changed"},
		"holds nothing":     {"C1", []report.Event{{Action: report.Left, Kind: "lease", Message: "holds nothing"}}, "holds nothing"},
		"closed, with rest": {"C1", []report.Event{{Action: report.Released}, {Action: report.Left, Kind: "lease", Message: "1 object stays"}, {Action: report.Left, Kind: "namespace"}}, "released; 1 object stays, changed"},
	} {
		r := &result{}
		for _, e := range tt.reported {
			r.note(e)
		}
		a := r.ack(eventOf(tt.event, 4))
		got := a.Result.Message
		if a.Result.Summary.Changed {
			got += ", changed"
		}
		if got != tt.want || a.Line != 4 || a.Result.Action != report.Done {
			t.Errorf("%s: %s, %+v", name, got, a)
		}
	}
}
