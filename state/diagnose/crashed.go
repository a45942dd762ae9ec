package diagnose

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// hasCrashed reports whether the run with the mark has crashed: its command no longer renews its announcement, or ended
// with unfinished work.
func (p *problems) hasCrashed(mark string) bool {
	if mark == "" {
		return false
	}
	a := p.runs[state.NonceOf(mark)]
	return a != nil && p.isDead(a) // without an announcement the run has ended since the claim was read
}

// isDead reports whether the command of the announcement has crashed and no running command has taken over its work.
// The command that asks counts what it has taken over itself.
func (p *problems) isDead(a *state.Announcement) bool {
	if a.Unreadable != "" {
		return false // nobody knows whether its command is at work
	}
	if a.Phase != state.Fenced {
		return a.Nonce != p.Own && a.Dead(p.Now, p.CrashedAfter)
	}
	by := p.runs[a.FencedBy]
	return a.FencedBy == p.Own || by == nil || by.Phase == state.Fenced || by.Dead(p.Now, p.CrashedAfter)
}

// findCrashedRuns finds announcements of crashed commands that left no marks.
func (p *problems) findCrashedRuns() {
	marked := map[string]bool{}
	for _, c := range p.Claims {
		for _, nonce := range c.Nonces() {
			marked[nonce] = true
		}
	}
	for _, a := range p.Runs {
		if a.Unreadable != "" {
			p.add(fill(state.Problem{Thing: a.Name(), Since: metav1.NewTime(a.Begun)}, state.UnreadableClaim,
				"it cannot be read as the announcement of a run, so commands for the leases that it names cannot begin: "+a.Unreadable,
				"look who wrote it, and delete it where no command of theirs is at work",
				state.DropFromLedger{Object: state.ObjectRef{
					Kind: "lease", Namespace: p.Config.LedgerNamespace, Name: a.Name(), UID: string(a.UID), ResourceVersion: a.ResourceVersion,
				}}).ByName())
			continue
		}
		if a.Phase == state.Closing || marked[a.Nonce] || a.FencedBy == p.Own && p.Own != "" || !p.isDead(a) {
			continue
		}
		p.add(state.Problem{
			Problem: state.CrashedRun, Thing: a.Name(), Lease: a.Groups[0].String(), Since: metav1.NewTime(a.Begun),
			Message: a.String() + ", did not finish, and has left nothing",
			Plan:    "take its announcement away", Mend: state.DropAnnouncement{Of: a.Groups},
		})
	}
}

// findCrashedUninstalls finds the announcements of uninstalls that have crashed, and the mark of one whose announcement is
// gone: no command takes a claim until the ledger is opened again. A ledger whose namespace is being deleted goes, and
// nothing opens it.
func (p *problems) findCrashedUninstalls() {
	if !p.Namespaces[p.Config.LedgerNamespace] {
		return
	}
	add := func(nonce, message string, since time.Time) {
		p.add(state.Problem{
			Problem: state.CrashedRun, Thing: state.AnnouncementName(nonce), Since: metav1.NewTime(since), Message: message + "; no command can claim anything",
			Plan: "open the ledger again, as install does", Mend: state.OpenLedger{Nonce: nonce},
		})
	}
	for _, a := range p.Runs {
		if a.Phase == state.Closing && p.isDead(a) {
			add(a.Nonce, a.String()+", did not finish to uninstall the ledger", a.Begun)
		}
	}
	if p.ClosedBy != "" && p.runs[p.ClosedBy] == nil {
		add(p.ClosedBy, "an uninstall has closed the ledger, and is not announced", time.Time{})
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
