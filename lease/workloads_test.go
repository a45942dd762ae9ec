package lease_test

import (
	"math"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Services that share a unit want their replicas together; a sum that is too large does not become a small one.
func TestReplicasOfASharedUnit(t *testing.T) {
	for _, c := range []struct{ a, b, want uint32 }{
		{1, 2, 3},
		{math.MaxUint32, 1, math.MaxUint32},
		{math.MaxUint32, math.MaxUint32, math.MaxUint32},
		{math.MaxUint32 - 1, 1, math.MaxUint32},
	} {
		unit := resources.Resources{ID: 1}
		def := &lease.Definition{Workloads: &lease.Workloads{Services: []lease.Workload{
			{Name: "a", Count: c.a, Resources: unit}, {Name: "b", Count: c.b, Resources: unit},
		}}}
		if units := def.ResourceGroup().Units; len(units) != 1 || units[0].Count != c.want {
			t.Errorf("%d and %d replicas of a unit: %+v", c.a, c.b, units)
		}
	}
}
