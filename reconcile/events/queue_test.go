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
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// eventOf is an event of a deployment: "M2" is ManifestReceived of deployment 2, "W" and "C" are the other types.
func eventOf(text string, number int) *event {
	e := &event{number: number, Event: input.Event{Type: map[byte]input.EventType{
		'W': input.LeaseWon, 'M': input.ManifestReceived, 'C': input.LeaseClosed,
	}[text[0]], Lease: lease.ID{Owner: "akash1a", GSeq: 1, OSeq: 1, Provider: "akash1p"}}}
	_, _ = fmt.Sscan(text[1:], &e.Lease.DSeq)
	return e
}

// What becomes of events and of the errors of commands: testdata/rules.txt. Events are as eventOf has them.
//
//	queue   the events that wait, "| busy" deployments and "| most" that may begin: those that begin. Of one deployment group they begin one after
//	        the other, as they came; those of others may begin before, with the first that is of their type
//	retry   an error: what passes by itself is worth another try, what somebody has to mend is not
//	error   the errors of a command, of which "own" is that of a lease, "other" another one's
//	result  an event, and what is reported of it, as "ACTION KIND MESSAGE; …": what is acknowledged
func TestRules(t *testing.T) {
	g := lease.Group{Owner: "akash1a", DSeq: 1, GSeq: 1}
	errs := map[string]error{
		"away": &cluster.AwayError{Err: errors.New("refused")}, "conflict": fmt.Errorf("conflict: %w", ledger.ErrAgain), "pending": &reservation.PendingError{},
		"timeout": &report.TimeoutError{Waiting: []string{"a finalizer"}}, "canceled": context.Canceled,
		"changed": report.Gather([]error{&report.LeaseError{Lease: g, Err: report.ErrChanged}}),
		"held":    &report.HeldError{}, "unreserved": &reservation.NotReservedError{}, "defined": &DefinedError{&lease.Definition{}}, "problems": lease.Problems{{Message: "wrong"}},
		"forbidden": errors.New("forbidden"), "own": &report.LeaseError{Lease: g, Err: errors.New("own")},
		"other": &report.LeaseError{Lease: lease.Group{DSeq: 2}, Err: errors.New("other")},
	}
	golden.Rules{
		"queue": func(line string) string {
			parts := append(strings.Split(line, "|"), "", "")
			q := queue{busy: map[lease.Group]bool{}}
			waiting := strings.Fields(parts[0])
			for i, text := range waiting {
				q.add(eventOf(text, i))
			}
			for _, dseq := range strings.Fields(parts[1]) {
				q.busy[eventOf("M"+dseq, 0).Lease.Group()] = true
			}
			most := 9
			_, _ = fmt.Sscan(parts[2], &most)
			var got []string
			for _, e := range q.next(most) {
				got = append(got, waiting[e.number])
			}
			if len(waiting)-len(got) != len(q.waiting) {
				t.Errorf("%s: %d wait", line, len(q.waiting))
			}
			return strings.Join(got, " ")
		},
		"retry": func(line string) string {
			a := failed(3, input.Event{}, errs[line])
			if a.Line != 3 || a.Result.Err == nil {
				t.Errorf("%s: %+v", line, a)
			}
			return fmt.Sprint(a.Retry)
		},
		"error": func(line string) string {
			var failures report.Failures
			for _, name := range strings.Fields(line) {
				failures = append(failures, errs[name])
			}
			switch len(failures) {
			case 0:
				return fmt.Sprint(errorOf(nil, g))
			case 1:
				return fmt.Sprint(errorOf(failures[0], g), " / ", errorOf(failures, g))
			}
			return fmt.Sprint(errorOf(failures, g))
		},
		"result": func(line string) string {
			event, reported, _ := strings.Cut(line, " ")
			r := &result{}
			for _, text := range strings.Split(reported, "; ") {
				words := append(strings.SplitN(text, " ", 3), "", "")
				e := report.Event{Action: report.Action(words[0]), Kind: words[1], Message: words[2]}
				if message, changed := strings.CutSuffix(e.Message, " changed"); e.Action == report.Done {
					e.Message, e.Summary = message, &report.Summary{Changed: changed}
				}
				r.note(e)
			}
			a := r.ack(eventOf(event, 4))
			if a.Line != 4 || a.Result.Action != report.Done {
				t.Errorf("%s: %+v", line, a)
			}
			return a.Result.Message + map[bool]string{true: ", changed"}[a.Result.Summary.Changed]
		},
	}.Check(t, "testdata/rules.txt")
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
