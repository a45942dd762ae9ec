package state

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

const (
	bookAlice    = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	bookBob      = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	bookProvider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

var (
	bookShop = lease.ID{Owner: bookAlice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: bookProvider}
	bookBlog = lease.ID{Owner: bookBob, DSeq: 5905802, GSeq: 1, OSeq: 1, Provider: bookProvider}

	bookStart = time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC)
)

func bookMinute(minutes int) time.Time { return bookStart.Add(time.Duration(minutes) * time.Minute) }

// bookMeta is the metadata of an object of a lease, as Akash labels it.
func bookMeta(id lease.ID, namespace, name string, minutes int, labels ...string) *metav1.ObjectMeta {
	m := &metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: id.Labels(), CreationTimestamp: metav1.NewTime(bookMinute(minutes))}
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

func bookHostClaim(host string, id lease.ID, run string) *Claim {
	part := HostWant{Host: host, Service: "web", Port: 80}.Hold(id).Parts[0]
	part.Run = run
	return &Claim{Kind: Host, Thing: host, Owner: id.Owner, Created: bookMinute(1), Parts: []Part{part}}
}

func bookAddressClaim(address, endpoint string, id lease.ID, ports ...PortWant) *Claim {
	key := lease.SharingKey(id.Owner, endpoint)
	hold := EndpointWant{SharingKey: key, Ports: ports}.Hold(id, netip.MustParseAddr(address))
	return &Claim{Kind: Address, Thing: address, Owner: id.Owner, SharingKey: key, Created: bookMinute(1), Parts: hold.Parts}
}

func bookHTTPS() PortWant {
	return PortWant{Protocol: lease.TCP, ExternalPort: 443, Service: "web", Port: 8443}
}

// bookService is a Service as Akash's provider writes it, with what MetalLB adds.
func bookService(id lease.ID, name, endpoint, protocol string, port int64, asked string, granted ...string) ServiceObject {
	annotations := map[string]any{"metallb.universe.tf/allow-shared-ip": lease.SharingKey(id.Owner, endpoint)}
	if asked != "" {
		annotations["metallb.universe.tf/loadBalancerIPs"] = asked
	}
	var ingress []any
	for _, ip := range granted {
		ingress = append(ingress, map[string]any{"ip": ip})
		annotations["metallb.io/ip-allocated-from-pool"] = "public"
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"kind":     "Service",
		"metadata": map[string]any{"annotations": annotations},
		"spec": map[string]any{
			"selector": map[string]any{lease.LabelService: "web"},
			"ports":    []any{map[string]any{"protocol": protocol, "port": port, "targetPort": port + 8000}},
		},
		"status": map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	}}
	o.SetName(name)
	o.SetNamespace(id.Namespace())
	o.SetLabels(id.Labels())
	o.SetCreationTimestamp(metav1.NewTime(bookMinute(3)))
	return ServiceObjectOf(o)
}

func bookConfig(t testing.TB, mode string, ranges ...string) *config.ProviderConfig {
	t.Helper()
	cfg := config.Default()
	cfg.IP.Mode = mode
	for _, text := range ranges {
		list := &cfg.IP.Ranges.Include
		if text[0] == '!' {
			list, text = &cfg.IP.Ranges.Exclude, text[1:]
		}
		r, err := config.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		*list = append(*list, r)
	}
	return cfg
}

// hostLine is what the tests say of a row.
type hostLine struct {
	Host, Owner, Service, Target, State string
	Claimed                             bool
	Minute                              int
	Message                             string
}

func hostLines(b *Book) []hostLine {
	var out []hostLine
	for _, r := range b.Hosts {
		out = append(out, hostLine{r.Host + r.Path, r.Owner, r.Service, r.Target, r.State, r.Claimed, int(r.Since.Sub(bookStart).Minutes()), r.Message})
	}
	return out
}

func TestBookHosts(t *testing.T) {
	ns := bookShop.Namespace()
	route := func(kind string, id lease.ID, host string, minutes int) HostObject {
		return HostObjectOf(kind, bookMeta(id, id.Namespace(), host, minutes))
	}
	declared := func(id lease.ID, host string, minutes int) HostObject {
		return HostObjectOf("ProviderHost", bookMeta(id, "lease", host, minutes))
	}
	unreadable := bookHostClaim("odd.example.com", bookShop, "")
	unreadable.Unreadable = "annotation x is not JSON"
	going := bookHostClaim("going.example.com", bookShop, "")
	going.Deleting = true
	paths := bookHostClaim("paths.example.com", bookShop, "")
	paths.Parts = append(paths.Parts, Part{Key: RouteKey("/blog"), Lease: bookShop, Path: "/blog", Service: "blog", Port: 80})
	later := bookShop
	later.OSeq = 2
	complete := declared(bookBlog, "old.example.com", 2)
	complete.Complete(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"service_name": "www", "external_port": int64(80)}}})

	for name, tc := range map[string]struct {
		claims  []*Claim
		objects []HostObject
		want    []hostLine
	}{
		"nothing": {},
		"a claim and its ingress": {
			claims:  []*Claim{bookHostClaim("a.example.com", bookShop, "")},
			objects: []HostObject{declared(bookShop, "a.example.com", 2), route("Ingress", bookShop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", bookAlice, "web", "ingress", StateActive, true, 1, ""}},
		},
		"a claim and its HTTPRoute": {
			claims:  []*Claim{bookHostClaim("a.example.com", bookShop, "")},
			objects: []HostObject{route("HTTPRoute", bookShop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", bookAlice, "web", "httproute", StateActive, true, 1, ""}},
		},
		"the route of another order of the group": {
			claims:  []*Claim{bookHostClaim("a.example.com", later, "")},
			objects: []HostObject{route("Ingress", bookShop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", bookAlice, "web", "ingress", StateActive, true, 1, ""}},
		},
		"a claim without a route": {
			claims:  []*Claim{bookHostClaim("a.example.com", bookShop, "")},
			objects: []HostObject{declared(bookShop, "a.example.com", 2)},
			want:    []hostLine{{"a.example.com", bookAlice, "web", "", StateReserved, true, 1, ""}},
		},
		"a run's mark": {
			claims:  []*Claim{bookHostClaim("a.example.com", bookShop, "n0nce")},
			objects: []HostObject{route("Ingress", bookShop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", bookAlice, "web", "ingress", StateClaiming, true, 1, ""}},
		},
		"claims that cannot be counted on": {
			claims: []*Claim{unreadable, going},
			want: []hostLine{
				{"going.example.com", bookAlice, "web", "", StateTerminating, true, 1, ""},
				{"odd.example.com", bookAlice, "web", "", StateUnreadable, true, 1, "annotation x is not JSON"},
			},
		},
		"the holder of the claim wins over an older route": {
			claims:  []*Claim{bookHostClaim("a.example.com", bookShop, "")},
			objects: []HostObject{route("Ingress", bookBlog, "a.example.com", 0)},
			want: []hostLine{{"a.example.com", bookAlice, "web", "", StateReserved, true, 1,
				"ingress " + bookBlog.Namespace() + "/a.example.com serves it too"}},
		},
		"paths": {
			claims: []*Claim{paths},
			want: []hostLine{
				{"paths.example.com", bookAlice, "web", "", StateReserved, true, 1, ""},
				{"paths.example.com/blog", bookAlice, "blog", "", StateReserved, true, 1, ""},
			},
		},
		"Akash's provider alone": {
			objects: []HostObject{complete, route("Ingress", bookBlog, "old.example.com", 3), declared(bookBlog, "new.example.com", 4)},
			want: []hostLine{
				{"new.example.com", bookBob, "", "", StateReserved, false, 4, ""},
				{"old.example.com", bookBob, "www", "ingress", StateActive, false, 2, ""},
			},
		},
		"routes without a claim: the oldest": {
			objects: []HostObject{route("Ingress", bookBlog, "a.example.com", 5), route("Ingress", bookShop, "a.example.com", 4)},
			want: []hostLine{{"a.example.com", bookAlice, "", "ingress", StateActive, false, 4,
				"ingress " + bookBlog.Namespace() + "/a.example.com serves it too"}},
		},
		"a ProviderHost without a claim: before an older route of another": {
			objects: []HostObject{route("Ingress", bookShop, "a.example.com", 0), declared(bookBlog, "a.example.com", 4)},
			want: []hostLine{{"a.example.com", bookBob, "", "", StateReserved, false, 4,
				"ingress " + bookShop.Namespace() + "/a.example.com serves it too"}},
		},
		"labels that name no lease": {
			objects: []HostObject{HostObjectOf("Ingress", &metav1.ObjectMeta{Namespace: ns, Name: "a.example.com",
				Labels: map[string]string{lease.LabelOwner: bookBob}, CreationTimestamp: metav1.NewTime(bookMinute(6))})},
			want: []hostLine{{"a.example.com", bookBob, "", "ingress", StateActive, false, 6, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(config.Default(), Contents{Claims: tc.claims, Hosts: tc.objects}, SubjectHosts)
			if diff := cmp.Diff(tc.want, hostLines(b)); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
			if b.Hosts == nil || b.IPs != nil || b.Leases != nil || b.Pools != nil {
				t.Errorf("the book has other lists than the one that was asked for: %+v", b)
			}
			if diff := cmp.Diff(b, NewBook(config.Default(), added(Contents{Hosts: tc.objects}, tc.claims), SubjectHosts)); diff != "" {
				t.Errorf("of claims that are added one by one the book is another (-whole +added):\n%s", diff)
			}
		})
	}
}

// added are contents to which claims have been added that are not kept whole.
func added(in Contents, claims []*Claim) Contents {
	for _, c := range claims {
		in.AddClaim(c, false)
	}
	return in
}

func TestBookLeases(t *testing.T) {
	later := bookHostClaim("a.example.com", bookShop, "")
	later.Created = bookMinute(4)
	cfg := bookConfig(t, config.ModeRange, "203.0.113.0/28")
	in := Contents{
		Claims: []*Claim{
			bookHostClaim("b.example.com", bookShop, ""), later,
			bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS(), PortWant{Protocol: lease.UDP, ExternalPort: 443, Service: "web", Port: 8443}),
			bookHostClaim("c.example.com", bookBlog, "n0nce"),
		},
		Services: []ServiceObject{bookService(bookShop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")},
		Hosts:    []HostObject{HostObjectOf("Ingress", bookMeta(bookShop, bookShop.Namespace(), "a.example.com", 0))},
	}
	b := NewBook(cfg, in, SubjectLeases)
	want := []LeaseRow{
		{Hosts: []string{"a.example.com", "b.example.com"}, Addresses: []string{"203.0.113.7"}, State: StatePartial, Since: metav1.NewTime(bookMinute(1))},
		{Hosts: []string{"c.example.com"}, Addresses: []string{}, State: StateClaiming, Since: metav1.NewTime(bookMinute(1))},
	}
	if diff := cmp.Diff(want, b.Leases, cmpopts.IgnoreFields(LeaseRow{}, "Tenant")); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	tenant := Tenant{Lease: bookShop.String(), Owner: bookAlice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: bookProvider,
		Namespace: "5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4"}
	if diff := cmp.Diff(tenant, *b.Leases[0].Tenant); diff != "" {
		t.Errorf("tenant (-want +got):\n%s", diff)
	}
}

// A hold whose time is over is shown as that, and when the next one will be.
func TestBookShowsEndedHolds(t *testing.T) {
	cfg := bookConfig(t, config.ModeRange, "203.0.113.0/28")
	until := func(c *Claim, minute int) *Claim {
		c.Parts[0].Expires = bookMinute(minute).Format(time.RFC3339)
		return c
	}
	b := NewBook(cfg, added(Contents{Now: bookMinute(5)}, []*Claim{
		until(bookHostClaim("a.example.com", bookShop, ""), 4), until(bookHostClaim("b.example.com", bookBlog, ""), 9),
		until(bookHostClaim("c.example.com", bookShop, "n0nce"), 4), bookHostClaim("d.example.com", bookBlog, ""),
		until(bookAddressClaim("203.0.113.7", "public", bookShop, bookHTTPS()), 4),
	}), Subjects...)
	var got []string
	for _, r := range b.Hosts {
		got = append(got, r.Host+" "+r.State+" "+r.Expires)
	}
	for _, r := range b.IPs {
		got = append(got, r.Address.String()+" "+r.State+" "+r.Expires)
	}
	for _, r := range b.Leases {
		got = append(got, r.State)
	}
	over, later := bookMinute(4).Format(time.RFC3339), bookMinute(9).Format(time.RFC3339)
	want := []string{
		"a.example.com Expired " + over, "b.example.com Reserved " + later, "c.example.com Expired " + over, "d.example.com Reserved ",
		"203.0.113.7 Expired " + over, "Expired", "Reserved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the book (-want +got):\n%s", diff)
	}
	if next := b.NextEnd(bookMinute(5)); next.Before(bookMinute(9)) || next.After(bookMinute(10)) {
		t.Errorf("the next hold ends at %s", next)
	}
	if next := b.NextEnd(bookMinute(11)); !next.IsZero() {
		t.Errorf("a hold ends after the last: %s", next)
	}
}

func TestBookSelect(t *testing.T) {
	cfg := bookConfig(t, config.ModeRange, "203.0.113.0/28")
	in := Contents{Claims: []*Claim{
		bookHostClaim("a.example.com", bookShop, ""), bookHostClaim("b.example.com", bookBlog, ""),
		bookAddressClaim("203.0.113.7", "public", bookBlog, bookHTTPS()),
	}}
	b := NewBook(cfg, in, Subjects...)
	b.Select(labels.SelectorFromSet(labels.Set{lease.LabelDSeq: "8438017", lease.LabelOwner: bookAlice}), "")
	if len(b.Hosts) != 1 || b.Hosts[0].Host != "a.example.com" || len(b.Leases) != 1 || b.IPs == nil || len(b.IPs) != 0 || len(b.Pools) != 1 {
		t.Errorf("selected: %d hosts, %d leases, %d ips, %d pools; want one host and lease of alice, no ip, the pool", len(b.Hosts), len(b.Leases), len(b.IPs), len(b.Pools))
	}
}

func TestBookChanges(t *testing.T) {
	cfg := bookConfig(t, config.ModeRange, "203.0.113.0/28")
	book := func(in Contents) *Book { return NewBook(cfg, in, SubjectHosts, SubjectIPs) }
	before := book(Contents{
		Claims:   []*Claim{bookHostClaim("a.example.com", bookShop, ""), bookHostClaim("b.example.com", bookShop, ""), bookHostClaim("c.example.com", bookShop, "")},
		Services: []ServiceObject{bookService(bookBlog, "web-ip-443-tcp", "public", "TCP", 443, "")},
	})
	now := book(Contents{
		Claims:   []*Claim{bookHostClaim("a.example.com", bookShop, ""), bookHostClaim("b.example.com", bookShop, "n0nce"), bookHostClaim("d.example.com", bookBlog, "")},
		Services: []ServiceObject{bookService(bookBlog, "web-ip-443-tcp", "public", "TCP", 443, "", "198.51.100.4")},
	})
	changes := now.Changes(before)
	want := []hostLine{
		{"b.example.com", bookAlice, "web", "", StateClaiming, true, 1, ""},
		{"d.example.com", bookBob, "web", "", StateReserved, true, 1, ""},
		{"c.example.com", bookAlice, "web", "", StateReleased, true, 1, ""},
	}
	if diff := cmp.Diff(want, hostLines(changes)); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	granted := []ipLine{{"198.51.100.4", bookBob, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""}}
	if diff := cmp.Diff(granted, ipLines(changes)); diff != "" {
		t.Errorf("ips (-want +got):\n%s", diff)
	}
	if again := now.Changes(now); !again.Empty() {
		t.Errorf("a book has changes to itself: %+v", again)
	}
}
