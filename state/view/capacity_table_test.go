package view

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

func capacityRows(c observed.Capacity, levels config.CommitLevels) []ResourceRow {
	cfg := config.Default()
	cfg.CommitLevels = levels
	return (&bookBuilder{cfg: cfg}).resources(c, nil)
}

// The rows agree with an inventory of the same cluster, and no row exceeds what exists.
func TestResourcesAreTheInventorys(t *testing.T) {
	amount := rapid.OneOf(rapid.Uint64Range(0, 9), rapid.SampledFrom([]uint64{math.MaxInt64, math.MaxUint64}))
	amounts := rapid.Custom(func(t *rapid.T) inventory.Amounts {
		return inventory.Amounts{CPU: amount.Draw(t, "cpu"), GPU: amount.Draw(t, "gpu"), Memory: amount.Draw(t, "memory"), EphemeralStorage: amount.Draw(t, "disk")}
	})
	most := inventory.Amounts{CPU: math.MaxInt64, GPU: math.MaxInt64, Memory: math.MaxInt64, EphemeralStorage: math.MaxInt64}
	rapid.Check(t, func(t *rapid.T) {
		var c observed.Capacity
		for i := range rapid.IntRange(0, 4).Draw(t, "nodes") {
			n := observed.Node{Name: fmt.Sprint("n", i), Allocatable: amounts.Draw(t, "allocatable").Least(most), InUse: amounts.Draw(t, "in use"), Reserved: amounts.Draw(t, "reserved")}
			if rapid.IntRange(0, 3).Draw(t, "closed") == 0 {
				n.Closed = "it is cordoned"
			}
			c.Nodes = append(c.Nodes, n)
		}
		for _, class := range []string{"beta2", "beta3"} {
			c.Storage = append(c.Storage, observed.Storage{Class: class, Allocatable: min(amount.Draw(t, "allocatable"), math.MaxInt64), InUse: amount.Draw(t, "in use"), Reserved: amount.Draw(t, "reserved")})
		}
		room := inventory.New(c.Cluster(), nil, inventory.Levels{}).Room()
		level := rapid.SampledFrom([]float64{0, 1, 1.5, 1e300})
		rows := capacityRows(c, config.CommitLevels{CPU: level.Draw(t, "cpu"), GPU: level.Draw(t, "gpu"), Memory: level.Draw(t, "memory"), Storage: level.Draw(t, "storage")})
		total := map[string]uint64{"cpu": room.Available.CPU, "gpu": room.Available.GPU, "memory": room.Available.Memory, "ephemeral-storage": room.Available.EphemeralStorage}
		for _, r := range rows {
			if r.Available > r.Allocatable || r.Committed < r.Allocatable || r.Message != "" && r.Available > 0 {
				t.Errorf("%+v", r)
			}
			switch {
			case r.Of == OfCluster && r.Available != total[r.Resource]:
				t.Errorf("%+v, and the inventory has %d", r, total[r.Resource])
			case r.Of == OfClass && r.Available != room.Available.Storage[r.Name]:
				t.Errorf("%+v, and the inventory has %d", r, room.Available.Storage[r.Name])
			}
		}
	})
}

// The committed amount is the allocatable amount times the level, at most 2^64-1.
func TestCommitted(t *testing.T) {
	for _, c := range []struct {
		all   uint64
		level float64
		want  uint64
	}{
		{10, 0, 10}, {10, 1, 10}, {10, 0.5, 10}, {10, -3, 10}, {10, math.NaN(), 10}, {10, 1.5, 15}, {3, 1.5, 4}, {0, 1e300, 0}, {1, 1e300, math.MaxUint64},
		{math.MaxUint64, 1, math.MaxUint64}, {math.MaxUint64, 1.0001, math.MaxUint64}, {math.MaxInt64, 2, math.MaxUint64}, {10, math.Inf(1), math.MaxUint64},
	} {
		if got := (ResourceRow{Allocatable: c.all}).withTotals(c.level); got.Committed != c.want || got.Available != c.all {
			t.Errorf("%d at the level %v: %+v, want %d", c.all, c.level, got, c.want)
		}
	}
	unlimited := ResourceRow{Unlimited: true, InUse: 7, Reserved: math.MaxUint64}.withTotals(2)
	if unlimited.Allocatable != math.MaxUint64 || unlimited.Available != math.MaxUint64 || unlimited.Committed != math.MaxUint64 || unlimited.InUse != 7 {
		t.Errorf("%+v", unlimited)
	}
}
