package pools

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// pool is a pool of MetalLB's, of this program or of an administrator.
func pool(ours bool, name string, addresses ...string) state.PoolObject {
	o := state.PoolObject{Name: name, Ours: ours, Texts: addresses, Ref: state.ObjectRef{Namespace: "metallb-system", Name: name}}
	for _, text := range addresses {
		if r, err := config.ParseRange(text); err == nil {
			o.Ranges = append(o.Ranges, r)
		}
	}
	return o
}

// inUse are addresses that are claimed.
func inUse(addresses ...string) *state.Addresses {
	var claims []*state.Claim
	for _, a := range addresses {
		claims = append(claims, ot.Address(ot.Shop, a, 443))
	}
	return state.NewAddresses(claims, nil)
}

// poolTexts are pools as "name: addresses".
func poolTexts(t *testing.T, objects []render.Object) (texts []string) {
	t.Helper()
	for i, o := range objects {
		if o.Kind != kinds.IPAddressPool {
			continue
		}
		if i+1 == len(objects) || objects[i+1].Kind != kinds.L2Advertisement || objects[i+1].Name != o.Name {
			t.Errorf("pool %s is not advertised", o.Name)
		}
		addresses, _, err := unstructured.NestedStringSlice(cluster.Rendered(o).Object, "spec", "addresses")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, o.Name+": "+strings.Join(addresses, " "))
	}
	return texts
}

// The one range that is configured, and its pool.
const network, rangePool = "203.0.113.0/28", "akash-net-203-0-113-0-28"

// The pools that addresses need are reduced to what other pools leave to them, and none that overlaps another is wanted.
func TestWanted(t *testing.T) {
	const one, next = "akash-ip-203-0-113-1", "akash-ip-203-0-113-2"
	for name, tt := range map[string]struct {
		mode    string
		pools   []state.PoolObject
		used    []string
		want    []string
		overlap string
	}{
		"a range":                             {mode: config.ModeRange, want: []string{rangePool + ": 203.0.113.0/28"}},
		"what another pool of ours has":       {mode: config.ModeRange, pools: []state.PoolObject{pool(true, "akash-old", "203.0.113.8/29")}, want: []string{rangePool + ": 203.0.113.0/29"}},
		"another pool of ours has all":        {mode: config.ModeRange, pools: []state.PoolObject{pool(true, one, "203.0.113.1/32"), pool(true, next, "203.0.113.2/32")}},
		"one for each address":                {mode: config.ModeDedicated, want: []string{one + ": 203.0.113.1/32", next + ": 203.0.113.2/32"}},
		"what its pool serves, and is in use": {mode: config.ModeDedicated, pools: []state.PoolObject{pool(true, next, "203.0.113.2-203.0.113.5")}, used: []string{"203.0.113.3"}, want: []string{one + ": 203.0.113.1/32", next + ": 203.0.113.2/32 203.0.113.3/32"}},
		"somebody else's is in the way":       {mode: config.ModeRange, pools: []state.PoolObject{pool(false, "theirs", "203.0.113.8/32")}, overlap: "theirs"},
		"somebody else's has the second":      {mode: config.ModeDedicated, pools: []state.PoolObject{pool(false, "theirs", "203.0.113.2/32")}, overlap: "theirs"},
		"MetalLB's own pools":                 {mode: config.ModePool},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(statetest.Config(t, tt.mode, network), ot.Snapshot(nil))
			p.live = func() *state.PoolIndex { return state.NewPoolIndex(tt.pools) }
			p.used = inUse(tt.used...).InUse
			addresses := render.Addresses{"public": {netip.MustParseAddr("203.0.113.1")}, "private": {netip.MustParseAddr("203.0.113.2")}}
			for range 2 { // for two leases
				got, err := p.Wanted(addresses)
				check(t, got, err, tt.want, tt.overlap)
				if refused := p.Check(addresses); (refused != nil) != (tt.overlap != "") {
					t.Errorf("checked: %v", refused)
				}
			}
		})
	}
}

// Pools are written beside those that are there: an address never moves to another pool, and two pools never overlap.
func TestBeside(t *testing.T) {
	dedicated := func(last int) string { return fmt.Sprintf("akash-ip-203-0-113-%d", last) }
	tests := []struct {
		name, mode string
		addresses  []string
		pools      []state.PoolObject
		used       []string
		want       []string
		overlap    string
	}{
		{"the first address of a range", config.ModeRange, []string{"203.0.113.1"}, nil, nil, []string{rangePool + ": 203.0.113.0/28"}, ""},
		{"an address whose pool is there", config.ModeRange, []string{"203.0.113.1"}, []state.PoolObject{pool(true, rangePool, network)}, nil, []string{rangePool + ": 203.0.113.0/28"}, ""},
		{"an address that another pool of ours serves stays there", config.ModeRange, []string{"203.0.113.1"}, []state.PoolObject{pool(true, dedicated(1), "203.0.113.1/32")}, nil, []string{dedicated(1) + ": 203.0.113.1/32"}, ""},
		{"a range beside an address that another pool of ours serves", config.ModeRange, []string{"203.0.113.0"}, []state.PoolObject{pool(true, dedicated(15), "203.0.113.15/32")}, nil,
			[]string{rangePool + ": 203.0.113.0-203.0.113.14"}, ""},
		{"somebody else's pool overlaps", config.ModeRange, []string{"203.0.113.1"}, []state.PoolObject{pool(false, "administrators", "203.0.113.8-203.0.113.9")}, nil, nil, "administrators"},
		{"somebody else's pool is beside it", config.ModeRange, []string{"203.0.113.1"}, []state.PoolObject{pool(false, "administrators", "203.0.113.16/28")}, nil, []string{rangePool + ": 203.0.113.0/28"}, ""},
		{"a pool for each address", config.ModeDedicated, []string{"203.0.113.1", "203.0.113.2"}, nil, nil, []string{dedicated(1) + ": 203.0.113.1/32", dedicated(2) + ": 203.0.113.2/32"}, ""},
		{"somebody else's pool has another address", config.ModeDedicated, []string{"203.0.113.1"}, []state.PoolObject{pool(false, "administrators", "203.0.113.2/32")}, nil, []string{dedicated(1) + ": 203.0.113.1/32"}, ""},
		{"an address in use that the pool serves stays in it", config.ModeDedicated, []string{"203.0.113.1"}, []state.PoolObject{pool(true, dedicated(1), "203.0.113.1-203.0.113.3")}, []string{"203.0.113.3"},
			[]string{dedicated(1) + ": 203.0.113.1/32 203.0.113.3/32"}, ""},
		{"MetalLB's own pools", config.ModePool, []string{"203.0.113.1"}, []state.PoolObject{pool(true, rangePool, network)}, nil, nil, ""},
		{"no addresses", config.ModeRange, nil, []state.PoolObject{pool(true, rangePool, network)}, nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var addresses []netip.Addr
			for _, a := range tt.addresses {
				addresses = append(addresses, netip.MustParseAddr(a))
			}
			got, err := Beside(statetest.Config(t, tt.mode, network), addresses, &Known{Addresses: inUse(tt.used...), Pools: tt.pools})
			check(t, got, err, tt.want, tt.overlap)
		})
	}
}

func check(t *testing.T, got []render.Object, err error, want []string, overlap string) {
	t.Helper()
	if overlap != "" {
		if refused, ok := errors.AsType[*report.PoolOverlapError](err); !ok || refused.Pool != overlap {
			t.Errorf("error %v, want one that names pool %s", err, overlap)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if texts := poolTexts(t, got); !slices.Equal(texts, want) {
		t.Errorf("pools %q, want %q", texts, want)
	}
}

// The pools of all ranges, as they are left beside what is there.
func TestRangesBeside(t *testing.T) {
	tests := []struct {
		name    string
		ranges  []string
		pools   []state.PoolObject
		used    []string
		want    []string
		overlap string
	}{
		{"nothing is there", []string{network}, nil, nil, []string{rangePool + ": 203.0.113.0/28"}, ""},
		{"what is excluded is in no pool", []string{network, "!203.0.113.15/32"}, nil, nil, []string{rangePool + ": 203.0.113.0-203.0.113.14"}, ""},
		{"two ranges", []string{network, "198.51.100.7/32"}, nil, nil, []string{"akash-net-198-51-100-7-32: 198.51.100.7/32", rangePool + ": 203.0.113.0/28"}, ""},
		{"a pool of ours with an address in use that is configured no more", []string{network}, []state.PoolObject{pool(true, "akash-old", "198.51.100.0/30")}, []string{"198.51.100.1"},
			[]string{rangePool + ": 203.0.113.0/28", "akash-old: 198.51.100.0/30"}, ""},
		{"a pool of ours without an address in use goes", []string{network}, []state.PoolObject{pool(true, "akash-old", "198.51.100.0/30")}, nil, []string{rangePool + ": 203.0.113.0/28"}, ""},
		{"a pool of somebody else with an address in use is not ours to write", []string{network}, []state.PoolObject{pool(false, "administrators", "198.51.100.0/30")}, []string{"198.51.100.1"}, []string{rangePool + ": 203.0.113.0/28"}, ""},
		{"a pool of somebody else overlaps", []string{network}, []state.PoolObject{pool(false, "administrators", "203.0.113.0/24")}, nil, nil, "administrators"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := RangesBeside(statetest.Config(t, config.ModeRange, tt.ranges...), &Known{Addresses: inUse(tt.used...), Pools: tt.pools})
			check(t, got, err, tt.want, tt.overlap)
		})
	}
}

// Whether an address needs a pool of this program's beside those that are there.
func TestNeedsPool(t *testing.T) {
	tests := []struct {
		name, address string
		pools         []state.PoolObject
		want          bool
	}{
		{"no pool has it", "203.0.113.1", nil, true},
		{"another pool of ours has it", "203.0.113.1", []state.PoolObject{pool(true, "akash-ip-203-0-113-1", "203.0.113.1/32")}, false},
		{"only somebody else's has it", "203.0.113.1", []state.PoolObject{pool(false, "administrators", "203.0.113.1/32")}, true},
		{"it was excluded since it was leased, and a pool of ours has it", "198.51.100.1", []state.PoolObject{pool(true, "akash-old", "198.51.100.0/30")}, false},
		{"it was excluded, and somebody else's pool has it", "198.51.100.1", []state.PoolObject{pool(false, "administrators", "198.51.100.0/30")}, false},
		{"it was excluded, and no pool has it", "198.51.100.1", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := needsPool(statetest.Config(t, config.ModeRange, network), netip.MustParseAddr(tt.address), state.NewPoolIndex(tt.pools))
			if got != tt.want {
				t.Errorf("it needs a pool: %t, want %t", got, tt.want)
			}
		})
	}
}

// A rest of a range that could not be advertised as configured is not written: MetalLB would drop its whole configuration.
func TestTooSmallToBeAdvertised(t *testing.T) {
	for name, tt := range map[string]struct {
		others  []state.PoolObject
		used    []string
		length  int
		refused string
	}{
		"the whole range":                {length: 28},
		"half of it":                     {length: 29, others: []state.PoolObject{pool(true, "akash-old", "203.0.113.8/29")}},
		"half of it, as the whole range": {length: 28, others: []state.PoolObject{pool(true, "akash-old", "203.0.113.8/29")}, refused: rangePool},
		"a pool that keeps one address":  {length: 28, others: []state.PoolObject{pool(true, rangePool, network, "198.51.100.1/32")}, used: []string{"198.51.100.1"}, refused: rangePool},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := statetest.Config(t, config.ModeRange, network)
			cfg.IP.Advertisement.Type, cfg.IP.Advertisement.AggregationLength = config.AdvertiseBGP, tt.length
			p := New(cfg, ot.Snapshot(nil))
			p.live = func() *state.PoolIndex { return state.NewPoolIndex(tt.others) }
			p.used = inUse(tt.used...).InUse
			address := netip.MustParseAddr("203.0.113.1")
			_, applied := p.Wanted(render.Addresses{"public": {address}})
			_, rendered := Beside(cfg, []netip.Addr{address}, &Known{Addresses: inUse(tt.used...), Pools: tt.others})
			for _, err := range []error{applied, rendered} {
				if (err != nil) != (tt.refused != "") || err != nil && !strings.Contains(err.Error(), "IPAddressPool "+tt.refused+" cannot be advertised") {
					t.Errorf("error %v, want one of pool %q", err, tt.refused)
				}
			}
		})
	}
}
