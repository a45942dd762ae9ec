package commands

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/state"
)

// A crashed command that has left nothing but its announcement is a problem of its own, and repaired.
func TestRepairTakesAnnouncementsAway(t *testing.T) {
	var named []string
	for range 2 {
		dead := leaseOf(newOwner(), 1)
		nonce := state.NewNonce(time.Now())
		removeLater(t, claims, ledger, state.AnnouncementName(nonce))
		announce(t, dead.Group(), nonce, time.Hour)
		named = append(named, "CrashedRun/"+state.AnnouncementName(nonce))
	}
	mustRun(t, 0, append([]string{"repair"}, named...)...).Prints(t, named[0]+" repaired (take its announcement away)", named[1]+" repaired")
	for _, name := range named {
		mustRun(t, 1, "repair", name).Says(t, "is no problem of this cluster now")
	}
}

// So is one of which only some deployment groups have left something: the announcement goes with what carries its mark.
func TestRepairTakesBaredAnnouncementsAway(t *testing.T) {
	took, nothing := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	host := "took." + newDomain()
	nonce := plant(t, state.HostWant{Host: host}.Hold(took), func(p *state.Part) { p.Run = "crashed" }).Parts[0].Run
	removeLater(t, claims, ledger, host)
	removeLater(t, claims, ledger, state.AnnouncementName(nonce))
	announce(t, took.Group(), nonce, time.Hour, nothing.Group())

	run(t.Context(), "repair").Prints(t, "CrashedRun/"+host+" repaired", "CrashedRun/"+state.AnnouncementName(nonce)+" repaired (take its announcement away)")
	held(t, host)
	if find(t, claims, ledger, state.AnnouncementName(nonce)) != nil {
		t.Error("the announcement is still there")
	}
}
