package diagnose

import (
	"slices"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// runs adds what this program runs for a lease, written in minute 3.
func (f *facts) runs(id lease.ID) {
	f.Manifests = append(f.Manifests, deployed.Manifest{Group: id.Group(), Namespace: id.Namespace(), Written: statetest.Minute(3)})
}

// reservesFor adds a reservation of an order of the deployment group of statetest.Shop.
func (f *facts) reservesFor(oseq uint32, change ...func(*reserved.Claim)) {
	f.reserves("rs")
	c := f.Contents.Reservations[len(f.Contents.Reservations)-1]
	c.Order.OSeq = oseq
	for _, do := range change {
		do(c)
	}
}

// A workload is stray if nothing but its Manifest names the lease.
var workloadProblems = []aProblem{
	{state.LeaseFails, "the reconciler fails", func(f *facts) {
		f.Failing = []state.Failing{
			{Lease: statetest.Shop.String(), Error: "host shop.example.com is held", Count: 1, Since: statetest.Minute(9), Next: statetest.Minute(11)},
			{Lease: sibling.Group().String(), Error: "2 problems:\nno", Count: 7, Since: statetest.Minute(3), Next: statetest.Minute(12)},
		}
	}, besides{"it succeeds": func(f *facts) { f.Failing = nil }}},
	{state.StrayWorkload, "a command that counted as crashed has written what runs after the release", func(f *facts) {
		f.runs(statetest.Shop)
	}, besides{
		"it holds a claim": func(f *facts) { f.holds(statetest.Shop, atHost) },
		"it waits for one": func(f *facts) {
			c := f.holds(sibling, atHost)
			c.Waits = []state.Part{{Key: "w", For: state.RouteKey("/"), Lease: statetest.Shop}}
		},
		"its definition is kept": func(f *facts) { f.keeps(statetest.Shop).Name = kept.Name(statetest.Shop.Group()) },
		"its definition cannot be read": func(f *facts) {
			f.Definitions = []KeptDefinition{{ObjectRef: state.ObjectRef{Name: kept.Name(statetest.Shop.Group())}, Unreadable: "no JSON"}}
		},
		"its order has a reservation":                    func(f *facts) { f.reservesFor(1) },
		"a later order has a reservation":                func(f *facts) { f.reservesFor(2) },
		"it has a route, which is a problem of its own":  func(f *facts) { f.routes("ingress", statetest.Shop, atHost) },
		"Akash declares a host of it":                    func(f *facts) { byAkash(f.routes(kinds.ProviderHost.Singular, statetest.Shop, atHost)) },
		"a command is at work on it":                     func(f *facts) { f.Runs = []*state.Announcement{announced("n0nce", 10)} },
		"the announcement of its command cannot be read": func(f *facts) { f.Runs = []*state.Announcement{unreadable(announced("n0nce", 0))} },
		"a command that is at work has taken over":       func(f *facts) { f.Runs = []*state.Announcement{fenced("n0nce", "other"), announced("other", 10)} },
		"it was written a moment ago":                    func(f *facts) { f.Manifests[0].Written = statetest.Minute(9) },
		"it is being deleted":                            func(f *facts) { f.Manifests[0].Deleting = true },
		"only Akash's provider runs it, or it is hidden": func(f *facts) { f.Manifests = nil },
	}},
	{state.StrayWorkload, "what names the lease is over, and others are named", func(f *facts) {
		f.runs(statetest.Shop)
		f.runs(sibling)
		f.holds(sibling, atHost)
		f.routes("ingress", sibling, atHost)
		f.reservesFor(1, func(c *reserved.Claim) { c.Bound.Expires = statetest.Minute(8).Format(time.RFC3339) })
		f.reservesFor(2, func(c *reserved.Claim) { c.Deleting = true })
		other := announced("other", 10)
		other.Groups = []lease.Group{sibling.Group()}
		f.Runs = []*state.Announcement{announced("n0nce", 0), other}
	}, besides{"the reservation is not over": func(f *facts) { f.Contents.Reservations[0].Bound.Expires = "" }}},
}

func unreadable(a *state.Announcement) *state.Announcement {
	a.Unreadable = "no JSON"
	return a
}

func fenced(nonce, by string) *state.Announcement {
	a := announced(nonce, 0)
	a.Phase, a.FencedBy = state.Fenced, by
	return a
}

// Only a release ends what runs, of each namespace by itself. The repair that asks does not hide it.
func TestStrayWorkloadsAreReleased(t *testing.T) {
	f := newFacts(t)
	next := statetest.Shop
	next.OSeq++
	f.runs(statetest.Shop)
	f.runs(next)
	f.Runs, f.Own = []*state.Announcement{announced("n0nce", 10)}, "n0nce"
	found := f.find()
	g, want := statetest.Shop.Group().String(), []string{statetest.Shop.Namespace(), next.Namespace()}
	slices.Sort(want)
	if len(found) != 2 || found[0].Namespace != want[0] || found[1].Namespace != want[1] {
		t.Fatalf("found %+v", found)
	}
	for _, x := range found {
		if x.Problem != state.StrayWorkload || x.Name() != "StrayWorkload/"+g || !x.Manual || x.Named || x.Sound || x.Mend != nil || x.Command != "kubectl akash-net release "+g {
			t.Errorf("found %+v", x)
		}
		if len(InNamespace(found, f.Claims, x.Namespace)) != 1 {
			t.Errorf("it is not the problem of its namespace: %+v", x)
		}
	}
}
