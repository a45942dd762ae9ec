package view

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

func TestBookPools(t *testing.T) {
	poolObject := func(name string, status map[string]any, addresses ...any) state.PoolObject {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"addresses": addresses}}}
		if status != nil {
			o.Object["status"] = status
		}
		o.SetName(name)
		return state.PoolObjectOf(o)
	}
	in := Contents{
		Claims: []*state.Claim{
			claimtest.AddressClaim("203.0.113.0", "a", statetest.Shop, claimtest.HTTPS()), claimtest.AddressClaim("203.0.113.7", "b", statetest.Shop, claimtest.HTTPS()),
			claimtest.AddressClaim("2001:db8:10::7", "b", statetest.Shop, claimtest.HTTPS()), claimtest.HostClaim("a.example.com", statetest.Shop, ""),
		},
		Services: []state.ServiceObject{
			claimtest.Service(statetest.Shop, "web-ip-443-tcp", "b", "TCP", 443, "203.0.113.7", "203.0.113.7"),
			claimtest.Service(statetest.Blog, "web-ip-443-tcp", "c", "TCP", 443, "", "203.0.113.8", "198.51.100.9"),
			claimtest.Service(statetest.Blog, "web-ip-80-tcp", "d", "TCP", 80, "203.0.113.9"),
		},
		Pools: []state.PoolObject{
			poolObject("theirs", nil, "198.51.100.8/30", "garbage"),
			poolObject("akash-net-203-0-113-0-28", map[string]any{"assignedIPv4": int64(5), "availableIPv4": int64(8)}, "203.0.113.0-203.0.113.2", "203.0.113.4/30", "203.0.113.8/29"),
			poolObject("counted", map[string]any{"assignedIPv4": int64(2), "availableIPv4": int64(250), "assignedIPv6": int64(1), "availableIPv6": int64(math.MaxInt64)}, "192.0.2.0/24", "2001:db8::/32"),
		},
	}
	configured := []PoolRow{
		{Name: "akash-net-203-0-113-0-28", Ranges: []string{"203.0.113.0/28"}, Addresses: 15, Used: 5, Free: 10},
		{Name: "akash-net-2001-0db8-0010-0000-0000-0000-0000-0000-64", Ranges: []string{"2001:db8:10::/64"}, Addresses: math.MaxInt64, Used: 1, Free: math.MaxInt64},
	}
	in64 := func(mode string) []PoolRow {
		rows := append([]PoolRow{}, configured...)
		for i := range rows {
			rows[i].Mode = mode
		}
		return rows
	}
	counted := PoolRow{Name: "counted", Ranges: []string{"192.0.2.0/24", "2001:db8::/32"}, Mode: "pool", Addresses: math.MaxInt64, Used: 3, Free: math.MaxInt64}
	theirs := PoolRow{Name: "theirs", Ranges: []string{"198.51.100.8/30", "garbage"}, Mode: "pool", Addresses: 4, Used: 1, Free: 3}
	ours := PoolRow{Name: "akash-net-203-0-113-0-28", Ranges: []string{"203.0.113.0-203.0.113.2", "203.0.113.4/30", "203.0.113.8/29"}, Mode: "pool", Addresses: 13, Used: 5, Free: 8}

	for mode, want := range map[string][]PoolRow{
		config.ModeRange:     append(in64("range"), counted, theirs),
		config.ModeDedicated: append(in64("dedicated"), counted, theirs),
		config.ModePool:      {ours, counted, theirs},
	} {
		t.Run(mode, func(t *testing.T) {
			cfg := statetest.Config(t, mode, "203.0.113.0/28", "2001:db8:10::/64", "!203.0.113.3")
			b := NewBook(cfg, in, SubjectPools)
			if diff := cmp.Diff(want, b.Pools); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
		})
	}
}
