package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// A second look at a lease shows an object that has lost its labels as the first does: its namespace names
// the lease.
func TestLookSeesObjectsWithoutLabels(t *testing.T) {
	s, c := newServer(t, 1)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, "a.example.com")}); err != nil {
		t.Fatal(err)
	}
	for path, o := range s.objects {
		if strings.Contains(path, "/ingresses/") {
			o.SetLabels(nil)
		}
	}
	asked := 0
	s.listed = func(path, selector string) {
		if strings.HasSuffix(path, "/ingresses") && selector != "" {
			asked++
		}
	}
	before, err := observed.Read(t.Context(), a.Command.Cluster, a.Command.Ledger, observed.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	now, err := observed.Look(t.Context(), a.Command, before, id.Owner)
	if err != nil {
		t.Fatal(err)
	}
	for name, snapshot := range map[string]*observed.Snapshot{"first": before, "second": now} {
		if !slices.ContainsFunc(snapshot.Written[id.Group()], func(o observed.Owned) bool { return o.Kind == kinds.Ingress }) {
			t.Errorf("the %s reading does not show the Ingress as the lease's", name)
		}
	}
	if asked > 0 {
		t.Error("the second reading asks for Ingresses by labels that this one has lost")
	}
}

// What uses a host is read in one order, whichever answer comes first.
func TestUsesHaveOneOrder(t *testing.T) {
	_, c := newServer(t, 4)
	id := someLease(someOwner, 1)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(id, "a.example.com")}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		now, err := observed.Read(t.Context(), a.Command.Cluster, a.Command.Ledger, observed.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		uses := now.HostUses["a.example.com"]
		if len(uses) != 2 || uses[0].Kind != kinds.Ingress.Singular || uses[1].Kind != kinds.ProviderHost.Singular {
			t.Fatalf("uses %v", uses)
		}
	}
}
