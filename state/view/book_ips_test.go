package view

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// ipLine prints a row.
type ipLine struct {
	Address, Owner string
	Protocol       lease.Protocol
	Port           uint16
	Service        string
	ContainerPort  uint16
	Pool, State    string
	Claimed        bool
	Message        string
}

func ipLines(b *Book) []ipLine {
	var out []ipLine
	for _, r := range b.IPs {
		address := ""
		if r.Address.IsValid() {
			address = r.Address.String()
		}
		out = append(out, ipLine{address, r.Owner, r.Protocol, r.Port, r.Service, r.ContainerPort, r.Pool, r.State, r.Claimed, r.Message})
	}
	return out
}

func TestBookIPs(t *testing.T) {
	const pool, pool6 = "akash-net-203-0-113-0-28", "akash-net-2001-0db8-0010-0000-0000-0000-0000-0000-120"
	dns := state.PortWant{Protocol: lease.UDP, ExternalPort: 53, Service: "web", Port: 8053}
	marked := claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS())
	marked.Parts[0].Run = "n0nce"
	key := lease.SharingKey(statetest.Bob, "public")
	leasedIP := state.PortObjectOf(statetest.Meta(statetest.Blog, "lease", lease.LeasedIPName(key, lease.TCP, 22), 2,
		"service-name", "blog", "external-port", "22", "proto", "TCP"))
	foreign := claimtest.Service(statetest.Shop, "foreign", "x", "TCP", 22, "", "203.0.113.14")
	foreign.HasLease, foreign.Owner = false, ""

	for name, tc := range map[string]struct {
		claims   []*state.Claim
		ports    []state.PortObject
		services []state.ServiceObject
		want     []ipLine
	}{
		"nothing": {},
		"granted, two ports, in the order of ports": {
			claims: []*state.Claim{claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS(), dns)},
			services: []state.ServiceObject{
				claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7"),
				claimtest.Service(statetest.Shop, "web-ip-53-udp", "public", "UDP", 53, "203.0.113.7"),
			},
			want: []ipLine{
				{"203.0.113.7", statetest.Alice, lease.UDP, 53, "web", 8053, pool, StatePending, true, ""},
				{"203.0.113.7", statetest.Alice, lease.TCP, 443, "web", 8443, "public", StateActive, true, ""},
			},
		},
		"no service yet": {
			claims: []*state.Claim{claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS())},
			want:   []ipLine{{"203.0.113.7", statetest.Alice, lease.TCP, 443, "web", 8443, pool, StateReserved, true, ""}},
		},
		"a run's mark": {
			claims:   []*state.Claim{marked},
			services: []state.ServiceObject{claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")},
			want:     []ipLine{{"203.0.113.7", statetest.Alice, lease.TCP, 443, "web", 8443, "public", StateClaiming, true, ""}},
		},
		"another address granted": {
			claims:   []*state.Claim{claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS())},
			services: []state.ServiceObject{claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "", "203.0.113.9")},
			want: []ipLine{
				{"203.0.113.7", statetest.Alice, lease.TCP, 443, "web", 8443, pool, StatePending, true, "MetalLB granted 203.0.113.9 instead"},
				{"203.0.113.9", statetest.Alice, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""},
			},
		},
		"an address of each family": {
			claims: []*state.Claim{
				claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS()),
				claimtest.AddressClaim("2001:db8:10::7", "public", statetest.Shop, claimtest.HTTPS()),
			},
			services: []state.ServiceObject{
				claimtest.Service(statetest.Shop, "web-ip-443-tcp-v6", "public", "TCP", 443, "2001:db8:10::7"),
				claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7"),
			},
			want: []ipLine{
				{"203.0.113.7", statetest.Alice, lease.TCP, 443, "web", 8443, "public", StateActive, true, ""},
				{"2001:db8:10::7", statetest.Alice, lease.TCP, 443, "web", 8443, pool6, StatePending, true, ""},
			},
		},
		"the service of the other family alone": {
			claims:   []*state.Claim{claimtest.AddressClaim("2001:db8:10::7", "public", statetest.Shop, claimtest.HTTPS())},
			services: []state.ServiceObject{claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7")},
			want: []ipLine{
				{"2001:db8:10::7", statetest.Alice, lease.TCP, 443, "web", 8443, pool6, StateReserved, true, ""},
				{"", statetest.Alice, lease.TCP, 443, "web", 8443, "", StatePending, false, ""},
			},
		},
		"another owner's service with the same port is not the claim's": {
			claims:   []*state.Claim{claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS())},
			services: []state.ServiceObject{claimtest.Service(statetest.Blog, "web-ip-443-tcp", "public", "TCP", 443, "", "203.0.113.9")},
			want: []ipLine{
				{"203.0.113.7", statetest.Alice, lease.TCP, 443, "web", 8443, pool, StateReserved, true, ""},
				{"203.0.113.9", statetest.Bob, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""},
			},
		},
		"Akash's provider alone: granted, waiting, declared": {
			ports: []state.PortObject{leasedIP},
			services: []state.ServiceObject{
				claimtest.Service(statetest.Blog, "web-ip-53-udp", "dns", "UDP", 53, ""),
				claimtest.Service(statetest.Blog, "web-ip-443-tcp", "web", "TCP", 443, "", "198.51.100.4"),
			},
			want: []ipLine{
				{"198.51.100.4", statetest.Bob, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""},
				{"", statetest.Bob, lease.TCP, 22, "blog", 0, "", StateReserved, false, ""},
				{"", statetest.Bob, lease.UDP, 53, "web", 8053, "", StatePending, false, ""},
			},
		},
		"a declared port whose service waits has one row": {
			ports:    []state.PortObject{leasedIP},
			services: []state.ServiceObject{claimtest.Service(statetest.Blog, "blog-ip-22-tcp", "public", "TCP", 22, "")},
			want:     []ipLine{{"", statetest.Bob, lease.TCP, 22, "web", 8022, "", StatePending, false, ""}},
		},
		"a service that names no lease": {
			services: []state.ServiceObject{foreign},
			want:     []ipLine{{"203.0.113.14", "", lease.TCP, 22, "web", 8022, "public", StateActive, false, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/28", "2001:db8:10::/120")
			b := NewBook(cfg, Contents{Claims: tc.claims, Ports: tc.ports, Services: tc.services}, SubjectIPs)
			if diff := cmp.Diff(tc.want, ipLines(b)); diff != "" {
				t.Errorf("ips (-want +got):\n%s", diff)
			}
		})
	}
}

// The pool of an address is that of MetalLB's grant, else the pool that has it, else the configured one.
func TestPoolOfAnAddress(t *testing.T) {
	pool := func(name string, addresses ...string) state.PoolObject {
		o := state.PoolObject{Name: name, Ours: true}
		for _, text := range addresses {
			r, err := config.ParseRange(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Ranges = append(o.Ranges, r)
		}
		return o
	}
	const configured = "akash-net-203-0-113-0-27"
	old, next := pool("akash-net-203-0-113-0-28", "203.0.113.0/28"), pool(configured, "203.0.113.16/28")
	claimed := claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS())
	granted := claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")
	granted.Pool = old.Name
	asks := claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7")
	for name, tc := range map[string]struct {
		pools    []state.PoolObject
		services []state.ServiceObject
		want     string
	}{
		"no pool is known":                     {want: configured},
		"reserved, in the former pool":         {pools: []state.PoolObject{next, old}, want: old.Name},
		"asked for, in the former pool":        {pools: []state.PoolObject{old, next}, services: []state.ServiceObject{asks}, want: old.Name},
		"granted, and the pools were not read": {services: []state.ServiceObject{granted}, want: old.Name},
		"granted, in the former pool":          {pools: []state.PoolObject{old, next}, services: []state.ServiceObject{granted}, want: old.Name},
		"in an administrator's pool":           {pools: []state.PoolObject{{Name: "admin", Ranges: old.Ranges}}, want: "admin"},
		"the pools do not have it, yet":        {pools: []state.PoolObject{next}, want: configured},
		"in the configured pool, among many":   {pools: []state.PoolObject{pool("a", "203.0.113.0/30", "203.0.113.8/30"), pool("b", "10.0.0.0/8", "2001:db8::/64"), pool(configured, "203.0.113.4/30")}, want: configured},
		"behind one that begins much lower":    {pools: []state.PoolObject{pool("low", "203.0.112.0-203.0.113.3"), pool("high", "203.0.113.6-203.0.113.8"), pool("last", "203.0.113.9/32")}, want: "high"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(statetest.Config(t, config.ModeRange, "203.0.113.0/27"), Contents{Claims: []*state.Claim{claimed}, Services: tc.services, Pools: tc.pools}, SubjectIPs)
			if len(b.IPs) != 1 || b.IPs[0].Pool != tc.want {
				t.Errorf("%+v, want pool %s", b.IPs, tc.want)
			}
		})
	}
}
