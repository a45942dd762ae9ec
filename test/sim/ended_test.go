package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
)

// The announcement of a command that has crashed goes with a reconciler also where nobody names its lease any more, and nothing is kept.
func TestAnnouncementOfALeaseThatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSituation(furnished(t))
		c, opts, id := connect(s.server), s.options(1), allLeases()[0]
		l := ledger.New(c, opts.Config.LedgerNamespace)
		if _, err := l.Announce(t.Context(), &state.Announcement{Nonce: "crashed", Phase: state.Active, Begun: s.server.Now(), Renewed: s.server.Now(), Lasts: 20 * time.Second, By: "somebody", Groups: []lease.Group{id.Group()}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if failed, err := reconcile.New(c, opts, reconcile.Limits{Heal: true}).WorkAfter(t.Context(), []lease.Group{id.Group()}); err != nil || len(failed) > 0 {
			t.Error(failed, err)
		}
		if left, err := l.Announcements(t.Context()); err != nil || len(left) > 0 {
			t.Errorf("there are %v, %v", left, err)
		}
	})
}
