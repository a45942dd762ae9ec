package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// ipLine is what the tests say of a row.
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
	dns := PortWant{Protocol: lease.UDP, ExternalPort: 53, Service: "web", Port: 8053}
	marked := bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS())
	marked.Parts[0].Run = "n0nce"
	key := lease.SharingKey(bookBob, "public")
	leasedIP := PortObjectOf(bookMeta(bookBlog, "lease", lease.LeasedIPName(key, lease.TCP, 22), 2,
		"service-name", "blog", "external-port", "22", "proto", "TCP"))
	foreign := bookService(bookShop, "foreign", "x", "TCP", 22, "", "203.0.113.14")
	foreign.HasLease, foreign.Owner = false, ""

	for name, tc := range map[string]struct {
		claims   []*Claim
		ports    []PortObject
		services []ServiceObject
		want     []ipLine
	}{
		"nothing": {},
		"granted, two ports, in the order of ports": {
			claims: []*Claim{bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS(), dns)},
			services: []ServiceObject{
				bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7"),
				bookService(bookShop, "web-ip-53-udp", "public", "UDP", 53, "203.0.113.7"),
			},
			want: []ipLine{
				{"203.0.113.7", bookAlice, lease.UDP, 53, "web", 8053, pool, StatePending, true, ""},
				{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, "public", StateActive, true, ""},
			},
		},
		"no service yet": {
			claims: []*Claim{bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS())},
			want:   []ipLine{{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StateReserved, true, ""}},
		},
		"a run's mark": {
			claims:   []*Claim{marked},
			services: []ServiceObject{bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")},
			want:     []ipLine{{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, "public", StateClaiming, true, ""}},
		},
		"another address granted": {
			claims:   []*Claim{bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS())},
			services: []ServiceObject{bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "", "203.0.113.9")},
			want: []ipLine{
				{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StatePending, true, "MetalLB granted 203.0.113.9 instead"},
				{"203.0.113.9", bookAlice, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""},
			},
		},
		"an address of each family": {
			claims: []*Claim{
				bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS()),
				bookAddressClaim("2001:db8:10::7", "public", bookShop, bookHTTPS()),
			},
			services: []ServiceObject{
				bookService(bookShop, "web-ip-443-tcp-v6", "public", "TCP", 443, "2001:db8:10::7"),
				bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7"),
			},
			want: []ipLine{
				{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, "public", StateActive, true, ""},
				{"2001:db8:10::7", bookAlice, lease.TCP, 443, "web", 8443, pool6, StatePending, true, ""},
			},
		},
		"the service of the other family alone": {
			claims:   []*Claim{bookAddressClaim("2001:db8:10::7", "public", bookShop, bookHTTPS())},
			services: []ServiceObject{bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7")},
			want: []ipLine{
				{"2001:db8:10::7", bookAlice, lease.TCP, 443, "web", 8443, pool6, StateReserved, true, ""},
				{"", bookAlice, lease.TCP, 443, "web", 8443, "", StatePending, false, ""},
			},
		},
		"another owner's service with the same port is not the claim's": {
			claims:   []*Claim{bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS())},
			services: []ServiceObject{bookService(bookBlog, "web-ip-443-tcp", "public", "TCP", 443, "", "203.0.113.9")},
			want: []ipLine{
				{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StateReserved, true, ""},
				{"203.0.113.9", bookBob, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""},
			},
		},
		"Akash's provider alone: granted, waiting, declared": {
			ports: []PortObject{leasedIP},
			services: []ServiceObject{
				bookService(bookBlog, "web-ip-53-udp", "dns", "UDP", 53, ""),
				bookService(bookBlog, "web-ip-443-tcp", "web", "TCP", 443, "", "198.51.100.4"),
			},
			want: []ipLine{
				{"198.51.100.4", bookBob, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""},
				{"", bookBob, lease.TCP, 22, "blog", 0, "", StateReserved, false, ""},
				{"", bookBob, lease.UDP, 53, "web", 8053, "", StatePending, false, ""},
			},
		},
		"a declared port whose service waits has one row": {
			ports:    []PortObject{leasedIP},
			services: []ServiceObject{bookService(bookBlog, "blog-ip-22-tcp", "public", "TCP", 22, "")},
			want:     []ipLine{{"", bookBob, lease.TCP, 22, "web", 8022, "", StatePending, false, ""}},
		},
		"a service that names no lease": {
			services: []ServiceObject{foreign},
			want:     []ipLine{{"203.0.113.14", "", lease.TCP, 22, "web", 8022, "public", StateActive, false, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := bookConfig(t, config.ModeRange, "203.0.113.0/28", "2001:db8:10::/120")
			b := NewBook(cfg, Contents{Claims: tc.claims, Ports: tc.ports, Services: tc.services}, SubjectIPs)
			if diff := cmp.Diff(tc.want, ipLines(b)); diff != "" {
				t.Errorf("ips (-want +got):\n%s", diff)
			}
		})
	}
}

// The pool of an address is the one that serves it: that of MetalLB's grant, else the pool that has it, else
// the one that the configuration gives it.
func TestPoolOfAnAddress(t *testing.T) {
	pool := func(name string, addresses ...string) PoolObject {
		o := PoolObject{Name: name, Ours: true}
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
	claimed := bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS())
	granted := bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")
	granted.Pool = old.Name
	asks := bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7")
	for name, tc := range map[string]struct {
		pools    []PoolObject
		services []ServiceObject
		want     string
	}{
		"no pool is known":                     {want: configured},
		"reserved, in the former pool":         {pools: []PoolObject{next, old}, want: old.Name},
		"asked for, in the former pool":        {pools: []PoolObject{old, next}, services: []ServiceObject{asks}, want: old.Name},
		"granted, and the pools were not read": {services: []ServiceObject{granted}, want: old.Name},
		"granted, in the former pool":          {pools: []PoolObject{old, next}, services: []ServiceObject{granted}, want: old.Name},
		"in an administrator's pool":           {pools: []PoolObject{{Name: "admin", Ranges: old.Ranges}}, want: "admin"},
		"the pools do not have it, yet":        {pools: []PoolObject{next}, want: configured},
		"in the configured pool, among many":   {pools: []PoolObject{pool("a", "203.0.113.0/30", "203.0.113.8/30"), pool("b", "10.0.0.0/8", "2001:db8::/64"), pool(configured, "203.0.113.4/30")}, want: configured},
		"behind one that begins much lower":    {pools: []PoolObject{pool("low", "203.0.112.0-203.0.113.3"), pool("high", "203.0.113.6-203.0.113.8"), pool("last", "203.0.113.9/32")}, want: "high"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(bookConfig(t, config.ModeRange, "203.0.113.0/27"), Contents{Claims: []*Claim{claimed}, Services: tc.services, Pools: tc.pools}, SubjectIPs)
			if len(b.IPs) != 1 || b.IPs[0].Pool != tc.want {
				t.Errorf("%+v, want pool %s", b.IPs, tc.want)
			}
		})
	}
}
