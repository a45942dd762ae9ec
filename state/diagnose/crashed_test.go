package diagnose

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// A run has crashed if its command no longer renews its announcement or ended with unfinished work, unless a running
// command has taken over.
func TestCrashedRuns(t *testing.T) {
	const another = "another"
	fenced := func(by string) *state.Announcement {
		a := announced("n0nce", 10)
		a.Phase, a.FencedBy = state.Fenced, by
		return a
	}
	runs := func(runs ...*state.Announcement) []*state.Announcement { return runs }
	for name, tt := range map[string]struct {
		runs    []*state.Announcement
		own     string
		after   time.Duration
		crashed bool
	}{
		"renewed a moment ago":                      {runs: runs(announced("n0nce", 10))},
		"not renewed since":                         {runs: runs(announced("n0nce", 9)), crashed: true},
		"renewed, but not since a shorter time":     {runs: runs(announced("n0nce", 10)), after: -1, crashed: true},
		"its announcement is gone":                  {runs: []*state.Announcement{}},
		"it has ended in the middle":                {runs: runs(fenced("n0nce")), crashed: true},
		"another command works in its place":        {runs: runs(fenced(another), announced(another, 10))},
		"another command has crashed in its place":  {runs: runs(fenced(another), announced(another, 9)), crashed: true},
		"another command has ended and left it":     {runs: runs(fenced(another)), crashed: true},
		"the command that asks works in its place":  {runs: runs(fenced(another), announced(another, 10)), own: another, crashed: true},
		"the command that asks has marked it":       {runs: runs(announced("n0nce", 9)), own: "n0nce"},
		"a command of another nonce is not renewed": {runs: runs(announced("n0nce", 10), announced(another, 10))},
		"a second run of the command, not renewed":  {runs: runs(announced("n0nce", 9)), crashed: true},
		"the command in its place was itself fenced": {runs: runs(fenced(another), func() *state.Announcement {
			a := announced(another, 10)
			a.Phase, a.FencedBy = state.Fenced, another
			return a
		}()), crashed: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFacts(t)
			f.holds(statetest.Shop, atHost, func(p *state.Part) {
				if p.Run = "n0nce"; strings.HasPrefix(name, "a second run") {
					p.Run = state.Mark("n0nce", 1)
				}
			})
			f.Runs, f.Own = tt.runs, tt.own
			if tt.after != 0 {
				f.CrashedAfter = 0
			}
			found := slices.ContainsFunc(f.find(), func(p state.Problem) bool { return p.Problem == state.CrashedRun && p.Thing == atHost })
			if found != tt.crashed {
				t.Errorf("crashed: %v, want %v", found, tt.crashed)
			}
		})
	}
}

// An uninstall that has crashed keeps the ledger closed: by its announcement, or by its mark on the namespace alone.
func TestCrashedUninstalls(t *testing.T) {
	closing := func(nonce string, minute int) *state.Announcement {
		a := announced(nonce, minute)
		a.Phase, a.Groups = state.Closing, nil
		return a
	}
	for name, tt := range map[string]struct {
		runs     []*state.Announcement
		closedBy string
		deleting bool
		want     string
	}{
		"an uninstall at work":                      {[]*state.Announcement{closing("n0nce", 10)}, "n0nce", false, ""},
		"one that is not renewed since":             {[]*state.Announcement{closing("n0nce", 9)}, "n0nce", false, "n0nce"},
		"one that has not marked the namespace yet": {[]*state.Announcement{closing("n0nce", 9)}, "", false, "n0nce"},
		"a mark without an announcement":            {nil, "n0nce", false, "n0nce"},
		"a mark on a namespace that is deleted":     {nil, "n0nce", true, ""},
		"a crash while the namespace is deleted":    {[]*state.Announcement{closing("n0nce", 9)}, "n0nce", true, ""},
		"an open ledger":                            {[]*state.Announcement{announced("n0nce", 10)}, "", false, ""},
	} {
		f := newFacts(t)
		f.Runs, f.ClosedBy = tt.runs, tt.closedBy
		f.Namespaces[f.Config.LedgerNamespace] = !tt.deleting
		found := f.find()
		if tt.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: found %+v", name, found)
			}
			continue
		}
		if len(found) != 1 || found[0].Name() != "CrashedRun/run--"+tt.want || found[0].Mend != (state.OpenLedger{Nonce: tt.want}) || found[0].Manual {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

// A crashed command without marks is reported too: other commands wait until its announcement expires.
func TestCrashedRunsThatLeftNothing(t *testing.T) {
	f := newFacts(t)
	f.holds(statetest.Shop, atHost)
	f.Runs = []*state.Announcement{announced("n0nce", 9), announced("working", 10)}
	found := f.find()
	if len(found) != 1 || found[0].Name() != "CrashedRun/run--n0nce" || !reflect.DeepEqual(found[0].Mend, state.DropAnnouncement{Of: f.Runs[0].Groups}) {
		t.Fatalf("found %+v", found)
	}
	if m := found[0].Message; !strings.HasPrefix(m, "run n0nce of ann@laptop, begun ") || !strings.HasSuffix(m, ", did not finish, and has left nothing") {
		t.Errorf("it is said %q", m)
	}
	f.Own = "own"
	f.Runs[0].Phase, f.Runs[0].FencedBy = state.Fenced, "own"
	if found := f.find(); len(found) > 0 {
		t.Errorf("what the command's end takes away is found: %+v", found)
	}
}
