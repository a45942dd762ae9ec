package orders

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Of 16 processes that bid for the last of something at once as many win as fit, the others are told what is missing, and
// none leaves anything.
func TestSixteenProcessesForTheLast(t *testing.T) {
	for name, tt := range map[string]struct {
		group group
		wins  int
		says  string
	}{
		"GPU":      {group{resources: oneGPU}, 1, "no node has 1 nvidia/rtx4090"},
		"address":  {group{resources: small, addresses: 1}, 2, "1 leased address wanted, none is left"},
		"gibibyte": {group{resources: "cpu: {units: 100m}, memory: {size: 1Gi}, storage: {size: 5Mi}"}, 3, "no node has 1Gi of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			const processes = 16
			free(t)
			memory := "64Gi"
			if name == "gibibyte" {
				memory = "3Gi"
			}
			harness.Node(t, "race-1", rtx4090, harness.Amounts("64", memory, "nvidia.com/gpu", "1"))
			cfg, file := harness.Configure(t, `ip: {ranges: ["203.0.113.0/31"]}`), sdl(t, tt.group)
			results := make([]harness.Result, processes)
			var running sync.WaitGroup
			for i := range processes {
				order := newOrder(t)
				running.Go(func() {
					results[i] = harness.Execute(t.Context(), harness.Plane.Kubeconfig, "reserve", "--order", order.String(), "-f", file, "--config", cfg, "--expires", "10m")
				})
			}
			running.Wait()
			won := 0
			for _, r := range results {
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
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			if r := harness.Execute(t.Context(), harness.Plane.Kubeconfig, "reserve", "--order", order.String(), "-f", files[i%2]); r.Code != 0 {
				t.Error(r)
			}
		})
	}
	running.Wait()
	now := claimOf(t, order)
	if cpu := now.Bound.Hold.Total().CPU; now.Pending != nil || cpu != 1000 && cpu != 3000 {
		t.Errorf("it has reserved %+v", now)
	}
}

// What expires while its owner renews it and another needs its room goes to one of the two.
func TestRenewedWhileItIsEvicted(t *testing.T) {
	free(t)
	harness.Node(t, "renew-1", nil, harness.Amounts("1", "8Gi"))
	file := sdl(t, group{resources: small})
	for range 2 {
		holder, other := newOrder(t), newOrder(t)
		reserve(t, 0, holder, file, "--expires", "5m")
		ends(t, holder, time.Now().Add(-time.Hour))
		orders, codes := []lease.Order{holder, other}, make([]harness.Result, 2)
		var running sync.WaitGroup
		for i, o := range orders {
			running.Go(func() {
				codes[i] = harness.Run(t.Context(), "reserve", "--order", o.String(), "-f", file, "--expires", "5m")
			})
		}
		running.Wait()
		won := -1
		for i, r := range codes {
			switch {
			case r.Code == 0 && won < 0:
				won = i
			case r.Code != 4:
				t.Errorf("%s\n%s", codes[0], codes[1])
			}
		}
		if won < 0 || claimOf(t, orders[won]) == nil || claimOf(t, orders[1-won]) != nil {
			t.Fatalf("%d has won: %s\n%s", won, codes[0], codes[1])
		}
		harness.Run(t.Context(), "unreserve", "--order", strings.Join([]string{holder.String(), other.String()}, ","), "--ignore-not-found").Exits(t, 0)
	}
}
