package apply

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Of several leases it is told how many are done, of those that failed too, and of each once.
func TestProgressOfLeases(t *testing.T) {
	s, c := newServer(t, 1)
	s.claimed(t, someLease(somebodyElses, 1), "b.example.com", "")
	a, _ := applier(t, c)
	var told []string
	a.Command.Options.Progress = func(what string, done, all int) { told = append(told, fmt.Sprintf("%d of %d %s", done, all, what)) }
	first, second := someLease(someOwner, 1), someLease(someOwner, 2)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(first, "a.example.com"), withHosts(second, "b.example.com")}); err == nil {
		t.Error("a host of another owner is taken")
	}
	want := []string{"0 of 2 leases", "1 of 2 leases", "2 of 2 leases"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("of an apply (-want +got):\n%s", diff)
	}
	told = nil
	if err := a.Release(t.Context(), []lease.Group{first.Group(), second.Group()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("of a release (-want +got):\n%s", diff)
	}
}
