package apply

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

const poolPath = "/apis/metallb.io/v1beta1/namespaces/metallb-system/ipaddresspools/"

// otherPool puts an administrator's pool into the server's store.
func (s *server) otherPool(t *testing.T, addresses ...string) {
	t.Helper()
	s.store(t, poolPath+"administrators", map[string]any{
		"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": map[string]any{"name": "administrators", "namespace": "metallb-system"},
		"spec":     map[string]any{"addresses": addresses},
	})
}

// MetalLB drops its whole configuration over two pools that overlap. Such a pool is refused before
// MetalLB sees it, and the lease has what it had.
func TestOverlapIsRefused(t *testing.T) {
	tests := []struct {
		name, mode string
		addresses  []string
		refused    bool
	}{
		{"the whole network", config.ModeRange, []string{"203.0.113.0/24"}, true},
		{"one address of the range", config.ModeRange, []string{"198.51.100.0/24", "203.0.113.15-203.0.113.15"}, true},
		{"beside the range", config.ModeRange, []string{"203.0.113.16/28"}, false},
		{"of the other family", config.ModeRange, []string{"2001:db8::/64"}, false},
		{"what is no address", config.ModeRange, []string{"all"}, false},
		{"the address itself", config.ModeDedicated, []string{"203.0.113.1/32"}, true},
		{"another address of the range", config.ModeDedicated, []string{"203.0.113.2/32"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name+" in "+tt.mode+" mode", func(t *testing.T) {
			s, c := newServer(t, 1)
			s.otherPool(t, tt.addresses...)
			a, _ := applier(t, c)
			a.Command.Options.Config.IP.Mode = tt.mode
			err := a.Apply(t.Context(), []*lease.Definition{withAddress(someLease(someOwner, 1), "203.0.113.1")})
			overlap, ok := errors.AsType[*report.PoolOverlapError](err)
			if ok != tt.refused || err != nil && !tt.refused {
				t.Fatalf("error %v", err)
			}
			if !tt.refused {
				return
			}
			if overlap.Pool != "administrators" || !slices.Contains(tt.addresses, overlap.Addresses) {
				t.Errorf("the error names %+v", overlap)
			}
			for _, w := range s.writes {
				if strings.Contains(w, "ipaddresspools/") || strings.Contains(w, "l2advertisements/") {
					t.Errorf("MetalLB was told something: %q", s.writes)
				}
			}
			if slices.Contains(s.names(), "leases/ip--203-0-113-1") {
				t.Errorf("the claim stays: %q", s.names())
			}
		})
	}
}

// In dedicated mode the pool of an address goes with its claim, just before it.
func TestDedicatedPoolGoesWithTheClaim(t *testing.T) {
	s, c := newServer(t, 1)
	a, _ := applier(t, c)
	a.Command.Options.Config.IP.Mode = config.ModeDedicated
	first := someLease(someOwner, 1)
	if err := a.Apply(t.Context(), []*lease.Definition{withAddress(first, "203.0.113.1")}); err != nil {
		t.Fatal(err)
	}
	const pool, claim = "ipaddresspools/akash-ip-203-0-113-1", "leases/ip--203-0-113-1"
	if names := s.names(); !slices.Contains(names, pool) || !slices.Contains(names, claim) {
		t.Fatalf("the cluster has %q", names)
	}
	s.writes = nil
	if err := a.Release(t.Context(), []lease.Group{first.Group()}); err != nil {
		t.Fatal(err)
	}
	var order []int
	for _, w := range []string{"services/game-ip-443-tcp", "l2advertisements/akash-ip-203-0-113-1", pool, claim} {
		order = append(order, slices.Index(s.writes, http.MethodDelete+" "+w))
	}
	if order[0] < 0 || !slices.IsSorted(order) {
		t.Errorf("writes %q", s.writes)
	}
	if names := s.names(); slices.Contains(names, pool) || slices.Contains(names, claim) {
		t.Errorf("left after the release: %q", names)
	}
}

// The pool stays while another deployment of the owner holds a port of the address.
func TestDedicatedPoolStaysForOtherHolders(t *testing.T) {
	s, c := newServer(t, 1)
	a, _ := applier(t, c)
	a.Command.Options.Config.IP.Mode = config.ModeDedicated
	first, second := someLease(someOwner, 1), someLease(someOwner, 2)
	if err := a.Apply(t.Context(), []*lease.Definition{withAddress(first, "203.0.113.1")}); err != nil {
		t.Fatal(err)
	}
	address := netip.MustParseAddr("203.0.113.1")
	want := state.EndpointWant{SharingKey: lease.SharingKey(someOwner, "public"), Ports: []state.PortWant{{Protocol: lease.UDP, ExternalPort: 53}}}
	hold := want.Hold(second, address)
	want.Ports = []state.PortWant{{Protocol: lease.TCP, ExternalPort: 443}}
	parts := append(hold.Parts, want.Hold(first, address).Parts...)
	s.store(t, claimPath+state.AddressName(address), hold.Claim().Configuration("akash-net", parts))
	s.writes = nil
	if err := a.Release(t.Context(), []lease.Group{first.Group()}); err != nil {
		t.Fatal(err)
	}
	if names := s.names(); !slices.Contains(names, "ipaddresspools/akash-ip-203-0-113-1") || !slices.Contains(names, "leases/ip--203-0-113-1") {
		t.Errorf("the other holder lost something: %q", names)
	}
	if !slices.Contains(s.writes, http.MethodPatch+" leases/ip--203-0-113-1") {
		t.Errorf("the first did not leave the claim: %q", s.writes)
	}
}
