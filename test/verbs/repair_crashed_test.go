package verbs

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state"
)

// A run that takes many claims writes all the time: what it took at first is not given up, however long
// ago that is, and what crashed is.
func TestRepairLeavesARunThatWorks(t *testing.T) {
	working, crashed := leaseOf(newOwner(), 1), leaseOf(newOwner(), 1)
	domain := newDomain()
	first, latest, dead := "first."+domain, "latest."+domain, "dead."+domain
	for host, id := range map[string]state.Hold{
		first: state.HostWant{Host: first}.Hold(working), latest: state.HostWant{Host: latest}.Hold(working), dead: state.HostWant{Host: dead}.Hold(crashed),
	} {
		plant(t, id, func(p *state.Part) { p.Run = "run-of-" + p.Lease.Owner[6:16] })
		removeLater(t, claims, ledger, host)
	}
	const ahead = 10 * time.Minute
	change(t, claims, ledger, latest, func(o *object) { // it was written just now, by the clock of the proxy
		fields, now := o.GetManagedFields(), metav1.NewTime(time.Now().Add(ahead))
		for i := range fields {
			fields[i].Time = &now
		}
		o.SetManagedFields(fields)
		o.SetAnnotations(with(o.GetAnnotations(), "example.com/note", "an update of nothing but times is none"))
	})
	p := startProxy(t, nil)
	p.ahead = ahead
	runAs(t.Context(), p.kubeconfig, "repair").Prints(t, "CrashedRun/"+dead+" repaired")
	held(t, first, "1 /")
	held(t, latest, "1 /")
	held(t, dead)

	runAs(t.Context(), p.kubeconfig, "repair", "--crashed-after=1h").Prints(t)
	mustRun(t, 2, "repair", "--crashed-after=59s").Says(t, "--crashed-after must be at least 1m, not 59s", "--assume-crashed")
	held(t, first, "1 /")
}
