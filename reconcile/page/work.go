package page

import (
	"regexp"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// ProblemRow is a problem, and what mends it.
type ProblemRow struct {
	ID, Kind, Thing, Message, Plan string
	// Command mends it. Copy is true if all of it is plain, so that a shell does what one reads.
	Command string
	Copy    bool
	Since   time.Time
}

func problemRow(p *state.Problem) ProblemRow {
	r := ProblemRow{
		ID: "problem/" + p.Name(), Kind: p.Problem, Thing: p.Thing, Message: clip(p.Message), Plan: p.Plan, Command: p.Repair(), Since: p.Since.Time,
	}
	r.Copy = isPlain(r.Command)
	return r
}

// plain matches a command of plain words, of which some may be quoted.
var plain = regexp.MustCompile(`^(?:[a-zA-Z0-9 ._/:=@%+,-]|'[a-zA-Z0-9 ._/:=@%+,*-]*')+$`)

// isPlain reports whether a shell takes each word of a command as it stands.
func isPlain(command string) bool { return len(command) <= 1000 && plain.MatchString(command) }

// CommandRow is a command that has not ended.
type CommandRow struct {
	ID, By, Version, Phase string
	// Stands describes it in a sentence.
	Stands string
	Since  time.Time
	Leases []Tenant
	// More counts the leases that are not in Leases.
	More int
}

// fewLeases is how many leases of a command are named.
const fewLeases = 5

func commandRow(a *state.Announcement, now time.Time) CommandRow {
	r := CommandRow{
		ID: "command/" + a.Nonce, By: clip(a.By), Version: clip(a.Version), Phase: "Active", Stands: clip(a.Stands(now)), Since: a.Begun,
	}
	switch {
	case a.Unreadable != "":
		r.Phase = view.StateUnreadable
	case a.Phase == state.Fenced, a.Over(now):
		r.Phase = "Crashed"
	case a.Phase == state.Undoing:
		r.Phase = "Undoing"
	case a.Phase == state.Closing:
		r.Phase = "Closing"
	}
	for i, g := range a.Groups {
		if i == fewLeases {
			r.More = len(a.Groups) - fewLeases
			break
		}
		r.Leases = append(r.Leases, groupOf(g))
	}
	return r
}
