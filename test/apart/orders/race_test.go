package orders

import (
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// atOnce runs the program once for each list of arguments, at the same time.
func atOnce(t *testing.T, args ...[]string) []harness.Result {
	t.Helper()
	results := make([]harness.Result, len(args))
	var running sync.WaitGroup
	for i := range args {
		running.Go(func() { results[i] = harness.Execute(t.Context(), harness.Plane.Kubeconfig, args[i]...) })
	}
	running.Wait()
	return results
}

// Of 16 processes that bid for the last of something at once as many win as fit, the others are told what is missing, and
// none leaves anything.
func TestSixteenProcessesForTheLast(t *testing.T) {
	for name, tt := range map[string]struct {
		group group
		wins  int
		says  string
	}{
		"GPU":      {group{resources: oneGPU}, 1, "no node has 1 nvidia/rtx4090"},
		"address":  {group{resources: small, addresses: 1}, 2, "1 leased address wanted, none is free"},
		"gibibyte": {group{resources: "cpu: {units: 100m}, memory: {size: 1Gi}, storage: {size: 5Mi}"}, 3, "no node has 1Gi of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			free(t)
			memory := "64Gi"
			if name == "gibibyte" {
				memory = "3Gi"
			}
			harness.Node(t, "race-1", rtx4090, harness.Amounts("64", memory, "nvidia.com/gpu", "1"))
			cfg, file := harness.Configure(t, `ip: {ranges: ["203.0.113.0/31"]}`), sdl(t, tt.group)
			var bids [][]string
			for range 16 {
				bids = append(bids, []string{"order", "reserve", newOrder(t).String(), "-f", file, "--config", cfg, "--expires", "10m"})
			}
			won := 0
			for _, r := range atOnce(t, bids...) {
				switch r.Code {
				case 0:
					won++
				case 4:
					r.Says(t, tt.says)
				default:
					t.Error(r)
				}
			}
			if won != tt.wins {
				t.Errorf("%d have won, and %d fit", won, tt.wins)
			}
			claims, err := reservation.New(connect(t), config.Default()).List(t.Context())
			if err != nil || len(claims) != tt.wins {
				t.Fatalf("%v, %d are left", err, len(claims))
			}
			for _, c := range claims {
				if c.Bound == nil || c.Pending != nil {
					t.Errorf("left is %+v", c)
				}
			}
		})
	}
}

// One order in two processes at once, with two groups: both end, one after the other, and what is reserved is one of the
// two, whole.
func TestOneOrderInTwoProcesses(t *testing.T) {
	free(t)
	harness.Node(t, "twice-1", nil, harness.Amounts("4", "8Gi"))
	order := newOrder(t)
	files := []string{sdl(t, group{resources: small}), sdl(t, group{resources: small, count: 3})}
	var runs [][]string
	for i := range 4 {
		runs = append(runs, []string{"order", "reserve", order.String(), "-f", files[i%2]})
	}
	for _, r := range atOnce(t, runs...) {
		r.Exits(t, 0)
	}
	now := claimOf(t, order)
	if cpu := now.Bound.Hold.Total().CPU; now.Pending != nil || cpu != 1000 && cpu != 3000 {
		t.Errorf("it has reserved %+v", now)
	}
}
