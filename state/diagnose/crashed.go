package diagnose

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// hasCrashed is true for the mark of a run whose command does not renew its announcement any more, or has ended in the
// middle of its work.
func (p *problems) hasCrashed(mark string) bool {
	if mark == "" {
		return false
	}
	a := p.runs[state.NonceOf(mark)]
	return a != nil && p.isDead(a) // where it has gone since the claim was read the run has ended
}

// isDead is true for the announcement of a command that has crashed, unless another command that is at work has taken
// over its work. A command that asks sees what it has taken over itself.
func (p *problems) isDead(a *state.Announcement) bool {
	if a.Phase != state.Fenced {
		return a.Nonce != p.Own && a.Dead(p.Now, p.CrashedAfter)
	}
	by := p.runs[a.FencedBy]
	return a.FencedBy == p.Own || by == nil || by.Phase == state.Fenced || by.Dead(p.Now, p.CrashedAfter)
}

// crashedRuns finds the announcements of crashed commands whose marks nothing carries.
func (p *problems) crashedRuns() {
	marked := map[string]bool{}
	for _, c := range p.Claims {
		for _, nonce := range c.Nonces() {
			marked[nonce] = true
		}
	}
	for _, a := range p.Runs {
		if marked[a.Nonce] || a.FencedBy == p.Own && p.Own != "" || !p.isDead(a) {
			continue
		}
		p.add(state.Problem{
			Problem: state.CrashedRun, Thing: a.Name(), Lease: a.Groups[0].String(), Since: metav1.NewTime(a.Begun),
			Message: a.String() + ", did not finish, and has left nothing",
			Plan:    "take its announcement away", Mend: state.DropAnnouncement{Of: a.Groups},
		})
	}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
