package observed_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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
		addresses, _, err := unstructured.NestedStringSlice(render.Rendered(o).Object, "spec", "addresses")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, o.Name+": "+strings.Join(addresses, " "))
	}
	return texts
}

// Which pools are written beside those that are there: testdata/pools.txt. A line is
//
//	MODE RANGE... | ADDRESS... | POOL...; | ADDRESS...
//
// with the configuration, the addresses that leases get, the pools that are there ("theirs" begins an administrator's), and the addresses in use.
// None that overlaps another is wanted, an address never moves to another pool, and none is in two. What apply wants for two endpoints
// ("wanted"), what is rendered ("beside"), the pools of all ranges ("ranges"), and whether an address needs one ("needs").
func TestPools(t *testing.T) {
	asks := func(rule func(cfg *config.ProviderConfig, addresses []netip.Addr, there *observed.Known) string) func(string) string {
		return func(line string) string {
			parts := append(strings.Split(line, "|"), "", "", "")
			words := strings.Fields(parts[0])
			var addresses []netip.Addr
			for _, a := range strings.Fields(parts[1]) {
				addresses = append(addresses, netip.MustParseAddr(a))
			}
			there := &observed.Known{Addresses: inUse(strings.Fields(parts[3])...)}
			for _, text := range strings.Split(parts[2], ";") {
				names := strings.Fields(text)
				ours := len(names) > 0 && names[0] != "theirs"
				if len(names) > 0 && !ours {
					names = names[1:]
				}
				if len(names) > 0 {
					there.Pools = append(there.Pools, pool(ours, names[0], names[1:]...))
				}
			}
			return rule(statetest.Config(t, words[0], append(words[1:], network)[:max(1, len(words)-1)]...), addresses, there)
		}
	}
	say := func(got []render.Object, err error) string {
		if refused, ok := errors.AsType[*report.PoolOverlapError](err); ok {
			return "! overlaps " + refused.Pool
		}
		if err != nil {
			t.Error(err)
		}
		return strings.Join(poolTexts(t, got), "; ")
	}
	golden.Rules{
		"wanted": asks(func(cfg *config.ProviderConfig, addresses []netip.Addr, there *observed.Known) string {
			wants := render.Addresses{}
			for i, a := range addresses {
				wants[fmt.Sprint("e", i)] = []netip.Addr{a}
			}
			return say(observed.PoolsFor(cfg, wants, there))
		}),
		"beside": asks(func(cfg *config.ProviderConfig, addresses []netip.Addr, there *observed.Known) string {
			return say(observed.Beside(cfg, addresses, there))
		}),
		"ranges": asks(func(cfg *config.ProviderConfig, _ []netip.Addr, there *observed.Known) string {
			return say(observed.RangesBeside(cfg, there))
		}),
		"needs": asks(func(cfg *config.ProviderConfig, addresses []netip.Addr, there *observed.Known) string {
			return fmt.Sprint(observed.NeedsPool(cfg, addresses[0], state.NewPoolIndex(there.Pools)))
		}),
	}.Check(t, "testdata/pools.txt")
}

// The one range that is configured where none is named, and its pool.
const network, rangePool = "203.0.113.0/28", "akash-net-203-0-113-0-28"

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
			address := netip.MustParseAddr("203.0.113.1")
			known := &observed.Known{Addresses: inUse(tt.used...), Pools: tt.others}
			_, applied := observed.PoolsFor(cfg, render.Addresses{"public": {address}}, known)
			_, rendered := observed.Beside(cfg, []netip.Addr{address}, known)
			for _, err := range []error{applied, rendered} {
				if (err != nil) != (tt.refused != "") || err != nil && !strings.Contains(err.Error(), "IPAddressPool "+tt.refused+" cannot be advertised") {
					t.Errorf("error %v, want one of pool %q", err, tt.refused)
				}
			}
		})
	}
}
