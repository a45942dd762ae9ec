package commands

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// atWork are the deployment groups of an owner for which commands have announced themselves.
func atWork(t *testing.T, owner string) (groups []lease.Group) {
	t.Helper()
	list, err := harness.Objects.Resource(claims).Namespace(ledger).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if !state.IsAnnouncement(list.Items[i].GetName()) {
			continue
		}
		a, err := state.ReadAnnouncement(&list.Items[i])
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, slices.DeleteFunc(a.Groups, func(g lease.Group) bool { return g.Owner != owner })...)
	}
	return groups
}

// A third deployment takes a part of a host after the transfer has read who holds it. The transfer takes that part over too,
// but not before it has announced that it writes for the third: a command of that one would not wait for it.
func TestTransferAnnouncesNewcomers(t *testing.T) {
	t.Parallel()
	owner, domain := newOwner(), newDomain()
	first, last, third := "a."+domain, "z."+domain, leaseOf(owner, 3)
	mustRun(t, 0, "reserve", "--lease", leaseOf(owner, 1).String(), first, last)
	came, moved := false, false
	p := startProxy(t, func(write string) bool {
		if write == "PATCH leases/"+last && !moved && len(claim(t, last).PartsOf(third.Group())) == 0 {
			moved = true
			if groups := atWork(t, owner); !slices.Contains(groups, third.Group()) {
				t.Errorf("the part of deployment 3 is taken by a command that is announced for %v", groups)
			}
		}
		return false
	})
	p.before = func(request string) {
		if strings.HasPrefix(request, "PATCH leases/run--") && !came {
			came = true
			mustRun(t, 0, "reserve", "--lease", third.String(), last+"/v2")
		}
	}
	runAs(t.Context(), p.kubeconfig, "transfer", first, last, "--to", leaseOf(owner, 2).String()).Exits(t, 0).
		Prints(t, "host/"+last+" transferred (from "+leaseOf(owner, 1).Group().String()+", "+third.Group().String()+")")
	if !moved {
		t.Error("the host did not change hands")
	}
	held(t, first, "2 /")
	held(t, last, "2 /", "2 /v2")
	if claim(t, first).Marked() || claim(t, last).Marked() || len(atWork(t, owner)) > 0 {
		t.Error("the transfer has not ended")
	}
	mustRun(t, 0, "release", leaseOf(owner, 2).Group().String())
}
