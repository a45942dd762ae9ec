package cases_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/cases"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// The lines of an answer, also of cases and requests without a name, of nodes with several replicas, of many nodes, and of refusals.
func TestLines(t *testing.T) {
	params := func(id uint32, vendor, model string) map[uint32]*inventory.SchedulerParams {
		return map[uint32]*inventory.SchedulerParams{id: {Resources: inventory.SchedulerResources{GPU: inventory.SchedulerGPU{Vendor: vendor, Model: model}}}}
	}
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprint("n", i))
	}
	a := cases.Answer{Results: []cases.Result{
		{Fits: true},
		{Fits: true, Placement: map[uint32][]string{2: {"n2", "n1", "n2"}, 1: {"n1"}}, SchedulerParams: params(2, "nvidia", "t4")},
		{Message: "no node has 3 CPU", Placement: map[uint32][]string{1: {"a"}}},
		{Fits: true, Placement: map[uint32][]string{1: many}},
		{Fits: true, Placement: map[uint32][]string{7: {"b", "b", "b"}}},
		{Fits: true, Placement: map[uint32][]string{10: {"b"}, 1: {"a"}}},
		{Fits: true, Placement: map[uint32][]string{1: {"a"}}, SchedulerParams: params(1, "amd", "x")},
		{Fits: true, Placement: map[uint32][]string{1: {"a"}, 2: {"a", "a"}}, SchedulerParams: map[uint32]*inventory.SchedulerParams{1: nil}},
	}}
	requests := append([]inventory.Group{{Name: "a"}, {Name: "b"}, {}, {Name: "d"}}, make([]inventory.Group, 4)...)
	lines := slices.Concat(a.Lines(cases.Case{Name: "c", Requests: requests}), a.Lines(cases.Case{Requests: requests}))
	golden.Check(t, "testdata/lines.golden", strings.Join(lines, "\n")+"\n")
}
