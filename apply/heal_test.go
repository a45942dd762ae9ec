package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
)

// planKept is the plan of the definition that the server keeps for a lease, each change as "action kind/name: why".
func planKept(t *testing.T, a *Applier, id lease.ID) (plan.Plan, []string) {
	t.Helper()
	defs, err := observed.KeptDefinitions(t.Context(), a.Command.Cluster, a.Command.Options.Config.LedgerNamespace, []lease.Group{id.Group()})
	if err != nil || len(defs) != 1 {
		t.Fatalf("kept are %v, error %v", defs, err)
	}
	p, err := PlanKept(t.Context(), a.Command.Cluster, a.Command.Options, defs)
	if err != nil {
		t.Fatal(err)
	}
	changes := []string{}
	for _, c := range p.Leases[0].Changes {
		if c.Action == plan.Update { // the server knows no managers
			continue
		}
		changes = append(changes, strings.TrimSuffix(string(c.Action)+" "+c.Kind+"/"+c.Name+": "+c.Why, ": "))
	}
	return p, changes
}

// What the kept definition names and its lease does not hold any more is not claimed anew: the plan says who has it. What
// was reserved since stays, and what serves and was lost is made again.
func TestPlanOfWhatIsKept(t *testing.T) {
	s, c := newServer(t, 1)
	a, _ := applier(t, c)
	const otherOwner = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	id, sibling, stranger := someLease(someOwner, 1), someLease(someOwner, 2), someLease(otherOwner, 1)
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	def := checked(t, withHosts(id, "a.example.com", "b.example.com", "c.example.com", "d.example.com"))
	do(a.Apply(t.Context(), []*lease.Definition{def}))
	if _, changes := planKept(t, a, id); len(changes) > 0 {
		t.Errorf("after the apply the changes are %q", changes)
	}

	do(a.Release(t.Context(), []lease.Group{id.Group()}, "b.example.com", "c.example.com", "d.example.com"))
	do(a.Apply(t.Context(), []*lease.Definition{checked(t, withHosts(stranger, "c.example.com"))}))
	do(a.Apply(t.Context(), []*lease.Definition{checked(t, withHosts(sibling, "d.example.com"))}))
	delete(s.objects, "/apis/networking.k8s.io/v1/namespaces/"+id.Namespace()+"/ingresses/a.example.com")
	p, changes := planKept(t, a, id)
	want := []string{
		"leave host/b.example.com: the lease has given it up since it was applied, and nobody holds it",
		"leave host/c.example.com: held by owner " + otherOwner,
		"withhold host/d.example.com: held by deployment " + sibling.Group().String(),
		"create ingress/a.example.com",
	}
	if !slices.Equal(changes, want) || !p.Settings.Kept {
		t.Errorf("the changes are %q,\nwant %q", changes, want)
	}

	s.writes = nil
	do(a.CarryOut(t.Context(), p, []*lease.Definition{def}))
	if _, left := planKept(t, a, id); !slices.Equal(left, want[:3]) {
		t.Errorf("carried out by %q, there are left %q", s.writes, left)
	}
	if slices.Contains(s.writes, "PATCH leases/b.example.com") {
		t.Errorf("what was released was claimed anew: %q", s.writes)
	}
}

// A plan of a kept definition is out of date once another one is kept.
func TestPlanOfWhatIsKeptNoMore(t *testing.T) {
	s, c := newServer(t, 1)
	a, _ := applier(t, c)
	id := someLease(someOwner, 1)
	def := checked(t, withHosts(id, "a.example.com"))
	if err := a.Apply(t.Context(), []*lease.Definition{def}); err != nil {
		t.Fatal(err)
	}
	delete(s.objects, "/apis/networking.k8s.io/v1/namespaces/"+id.Namespace()+"/ingresses/a.example.com")
	p, _ := planKept(t, a, id)
	if err := a.Apply(t.Context(), []*lease.Definition{checked(t, withHosts(id, "a.example.com", "b.example.com"))}); err != nil {
		t.Fatal(err)
	}
	s.writes = nil
	err := a.CarryOut(t.Context(), p, []*lease.Definition{def})
	if err == nil || !strings.Contains(err.Error(), "the plan is out of date: the definition that is kept for lease "+id.Group().String()) || !strings.Contains(err.Error(), "diff LEASE -o json") {
		t.Errorf("the error is %v", err)
	}
	if len(s.writes) > 0 {
		t.Errorf("the writes were %q", s.writes)
	}
}
