package turn

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
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
		turn := &Turn{opts: Options{Lasts: Lasts}, renewed: now.Add(-tt.monotonic), renewedAt: now.Add(-tt.wall).Round(0)}
		if got := turn.stoodStill(); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// announced is a turn of a command that has announced itself in a cluster in memory.
func announced(t *testing.T) *Turn {
	t.Helper()
	c, err := cluster.OfObjects(nil)
	if err != nil {
		t.Fatal(err)
	}
	c = c.DryRun(cluster.DryRunClient)
	turn := New(c, ledger.New(c, "akash-net"), []lease.Group{{Owner: "akash1a", DSeq: 1, GSeq: 1}}, Options{By: "ann@laptop", AssumeCrashed: true})
	if err := turn.announce(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(turn.stop)
	return turn
}

// doubtful is isDoubtful.
func (t *Turn) doubtful() (is bool) {
	t.locked(func() { is = t.isDoubtful() })
	return is
}

// A write that is refused because an object has changed makes a turn doubtful, until its announcement is written again; any other
// refusal does not.
func TestConflictsMakeDoubtful(t *testing.T) {
	t.Parallel()
	turn := announced(t)
	refused := func(err error) bool {
		_ = turn.cluster.Write(t.Context(), func(context.Context) error { return err })
		return turn.doubtful()
	}
	if turn.doubtful() || refused(apierrors.NewForbidden(cluster.Leases.GroupResource(), "a", nil)) {
		t.Error("it is doubtful without a conflict")
	}
	if !refused(apierrors.NewConflict(cluster.Leases.GroupResource(), "a", nil)) {
		t.Error("it is not doubtful after a conflict")
	}
	if err := turn.renew(t.Context()); err != nil || turn.doubtful() {
		t.Errorf("it is doubtful after a renewal, %v", err)
	}
}

// Other commands are taken for crashed where the user says so, but not an uninstall.
func TestAssumeCrashed(t *testing.T) {
	t.Parallel()
	turn := announced(t)
	for phase, want := range map[state.Phase]bool{state.Active: true, state.Undoing: true, state.Closing: false} {
		other := &state.Announcement{Nonce: "other", Phase: phase, Renewed: time.Now(), Lasts: Lasts}
		if got := turn.isOver(other); got != want {
			t.Errorf("%s: %t", phase, got)
		}
	}
}

// That a command undoes its work is announced before it does, once, and anew after a conflict.
func TestUndoIsAnnounced(t *testing.T) {
	t.Parallel()
	turn := announced(t)
	undo := func() *state.Announcement {
		t.Helper()
		if err := turn.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
		there, err := turn.ledger.Announcements.Get(t.Context(), turn.nonce)
		if err != nil || there == nil || there.Phase != state.Undoing {
			t.Fatalf("announced is %+v, %v", there, err)
		}
		return there
	}
	first := undo()
	if again := undo(); again.ResourceVersion != first.ResourceVersion {
		t.Error("it is announced again")
	}
	_ = turn.cluster.Write(t.Context(), func(context.Context) error {
		return apierrors.NewConflict(cluster.Leases.GroupResource(), "a", nil)
	})
	if again := undo(); again.ResourceVersion == first.ResourceVersion {
		t.Error("in doubt it is not announced anew")
	}
}
