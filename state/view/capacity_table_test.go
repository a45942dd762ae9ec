package view

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

func capacityRows(c observed.Capacity, levels config.CommitLevels) []ResourceRow {
	cfg := config.Default()
	cfg.CommitLevels = levels
	return (&bookBuilder{cfg: cfg}).resources(c, nil)
}

// A cluster has left what each of its nodes has left: overcommitment of one node takes nothing from the others.
func TestTheClusterHasWhatItsNodesHave(t *testing.T) {
	over := observed.Node{Name: "a", Allocatable: inventory.Amounts{CPU: 4000}, InUse: inventory.Amounts{CPU: 9000}}
	free := observed.Node{Name: "b", Allocatable: inventory.Amounts{CPU: 4000}, Reserved: inventory.Amounts{CPU: 1000}}
	closed := observed.Node{Name: "c", Allocatable: inventory.Amounts{CPU: 64000}, Closed: "it is cordoned"}
	rows := capacityRows(observed.Capacity{Nodes: []observed.Node{over, free, closed}}, config.CommitLevels{})
	want := ResourceRow{Of: OfCluster, Resource: "cpu", Allocatable: 8000, Committed: 8000, InUse: 9000, Reserved: 1000, Available: 3000}
	if diff := cmp.Diff(want, rows[0]); diff != "" {
		t.Error(diff)
	}
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

// The row of a reservation by the state of its claim, with what it holds even if it is being deleted or unreadable.
func TestOrderRows(t *testing.T) {
	at := func(minute int) string { return statetest.Minute(minute).Format(time.RFC3339) }
	live, over := &reserved.Part{Asked: "a", Expires: at(20)}, &reserved.Part{Asked: "a", Expires: at(1)}
	soon := &reserved.Part{Asked: "a", Expires: at(10)}
	won := &reserved.Part{Asked: "a", Provider: statetest.Shop.Provider}
	order := statetest.Shop.Owner + "/7/1/1"
	for name, c := range map[string]struct {
		bound, pending *reserved.Part
		change         func(*reserved.Claim)
		want           string
	}{
		"bound":                     {live, nil, nil, order + " Reserved"},
		"bound, over":               {over, nil, nil, order + " Expired"},
		"pending":                   {nil, soon, nil, order + " Pending"},
		"pending for years":         {nil, &reserved.Part{Asked: "a", Expires: "2199-12-31T23:59:59Z"}, nil, order + " Expired"},
		"pending, over":             {nil, over, nil, order + " Expired"},
		"won":                       {won, nil, nil, order + " Leased"},
		"won, is moved":             {won, live, nil, order + " Leased is being moved, by "},
		"over, is moved":            {over, live, nil, order + " Expired is being moved, by "},
		"going":                     {won, nil, func(c *reserved.Claim) { c.Deleting = true }, order + " Terminating"},
		"cannot be read":            {nil, nil, func(c *reserved.Claim) { c.Unreadable = "no JSON" }, " Unreadable no JSON"},
		"cannot be read, and going": {nil, nil, func(c *reserved.Claim) { c.Unreadable, c.Deleting = "no JSON", true }, " Terminating no JSON"},
		"of nobody, and going": {nil, nil, func(c *reserved.Claim) {
			*c = reserved.Claim{ObjectName: "rs--x", Unreadable: "no JSON", Deleting: true}
		}, " Terminating no JSON"},
	} {
		claim := reservation(7, c.bound, c.pending)
		if c.change != nil {
			c.change(claim)
		}
		r := NewOrderRow(claim, statetest.Minute(9))
		if got := strings.TrimSuffix(fmt.Sprintf("%s %s %s", r.Order, r.State, r.Message), " "); got != strings.TrimSuffix(c.want, " ") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if r.Tenant == nil || (r.Order == "") != (r.Owner == "") || r.Claim != claim.ObjectName || (r.Lease != "") != (r.Provider != "") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
