package apply

import (
	"fmt"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// In dedicated mode each address has a pool of its own. To look after one lease's address does not take a
// look at the pools of all others.
func TestWorkOnAPoolIsItsOwn(t *testing.T) {
	perLease := func(n int) float64 {
		cfg := config.Default()
		cfg.IP.Mode = config.ModeDedicated
		all, err := config.ParseRange("10.0.0.0/8")
		if err != nil {
			t.Fatal(err)
		}
		cfg.IP.Ranges.Include = []config.Range{all}
		s := &snapshot{live: map[string]map[string]*unstructured.Unstructured{}, addresses: state.NewPicker(state.NewAddresses(nil, nil))}
		live := map[string]*unstructured.Unstructured{}
		address := func(i int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("10.1.%d.%d", i/256, i%256)) }
		for i := range n {
			pools, err := render.Pools(cfg, []netip.Addr{address(i)})
			if err != nil {
				t.Fatal(err)
			}
			live[pools[0].Name] = cluster.Rendered(pools[0])
		}
		s.live[kinds.IPAddressPool.Plural] = live
		a := New(nil, Options{Config: cfg})
		p := newPools(a, s)
		for i := range n {
			r := &run{Applier: a, addresses: render.Addresses{"public": {address(i)}}}
			if err := p.check(r); err != nil {
				t.Fatal(err)
			}
		}
		return float64(p.live().Looked()) / float64(n)
	}
	few, many := perLease(64), perLease(2048)
	if many > 2*few {
		t.Errorf("%.0f pools are looked at for one of 64 leases, %.0f for one of 2048", few, many)
	}
}
