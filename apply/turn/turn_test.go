package turn

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

// An announcement whose answer was lost is known by what was to be written; one that another command has fenced is not.
func TestIsWritten(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 123_456_789, time.UTC)
	want := &state.Announcement{Phase: state.Active, Renewed: now}
	stored := now.Truncate(time.Microsecond) // as the API server keeps it
	fencing := &state.Announcement{Phase: state.Fenced, FencedBy: "own", Renewed: now}
	for name, tt := range map[string]struct {
		there, want *state.Announcement
		is          bool
	}{
		"nothing is there":                {nil, want, false},
		"it is there":                     {&state.Announcement{Phase: state.Active, Renewed: stored}, want, true},
		"an earlier renewal is there":     {&state.Announcement{Phase: state.Active, Renewed: stored.Add(-time.Second)}, want, false},
		"it was fenced":                   {&state.Announcement{Phase: state.Fenced, FencedBy: "other", Renewed: stored}, want, false},
		"the end of the turn is there":    {&state.Announcement{Phase: state.Fenced, FencedBy: "own", Renewed: stored}, fencing, true},
		"it was fenced at the end's time": {&state.Announcement{Phase: state.Fenced, FencedBy: "other", Renewed: stored}, fencing, false},
	} {
		if got := isWritten(tt.there, tt.want); got != tt.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Each run of a command has a mark of its own with the nonce of the command.
func TestMarks(t *testing.T) {
	turn := &Turn{nonce: "n"}
	first, second := turn.Mark(), turn.Mark()
	if first == second || state.NonceOf(first) != "n" || state.NonceOf(second) != "n" {
		t.Errorf("marks %q and %q", first, second)
	}
}

// A command that stood still asks before its next write whether it was taken for crashed, also if the machine was
// suspended: the monotonic clock stands still then.
func TestStoodStill(t *testing.T) {
	now := time.Now()
	for name, tt := range map[string]struct {
		monotonic, wall time.Duration
		want            bool
	}{
		"it was renewed just now":        {0, 0, false},
		"the process was stopped":        {Lasts, Lasts, true},
		"the machine was suspended":      {0, time.Hour, true},
		"the wall clock was turned back": {Lasts, -time.Hour, true},
	} {
		turn := &Turn{renewed: now.Add(-tt.monotonic), renewedAt: now.Add(-tt.wall).Round(0)}
		if got := turn.stoodStill(); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
