package commands

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

// A command renews its announcement while it works: what it took at first is not given up, however long ago that is, and
// what a crashed one took is.
func TestRepairLeavesARunThatWorks(t *testing.T) {
	working, dead := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	domain := newDomain()
	took, left := "took."+domain, "left."+domain
	c := plant(t, state.HostWant{Host: took}.Hold(working), func(p *state.Part) { p.Run = "crashed" })
	removeLater(t, claims, ledger, took)
	removeLater(t, claims, ledger, state.AnnouncementName(c.Parts[0].Run))
	announce(t, working.Group(), c.Parts[0].Run, -15*time.Second) // repair watches it for 20 seconds
	plant(t, state.HostWant{Host: left}.Hold(dead), func(p *state.Part) { p.Run = "crashed" })

	run(t.Context(), "repair").Prints(t, "CrashedRun/"+left+" repaired")
	held(t, took, "1 /")
	held(t, left)
	run(t.Context(), "explain", took).Prints(t, "Run "+c.Parts[0].Run+" of ann@laptop, begun ", ", is at work")
	run(t.Context(), "state", "hosts").Prints(t, "Claiming")
	mustRun(t, 2, "repair", "--crashed-after=59s").Says(t, "--crashed-after must be at least 1m, not 59s", "--assume-crashed")
}
