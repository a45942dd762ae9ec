package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
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
