package apply

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// A plan lists the changes in the order in which an apply makes them, whatever the order in which they were found.
func TestCompareChanges(t *testing.T) {
	want := []plan.Change{
		{Action: plan.Claim, Kind: report.KindOrder, Name: "order"},
		{Action: plan.Claim, Kind: "address", Name: "203.0.113.1"},
		{Action: plan.Withhold, Kind: "host", Name: "a.example.com"},
		{Action: plan.Leave, Kind: "host", Name: "b.example.com"},
		{Action: plan.Create, Kind: "ipaddresspool", Name: "pool"},
		{Action: plan.Create, Kind: "namespace", Name: "ns"},
		{Action: plan.Update, Kind: "manifest", Name: "m"},
		{Action: plan.Create, Kind: "secret", Name: "s"},
		{Action: plan.Create, Kind: "deployment", Name: "d"},
		{Action: plan.Create, Kind: "providerhost", Name: "a.example.com"},
		{Action: plan.Create, Kind: "ingress", Namespace: "n1", Name: "b.example.com"},
		{Action: plan.Update, Kind: "ingress", Namespace: "n2", Name: "a.example.com"},
		{Action: plan.Create, Kind: "dnsrecord", Name: "r"},
		{Action: plan.Delete, Kind: "dnsrecord", Name: "r"},
		{Action: plan.Delete, Kind: "ingress", Name: "c.example.com"},
		{Action: plan.GiveUp, Kind: "address", Name: "203.0.113.2"},
		{Action: plan.GiveUp, Kind: "host", Name: "c.example.com"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, compareChanges)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A plan shows a lease as refused if others hold what it wants; any other error makes the plan fail.
func TestRefusals(t *testing.T) {
	id := func(dseq uint64) lease.ID { return lease.ID{Owner: "a", DSeq: dseq} }
	held, exhausted := &report.HeldError{Lease: id(1)}, &report.ExhaustedError{Lease: id(2)}
	other := errors.New("the API server is away")
	for name, c := range map[string]struct {
		err     error
		refused []uint64
		rest    bool
	}{
		"no error":                             {nil, nil, false},
		"a holder refuses a lease":             {held, []uint64{1}, false},
		"an exhausted range refuses a lease":   {exhausted, []uint64{2}, false},
		"an error of a lease is wrapped":       {&report.LeaseError{Lease: id(1).Group(), Err: held}, []uint64{1}, false},
		"several leases are refused":           {report.Failures{held, exhausted}, []uint64{1, 2}, false},
		"another error is no refusal":          {other, nil, true},
		"another error stays beside a refusal": {report.Failures{held, other}, []uint64{1}, true},
	} {
		refused, rest := refusals(c.err)
		var got []uint64
		for l := range refused {
			got = append(got, l.DSeq)
		}
		slices.Sort(got)
		if diff := cmp.Diff(c.refused, got); diff != "" || (rest != nil) != c.rest || c.rest && !errors.Is(rest, other) {
			t.Errorf("%s: rest %v (-want +got):\n%s", name, rest, diff)
		}
	}
}

// A plan that somebody has edited, with a field that stands nowhere, is no plan with a password.
func TestFieldWithoutAPath(t *testing.T) {
	edited := plan.Plan{Leases: []plan.Lease{{Changes: []plan.Change{{Action: plan.Update, Kind: "secret", Name: "x", Fields: []plan.Field{{}}}}}}}
	if err := withoutPasswords(edited); err != nil {
		t.Error(err)
	}
}
