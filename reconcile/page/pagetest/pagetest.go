// Package pagetest makes what tests show on the page.
package pagetest

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/reconcile/page"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Now is when the page was read.
var Now = statetest.Minute(60 * 24 * 3)

// Hostile is a text that does harm where it is not escaped: it ends attributes and elements, runs scripts, turns the order of letters
// round, and has controls.
const Hostile = "\"'><script>window.harm=1</script><img src=x onerror=window.harm=1>\u202egnp.exe\x1b[31m\x00{{.}}`${1}"

// tenant returns the lease of a tenant, number n.
func tenant(n int) lease.ID {
	owners := []string{statetest.Alice, statetest.Bob}
	return lease.ID{Owner: owners[n%2], DSeq: 8438017 + uint64(n)*97, GSeq: 1, OSeq: 1, Provider: statetest.Provider}
}

// TenantOf returns the tenant of a lease.
func TenantOf(id lease.ID) *view.Tenant {
	return &view.Tenant{
		Lease: id.String(), Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq, OSeq: id.OSeq, Provider: id.Provider, Namespace: id.Namespace(),
	}
}

// Host returns the row of a host that a lease holds.
func Host(name string, id lease.ID, stands string, hours int) view.HostRow {
	row := view.HostRow{
		Host: name, Tenant: TenantOf(id), Service: "web", Port: 80, State: stands, Claimed: true,
		Since: metav1.NewTime(Now.Add(-time.Duration(hours) * time.Hour)),
	}
	if stands != view.StateReserved {
		row.Target, row.Routed = "ingress", stands == view.StateActive
	}
	return row
}

// Seen returns a cluster with some of everything.
func Seen(t testing.TB) *page.Seen {
	t.Helper()
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/26", "198.51.96.0/20", "2001:db8:10::/64", "!203.0.113.0", "!203.0.113.63")
	contents := view.Contents{Now: Now, NodeUses: []state.Use{{Kind: "node", Name: "node-1", Address: netip.MustParseAddr("203.0.113.1")}}}
	addPorts(&contents)
	s := &page.Seen{At: Now, Book: *view.NewBook(cfg, contents, view.SubjectIPs, view.SubjectPools)}
	s.Book.Hosts = hosts()
	for i := range 9 {
		s.Book.Leases = append(s.Book.Leases, leaseRow(i, s))
	}
	s.Book.Leases[0].Suspended = true
	s.Book.Resources = resources()
	s.Book.Problems = problems()
	s.Runs = []*state.Announcement{{
		Nonce: "1xg5b0ac2k9qr", Groups: []lease.Group{tenant(3).Group(), tenant(4).Group()}, By: "deploy@ci-7", Version: "v1.4.0",
		Begun: Now.Add(-9 * time.Second), Renewed: Now.Add(-2 * time.Second), Lasts: 15 * time.Second, Phase: state.Active,
	}}
	s.Book.Problems = append(s.Book.Problems, state.Problem{
		Problem: state.LeaseFails, Thing: tenant(6).String(), Lease: tenant(6).String(), Since: metav1.NewTime(Now.Add(-7 * time.Minute)),
		Message: "the reconciler has failed 4 times in a row: host shop.example.com is held by lease " + tenant(0).Group().String(),
		Plan:    "fix the cause that the message names; the reconciler tries again by itself, at " + Now.Add(3*time.Minute).Format(time.RFC3339) + " at the latest",
		Manual:  true, Command: "kubectl akash-net events " + tenant(6).String(),
	})
	return s
}

// addPorts adds leased ports: of single addresses, of a block that is almost full, and one without an address.
func addPorts(c *view.Contents) {
	add := func(address string, n int, granted bool) {
		endpoint := fmt.Sprintf("ip%d", n)
		c.Claims = append(c.Claims, claimtest.AddressClaim(address, endpoint, tenant(n), claimtest.HTTPS()))
		if granted {
			c.Services = append(c.Services, claimtest.Service(tenant(n), "web-ip-443-tcp", endpoint, "TCP", 443, address, address))
		}
	}
	for n, i := range []int{2, 3, 4, 5, 6, 9, 10, 11, 17, 18, 33} {
		add(fmt.Sprintf("203.0.113.%d", i), n, i != 11)
	}
	c.Claims[5].Parts[0].Expires = Now.Add(20 * time.Minute).Format(time.RFC3339)
	c.Services = append(c.Services[:5], c.Services[6:]...)
	for i := range 90 {
		add(fmt.Sprintf("198.51.%d.%d", 96+i/7, i*i%251), 100+i, true)
	}
	for i := range 12 {
		add(fmt.Sprintf("198.51.104.%d", 16+i), 300+i, true)
	}
	for i := range 3 {
		add(fmt.Sprintf("2001:db8:10::%x", 1+i*300), 400+i, true)
	}
}

func hosts() []view.HostRow {
	all := []view.HostRow{
		Host("api.example.com", tenant(1), view.StateActive, 70), Host("blog.example.org", tenant(1), view.StateActive, 51),
		Host("cdn.example.net", tenant(2), view.StatePending, 1), Host("docs.example.com", tenant(0), view.StateActive, 44),
		Host("game.example.io", tenant(3), view.StateClaiming, 0), Host("mail.example.org", tenant(4), view.StateTransferring, 20),
		Host("shop.example.com", tenant(0), view.StateActive, 68), Host("shop.example.com", tenant(0), view.StateActive, 68),
		Host("shop.example.com", tenant(6), view.StateWithheld, 2), Host("soon.example.com", tenant(5), view.StateReserved, 3),
		Host("*.wild.example.dev", tenant(7), view.StateActive, 9), Host("www.example.com", tenant(8), view.StateActive, 71),
	}
	all[2].Message = "no controller has accepted the route yet"
	all[4].Message = "run 1xg5b0ac2k9qr of deploy@ci-7, begun 2026-11-21T08:59:51Z, is at work"
	all[5].Message = "a route of " + tenant(2).Group().String() + " still serves it"
	all[4].Endpoints = &view.Endpoints{Ready: 1, Total: 2}
	all[5].Endpoints = &view.Endpoints{Total: 2}
	all[6].Endpoints = &view.Endpoints{Missing: view.MissingService}
	all[7].Path, all[7].Service, all[7].Port = "/cart", "cart", 8080
	all[8].Message = "held by " + tenant(0).Group().String()
	all[9].Expires = Now.Add(26 * time.Hour).Format(time.RFC3339)
	all[11].Claimed, all[11].Service = false, "frontend"
	return all
}

// leaseRow returns the row of a lease, with the hosts and addresses that it has in the book.
func leaseRow(n int, s *page.Seen) view.LeaseRow {
	row := view.LeaseRow{Tenant: TenantOf(tenant(n)), State: view.StateActive, Since: metav1.NewTime(Now.Add(-time.Duration(9*n+2) * time.Hour))}
	for _, h := range s.Book.Hosts {
		if h.Lease == row.Lease && h.State != view.StateWithheld {
			if row.State = h.State; !slices.Contains(row.Hosts, h.Host) {
				row.Hosts = append(row.Hosts, h.Host)
			}
		}
	}
	for _, ip := range s.Book.IPs {
		if ip.Lease == row.Lease {
			row.Addresses = append(row.Addresses, ip.Address.String())
			if ip.State != row.State {
				row.State = view.StatePartial
			}
		}
	}
	return row
}

func resources() (rows []view.ResourceRow) {
	const gi = 1 << 30
	add := func(of, name, resource string, all, used, reserved uint64) {
		rows = append(rows, view.ResourceRow{
			Of: of, Name: name, Resource: resource, Allocatable: all, Committed: all, InUse: used, Reserved: reserved, Available: all - used - reserved,
		})
	}
	add(view.OfCluster, "", "cpu", 96000, 41500, 8000)
	add(view.OfCluster, "", "memory", 384*gi, 222*gi, 32*gi)
	add(view.OfCluster, "", "ephemeral-storage", 2048*gi, 310*gi, 64*gi)
	add(view.OfCluster, "", "gpu", 4, 3, 1)
	add(view.OfCluster, "", "addresses", 4157, 117, 2)
	add(view.OfClass, "beta3", "storage", 4096*gi, 1500*gi, 0)
	for i := range 3 {
		name := fmt.Sprintf("node-%d", i+1)
		add(view.OfNode, name, "cpu", 32000, uint64(9000+7500*i), 2500)
		add(view.OfNode, name, "memory", 128*gi, uint64(40+30*i)*gi, 10*gi)
	}
	return rows
}

func problems() []state.Problem {
	since := func(minutes int) metav1.Time { return metav1.NewTime(Now.Add(-time.Duration(minutes) * time.Minute)) }
	return []state.Problem{
		{
			Problem: state.NotServed, Thing: "cdn.example.net", Lease: tenant(2).String(), Since: since(63), Fix: &state.Fix{Do: state.Heal, Group: tenant(2).Group()},
			Message: "lease " + tenant(2).Group().String() + " holds it, and no route of it serves it", Plan: "write its route again",
		},
		state.Problem{
			Problem: state.BlockedHost, Thing: "*.wild.example.dev", Since: since(190), Plan: "delete the claim",
			Message: "the claim blocks every host below it, and its namespace is gone",
		}.ByName(),
		{
			Problem: state.PoolExhausted, Thing: "akash-net-203-0-113-0-26", Since: since(12), Manual: true, Plan: "add addresses to the pool",
			Message: "no address is free for 1 IP endpoint", Command: "kubectl akash-net config edit",
		},
	}
}

// Harmful returns a cluster in which every text that a tenant can write is hostile.
func Harmful() *page.Seen {
	id := tenant(0)
	who := &view.Tenant{Lease: Hostile, Owner: Hostile, DSeq: 1, Namespace: Hostile, Provider: Hostile}
	s := &page.Seen{At: Now, Notes: []string{Hostile}}
	s.Book.Hosts = []view.HostRow{
		{Host: Hostile, Path: Hostile, Tenant: who, Service: Hostile, State: view.StateActive, Message: Hostile, Target: Hostile, Routed: true, Expires: Hostile},
		{Host: "javascript:alert(1)//x.example.com", Tenant: who, State: view.StateActive, Routed: true, Claimed: true},
		{Host: "shop.example.com", Path: "@evil.example.com/", Tenant: TenantOf(id), State: view.StateActive, Routed: true, Claimed: true, Message: string(make([]byte, 1<<20))},
	}
	s.Book.IPs = []view.IPRow{{
		Address: netip.MustParseAddr("203.0.113.5"), Tenant: who, SharingKey: Hostile, Service: Hostile, Pool: Hostile, State: Hostile, Message: Hostile, Port: 1,
	}, {Tenant: who, SharingKey: Hostile, State: view.StatePending}}
	s.Book.IPs = append(s.Book.IPs, s.Book.IPs...) // several ports of an address
	s.Book.Leases = []view.LeaseRow{{Tenant: who, Hosts: []string{Hostile, "a", "b", "c", "d"}, Addresses: []string{Hostile}, State: Hostile}}
	s.Book.Pools = []view.PoolRow{{Name: Hostile, Ranges: []string{Hostile}, Mode: Hostile, Addresses: math.MaxInt64, Used: -1}}
	s.Book.Orders = []view.OrderRow{{Order: Hostile, Tenant: who, State: Hostile, By: Hostile, Claim: Hostile, Message: Hostile}}
	s.Book.Resources = []view.ResourceRow{{Of: view.OfNode, Name: Hostile, Resource: Hostile, Message: Hostile}, {Of: view.OfClass, Name: Hostile, Unlimited: true}}
	s.Book.Problems = []state.Problem{{Problem: Hostile, Thing: Hostile, Message: Hostile, Plan: Hostile, Command: "kubectl akash-net release " + Hostile + "; reboot"}}
	s.Runs = []*state.Announcement{{Nonce: Hostile, By: Hostile, Version: Hostile, Unreadable: Hostile, Groups: []lease.Group{{Owner: Hostile, DSeq: 1}}}}
	return s
}

// Many returns a cluster with n leases, each with a host and an address.
func Many(n int) *page.Seen {
	s := &page.Seen{At: Now}
	pool, _ := config.ParseRange("10.0.0.0/8")
	a := pool.First
	for i := range n {
		id, a2 := tenant(i), a
		a = a.Next()
		s.Book.Hosts = append(s.Book.Hosts, Host(fmt.Sprintf("h%05d.example.com", i), id, view.StateActive, i))
		s.Book.IPs = append(s.Book.IPs, view.IPRow{
			Address: a2, Tenant: TenantOf(id), Service: "web", Protocol: lease.Protocol(corev1.ProtocolTCP), Port: 443, State: view.StateActive, Claimed: true,
		})
		s.Book.Leases = append(s.Book.Leases, view.LeaseRow{
			Tenant: TenantOf(id), Hosts: []string{fmt.Sprintf("h%05d.example.com", i)}, Addresses: []string{a2.String()}, State: view.StateActive,
		})
	}
	s.Book.Pools = []view.PoolRow{{Name: "all", Ranges: []string{pool.Text}, Addresses: 1 << 24, Used: int64(n), Free: 1<<24 - int64(n), Pieces: []config.Range{pool}}}
	s.Book.Problems = []state.Problem{}
	s.Runs = []*state.Announcement{}
	return s
}
