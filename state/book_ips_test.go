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
				{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StateActive, true, ""},
			},
		},
		"no service yet": {
			claims: []*Claim{bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS())},
			want:   []ipLine{{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StateReserved, true, ""}},
		},
		"a run's mark": {
			claims:   []*Claim{marked},
			services: []ServiceObject{bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")},
			want:     []ipLine{{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StateClaiming, true, ""}},
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
				{"203.0.113.7", bookAlice, lease.TCP, 443, "web", 8443, pool, StateActive, true, ""},
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
