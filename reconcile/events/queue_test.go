package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/report"
)

// eventOf is an event of a deployment: "M2" is ManifestReceived of deployment 2, "W" and "C" are the other types.
func eventOf(text string, number int) *event {
	e := &event{number: number, Event: input.Event{Type: map[byte]input.EventType{
		'W': input.LeaseWon, 'M': input.ManifestReceived, 'C': input.LeaseClosed,
	}[text[0]], Lease: lease.ID{Owner: "akash1a", GSeq: 1, OSeq: 1, Provider: "akash1p"}}}
	_, _ = fmt.Sscan(text[1:], &e.Lease.DSeq)
	return e
}

// Events of one deployment group begin one after the other, as they came; those of others may begin before, with the first that is of their
// type.
func TestQueue(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting, busy string
		most          int
		want          string
	}{
		"nothing":                              {"", "", 9, ""},
		"all of a type":                        {"M1 M2 M3", "", 9, "M1 M2 M3"},
		"as many as may":                       {"M1 M2 M3", "", 2, "M1 M2"},
		"the type of the first":                {"M1 C2 M3 W4", "", 9, "M1 M3"},
		"one of a group":                       {"M1 M1 M2", "", 9, "M1 M2"},
		"not before what is of another type":   {"M1 C2 M2 M3", "", 9, "M1 M3"},
		"not before what is busy":              {"M1 C2 M1", "1", 9, "C2"},
		"nothing, as all are busy":             {"M1 C2", "1 2", 9, ""},
		"what another order of the group asks": {"C1 M1", "", 9, "C1"},
	} {
		q := queue{busy: map[lease.Group]bool{}}
		for i, text := range strings.Fields(tt.waiting) {
			q.add(eventOf(text, i))
		}
		for _, dseq := range strings.Fields(tt.busy) {
			q.busy[eventOf("M"+dseq, 0).Lease.Group()] = true
		}
		var got []string
		for _, e := range q.next(tt.most) {
			letter := map[input.EventType]string{input.LeaseWon: "W", input.ManifestReceived: "M", input.LeaseClosed: "C"}[e.Type]
			got = append(got, fmt.Sprintf("%s%d", letter, e.Lease.DSeq))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s: %s, want %s", name, text, tt.want)
		}
		if rest := len(strings.Fields(tt.waiting)) - len(got); rest != len(q.waiting) {
			t.Errorf("%s: %d wait, want %d", name, len(q.waiting), rest)
		}
	}
}

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

// Lines have the numbers that an editor shows; one that is too long is told before it ends, and the next one is read.
func TestScan(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		in   io.Reader
		want []string
		err  error
	}{
		"lines":                    {strings.NewReader("a\nb\n"), []string{"1 a", "2 b"}, nil},
		"the last without its end": {strings.NewReader("a\nb"), []string{"1 a", "2 b"}, nil},
		"of Windows":               {strings.NewReader("a\r\n\r\nb\r\n"), []string{"1 a", "3 b"}, nil},
		"blank ones":               {strings.NewReader("\n \t\na\n\n"), []string{"3 a"}, nil},
		"byte by byte":             {iotest.OneByteReader(strings.NewReader("ab\ncd")), []string{"1 ab", "2 cd"}, nil},
		"as long as may be":        {strings.NewReader(strings.Repeat("x", 100_000) + "\r\nb"), []string{"1 " + strings.Repeat("x", 100_000), "2 b"}, nil},
		"a byte too long":          {strings.NewReader(strings.Repeat("x", 100_001) + "\nb\n" + strings.Repeat("y", 500_000) + "\nc"), []string{"1 too long", "2 b", "3 too long", "4 c"}, nil},
		"endless":                  {io.MultiReader(strings.NewReader("a\n"+strings.Repeat("x", 300_000)), iotest.ErrReader(broken)), []string{"1 a", "2 too long"}, broken},
		"broken in a line":         {io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), []string{"1 a"}, broken},
	} {
		var got []string
		_, err := scan(tt.in, 100_000, 0, func(l line) bool {
			if l.long {
				got = append(got, fmt.Sprintf("%d too long", l.number))
			} else {
				got = append(got, fmt.Sprintf("%d %s", l.number, l.text))
			}
			return true
		})
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: %.200q, %v", name, got, err)
		}
	}
	if last, err := scan(strings.NewReader("a\nb\nc"), 9, 7, func(l line) bool { return l.number < 9 }); last != 9 || err != nil {
		t.Errorf("it has gone on to line %d, %v", last, err)
	}
}
