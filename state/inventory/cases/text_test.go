package cases_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
)

func TestLines(t *testing.T) {
	params := map[uint32]*inventory.SchedulerParams{2: {Resources: inventory.SchedulerResources{GPU: inventory.SchedulerGPU{Vendor: "nvidia", Model: "t4"}}}}
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprint("n", i))
	}
	a := cases.Answer{Results: []cases.Result{
		{Fits: true},
		{Fits: true, Placement: map[uint32][]string{2: {"n2", "n1", "n2"}, 1: {"n1"}}, SchedulerParams: params},
		{Message: "no node has 3 CPU"},
		{Fits: true, Placement: map[uint32][]string{1: many}},
	}}
	c := cases.Case{Name: "c", Requests: []inventory.Group{{Name: "a"}, {Name: "b"}, {}, {Name: "d"}}}
	want := "c: a fits\nc: b fits: 1 on n1, 2 on n2 ×2 n1 (nvidia/t4)\nc: request 3 does not fit: no node has 3 CPU\n" +
		"c: d fits: 1 on n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 2 more"
	if got := strings.Join(a.Lines(c), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
