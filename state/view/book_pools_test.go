package view

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
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
			poolObject("counted", map[string]any{"assignedIPv4": int64(0), "availableIPv4": int64(250), "assignedIPv6": int64(0), "availableIPv6": int64(math.MaxInt64)}, "192.0.2.0/24", "2001:db8::/32"),
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
	counted := PoolRow{Name: "counted", Ranges: []string{"192.0.2.0/24", "2001:db8::/32"}, Mode: "pool", Addresses: math.MaxInt64, Used: 1, Free: math.MaxInt64}
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
			if diff := cmp.Diff(want, b.Pools, cmpopts.IgnoreFields(PoolRow{}, "Pieces", "Nodes")); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
		})
	}
}

// The address of a node is in use, also beside those that MetalLB counts; one that a lease has all the same counts once.
func TestAddressesOfNodes(t *testing.T) {
	node := objectOf(t, `{apiVersion: v1, kind: Node, metadata: {name: g1}, status: {addresses: [
		{type: InternalIP, address: 203.0.113.0}, {type: ExternalIP, address: 203.0.113.1}, {type: InternalIP, address: 198.51.100.1}]}}`)
	pool := objectOf(t, `{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: akash-net-203-0-113-0-30},
		spec: {addresses: [203.0.113.0/30]}, status: {assignedIPv4: 1, availableIPv4: 3}}`)
	for mode, want := range map[string]inventory.Addresses{config.ModeRange: {Total: 4, InUse: 2}, config.ModePool: {Total: 4, InUse: 1}} {
		in := Contents{Claims: []*state.Claim{claimtest.AddressClaim("203.0.113.1", "a", statetest.Shop, claimtest.HTTPS())}}
		in.Add(node, "akash-net")
		in.Add(pool, "akash-net")
		cfg := statetest.Config(t, mode, "203.0.113.0/30")
		cfg.IP.Pool = pool.GetName()
		if diff := cmp.Diff(&want, Addresses(cfg, in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mode, diff)
		}
	}
}

// Leases get addresses of the configured ranges or the configured pool, and none of the administrator's other pools. If
// an endpoint takes one address of each family, the scarcer family counts. A claimed endpoint without a granted address
// has one in use, and so has one whose address its pool does not count yet.
func TestAddresses(t *testing.T) {
	var in Contents
	for _, text := range []string{
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: routers}, spec: {addresses: [198.51.100.0/24]}}`,
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: both}, spec: {addresses: [192.0.2.16/30, "2001:db8:1::/64"]}, status: {assignedIPv4: 1, availableIPv4: 2, assignedIPv6: 0, availableIPv6: 9223372036854775807}}`,
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: six}, spec: {addresses: ["2001:db8:2::/126"]}}`,
		`{apiVersion: metallb.io/v1beta1, kind: IPAddressPool, metadata: {name: default}, spec: {addresses: [192.0.2.0/29]}, status: {assignedIPv4: 1, availableIPv4: 7}}`,
	} {
		in.Add(objectOf(t, text), "akash-net")
	}
	endpoint := func(name string) *state.Claim {
		return &state.Claim{Kind: state.Endpoint, SharingKey: lease.SharingKey(statetest.Shop.Owner, name), Parts: []state.Part{{}}}
	}
	going, unreadable := endpoint("e"), endpoint("f")
	going.Deleting, unreadable.Unreadable = true, "why"
	in.Claims = []*state.Claim{
		claimtest.AddressClaim("2001:db8::1", "z", statetest.Shop, claimtest.HTTPS()), claimtest.AddressClaim("203.0.113.0", "a", statetest.Shop, claimtest.HTTPS()), endpoint("b"), endpoint("c"), endpoint("d"), going, unreadable,
	}
	in.Services = []state.ServiceObject{
		claimtest.Service(statetest.Shop, "web-ip-443-tcp", "b", "TCP", 443, "", "192.0.2.1"),
		claimtest.Service(statetest.Shop, "web-ip-80-tcp", "c", "TCP", 80, "", "192.0.2.2"),
		claimtest.Service(statetest.Shop, "web-ip-81-tcp", "d", "TCP", 81, ""),
	}
	v4, both := []config.Family{config.IPv4}, []config.Family{config.IPv4, config.IPv6}
	for name, tt := range map[string]struct {
		mode, pool string
		ranges     []string
		want       *inventory.Addresses
		families   []config.Family
	}{
		"no ranges":                          {config.ModeRange, "default", nil, nil, v4},
		"ranges":                             {config.ModeRange, "default", []string{"203.0.113.0/30"}, &inventory.Addresses{Total: 4, InUse: 1}, v4},
		"pool":                               {config.ModePool, "default", nil, &inventory.Addresses{Total: 8, InUse: 3}, v4},
		"pool, and a range":                  {config.ModePool, "default", []string{"203.0.113.0/30"}, &inventory.Addresses{Total: 8, InUse: 3}, v4},
		"no such pool":                       {config.ModePool, "none", nil, nil, v4},
		"a range of another family":          {config.ModeRange, "default", []string{"2001:db8::/126"}, nil, v4},
		"both families, one without a range": {config.ModeRange, "default", []string{"203.0.113.0/30"}, nil, both},
		"both families, fewest are IPv4":     {config.ModeRange, "default", []string{"203.0.113.0/30", "2001:db8::/64"}, &inventory.Addresses{Total: 4, InUse: 1}, both},
		"both families, fewest are IPv6":     {config.ModeRange, "default", []string{"203.0.113.0/28", "2001:db8::/127", "203.0.113.64/28"}, &inventory.Addresses{Total: 2, InUse: 1}, both},
		"a pool of both families":            {config.ModePool, "both", nil, &inventory.Addresses{Total: 3, InUse: 2}, both},
		"a pool of IPv6":                     {config.ModePool, "six", nil, &inventory.Addresses{Total: 4, InUse: 1}, v4},
	} {
		cfg := config.Default()
		cfg.IP.Mode, cfg.IP.Pool, cfg.IP.Ranges.Include, cfg.IP.Families = tt.mode, tt.pool, nil, tt.families
		for _, text := range tt.ranges {
			r, err := config.ParseRange(text)
			if err != nil {
				t.Fatal(err)
			}
			cfg.IP.Ranges.Include = append(cfg.IP.Ranges.Include, r)
		}
		if diff := cmp.Diff(tt.want, Addresses(cfg, in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
