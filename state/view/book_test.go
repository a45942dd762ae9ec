package view

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// hostLine prints a row.
type hostLine struct {
	Host, Owner, Service, Target, State string
	Claimed                             bool
	Minute                              int
	Message                             string
}

func hostLines(b *Book) []hostLine {
	var out []hostLine
	for _, r := range b.Hosts {
		out = append(out, hostLine{r.Host + r.Path, r.Owner, r.Service, r.Target, r.State, r.Claimed, int(r.Since.Sub(statetest.Start).Minutes()), r.Message})
	}
	return out
}

func TestBookHosts(t *testing.T) {
	ns := statetest.Shop.Namespace()
	route := func(kind string, id lease.ID, host string, minutes int) state.HostObject {
		return state.HostObjectOf(kind, statetest.Meta(id, id.Namespace(), host, minutes))
	}
	declared := func(id lease.ID, host string, minutes int) state.HostObject {
		return state.HostObjectOf("ProviderHost", statetest.Meta(id, "lease", host, minutes))
	}
	unreadable := claimtest.HostClaim("odd.example.com", statetest.Shop, "")
	unreadable.Unreadable = "annotation x is not JSON"
	going := claimtest.HostClaim("going.example.com", statetest.Shop, "")
	going.Deleting = true
	paths := claimtest.HostClaim("paths.example.com", statetest.Shop, "")
	paths.Parts = append(paths.Parts, state.Part{Key: state.RouteKey("/blog"), Lease: statetest.Shop, Path: "/blog", Service: "blog", Port: 80})
	later := statetest.Shop
	later.OSeq = 2
	complete := declared(statetest.Blog, "old.example.com", 2)
	complete.Complete(&unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"service_name": "www", "external_port": int64(80)}}})

	for name, tc := range map[string]struct {
		claims  []*state.Claim
		objects []state.HostObject
		want    []hostLine
	}{
		"nothing": {},
		"a claim and its ingress": {
			claims:  []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, "")},
			objects: []state.HostObject{declared(statetest.Shop, "a.example.com", 2), route("Ingress", statetest.Shop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", statetest.Alice, "web", "ingress", StateActive, true, 1, ""}},
		},
		"a claim and its HTTPRoute": {
			claims:  []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, "")},
			objects: []state.HostObject{route("HTTPRoute", statetest.Shop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", statetest.Alice, "web", "httproute", StateActive, true, 1, ""}},
		},
		"the route of another order of the group": {
			claims:  []*state.Claim{claimtest.HostClaim("a.example.com", later, "")},
			objects: []state.HostObject{route("Ingress", statetest.Shop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", statetest.Alice, "web", "ingress", StateActive, true, 1, ""}},
		},
		"a claim without a route": {
			claims:  []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, "")},
			objects: []state.HostObject{declared(statetest.Shop, "a.example.com", 2)},
			want:    []hostLine{{"a.example.com", statetest.Alice, "web", "", StateReserved, true, 1, ""}},
		},
		"a run's mark": {
			claims:  []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, "n0nce")},
			objects: []state.HostObject{route("Ingress", statetest.Shop, "a.example.com", 3)},
			want:    []hostLine{{"a.example.com", statetest.Alice, "web", "ingress", StateClaiming, true, 1, "run n0nce of ann@laptop, begun 2026-11-18T09:00:00Z, is at work"}},
		},
		"claims that cannot be counted on": {
			claims: []*state.Claim{unreadable, going},
			want: []hostLine{
				{"going.example.com", statetest.Alice, "web", "", StateTerminating, true, 1, ""},
				{"odd.example.com", statetest.Alice, "web", "", StateUnreadable, true, 1, "annotation x is not JSON"},
			},
		},
		"the holder of the claim wins over an older route": {
			claims:  []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, "")},
			objects: []state.HostObject{route("Ingress", statetest.Blog, "a.example.com", 0)},
			want: []hostLine{{"a.example.com", statetest.Alice, "web", "", StateReserved, true, 1,
				"ingress " + statetest.Blog.Namespace() + "/a.example.com serves it too"}},
		},
		"paths": {
			claims: []*state.Claim{paths},
			want: []hostLine{
				{"paths.example.com", statetest.Alice, "web", "", StateReserved, true, 1, ""},
				{"paths.example.com/blog", statetest.Alice, "blog", "", StateReserved, true, 1, ""},
			},
		},
		"Akash's provider alone": {
			objects: []state.HostObject{complete, route("Ingress", statetest.Blog, "old.example.com", 3), declared(statetest.Blog, "new.example.com", 4)},
			want: []hostLine{
				{"new.example.com", statetest.Bob, "", "", StateReserved, false, 4, ""},
				{"old.example.com", statetest.Bob, "www", "ingress", StateActive, false, 2, ""},
			},
		},
		"routes without a claim: the oldest": {
			objects: []state.HostObject{route("Ingress", statetest.Blog, "a.example.com", 5), route("Ingress", statetest.Shop, "a.example.com", 4)},
			want: []hostLine{{"a.example.com", statetest.Alice, "", "ingress", StateActive, false, 4,
				"ingress " + statetest.Blog.Namespace() + "/a.example.com serves it too"}},
		},
		"a ProviderHost without a claim: before an older route of another": {
			objects: []state.HostObject{route("Ingress", statetest.Shop, "a.example.com", 0), declared(statetest.Blog, "a.example.com", 4)},
			want: []hostLine{{"a.example.com", statetest.Bob, "", "", StateReserved, false, 4,
				"ingress " + statetest.Shop.Namespace() + "/a.example.com serves it too"}},
		},
		"labels that name no lease": {
			objects: []state.HostObject{state.HostObjectOf("Ingress", &metav1.ObjectMeta{Namespace: ns, Name: "a.example.com",
				Labels: map[string]string{lease.LabelOwner: statetest.Bob}, CreationTimestamp: metav1.NewTime(statetest.Minute(6))})},
			want: []hostLine{{"a.example.com", statetest.Bob, "", "ingress", StateActive, false, 6, ""}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			runs := Contents{Hosts: tc.objects}
			runs.AddRuns(&state.Announcement{Nonce: "n0nce", By: "ann@laptop", Begun: statetest.Minute(0), Phase: state.Active})
			for _, c := range tc.claims {
				c.Meet(runs.Runs, runs.Now)
			}
			b := NewBook(config.Default(), Contents{Claims: tc.claims, Hosts: tc.objects}, SubjectHosts)
			if diff := cmp.Diff(tc.want, hostLines(b)); diff != "" {
				t.Errorf("hosts (-want +got):\n%s", diff)
			}
			if b.Hosts == nil || b.IPs != nil || b.Leases != nil || b.Pools != nil {
				t.Errorf("the book has other lists than the one that was asked for: %+v", b)
			}
			if diff := cmp.Diff(b, NewBook(config.Default(), added(runs, tc.claims), SubjectHosts)); diff != "" {
				t.Errorf("of claims that are added one by one the book is another (-whole +added):\n%s", diff)
			}
		})
	}
}

// A claimed host has the right state even after many hosts without claims.
func TestClaimedHostsAmongUnclaimedOnes(t *testing.T) {
	for n := range 20 {
		var in Contents
		for i := range n {
			in.Hosts = append(in.Hosts, state.HostObjectOf("Ingress", statetest.Meta(statetest.Blog, "default", fmt.Sprintf("a%d.example.com", i), 0)))
		}
		in.Hosts = append(in.Hosts, state.HostObjectOf("Ingress", statetest.Meta(statetest.Shop, statetest.Shop.Namespace(), "z.example.com", 0)))
		in.Claims = []*state.Claim{claimtest.HostClaim("m.example.com", statetest.Shop, ""), claimtest.HostClaim("z.example.com", statetest.Shop, "")}
		got := hostLines(NewBook(config.Default(), in, SubjectHosts))
		if last := got[len(got)-1]; len(got) != n+2 || last.Host != "z.example.com/" && last.Host != "z.example.com" || last.State != StateActive {
			t.Errorf("behind %d hosts without a claim: %+v", n, last)
		}
	}
}

// added returns contents with claims that are not kept whole.
func added(in Contents, claims []*state.Claim) Contents {
	for _, c := range claims {
		in.AddClaim(c, false)
	}
	return in
}

func TestBookLeases(t *testing.T) {
	later := claimtest.HostClaim("a.example.com", statetest.Shop, "")
	later.Created = statetest.Minute(4)
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/28")
	in := Contents{
		Claims: []*state.Claim{
			claimtest.HostClaim("b.example.com", statetest.Shop, ""), later,
			claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS(), state.PortWant{Protocol: lease.UDP, ExternalPort: 443, Service: "web", Port: 8443}),
			claimtest.HostClaim("c.example.com", statetest.Blog, "n0nce"),
		},
		Services: []state.ServiceObject{claimtest.Service(statetest.Shop, "web-ip-443-tcp", "public", "TCP", 443, "203.0.113.7", "203.0.113.7")},
		Hosts:    []state.HostObject{state.HostObjectOf("Ingress", statetest.Meta(statetest.Shop, statetest.Shop.Namespace(), "a.example.com", 0))},
	}
	b := NewBook(cfg, in, SubjectLeases)
	want := []LeaseRow{
		{Hosts: []string{"a.example.com", "b.example.com"}, Addresses: []string{"203.0.113.7"}, State: StatePartial, Since: metav1.NewTime(statetest.Minute(1))},
		{Hosts: []string{"c.example.com"}, Addresses: []string{}, State: StateClaiming, Since: metav1.NewTime(statetest.Minute(1))},
	}
	if diff := cmp.Diff(want, b.Leases, cmpopts.IgnoreFields(LeaseRow{}, "Tenant")); diff != "" {
		t.Errorf("leases (-want +got):\n%s", diff)
	}
	tenant := Tenant{Lease: statetest.Shop.String(), Owner: statetest.Alice, DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: statetest.Provider,
		Namespace: "5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4"}
	if diff := cmp.Diff(tenant, *b.Leases[0].Tenant); diff != "" {
		t.Errorf("tenant (-want +got):\n%s", diff)
	}
}

// An expired hold has its own state, and NextEnd returns the next expiry.
func TestBookShowsEndedHolds(t *testing.T) {
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/28")
	until := func(c *state.Claim, minute int) *state.Claim {
		c.Parts[0].Expires = statetest.Minute(minute).Format(time.RFC3339)
		return c
	}
	b := NewBook(cfg, added(Contents{Now: statetest.Minute(5)}, []*state.Claim{
		until(claimtest.HostClaim("a.example.com", statetest.Shop, ""), 4), until(claimtest.HostClaim("b.example.com", statetest.Blog, ""), 9),
		until(claimtest.HostClaim("c.example.com", statetest.Shop, "n0nce"), 4), claimtest.HostClaim("d.example.com", statetest.Blog, ""),
		until(claimtest.AddressClaim("203.0.113.7", "public", statetest.Shop, claimtest.HTTPS()), 4),
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
	over, later := statetest.Minute(4).Format(time.RFC3339), statetest.Minute(9).Format(time.RFC3339)
	want := []string{
		"a.example.com Expired " + over, "b.example.com Reserved " + later, "c.example.com Expired " + over, "d.example.com Reserved ",
		"203.0.113.7 Expired " + over, "Expired", "Reserved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the book (-want +got):\n%s", diff)
	}
	if next := b.NextEnd(statetest.Minute(5)); next.Before(statetest.Minute(9)) || next.After(statetest.Minute(10)) {
		t.Errorf("the next hold ends at %s", next)
	}
	if next := b.NextEnd(statetest.Minute(11)); !next.IsZero() {
		t.Errorf("a hold ends after the last: %s", next)
	}
}

func TestBookSelect(t *testing.T) {
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/28")
	in := Contents{Claims: []*state.Claim{
		claimtest.HostClaim("a.example.com", statetest.Shop, ""), claimtest.HostClaim("b.example.com", statetest.Blog, ""),
		claimtest.AddressClaim("203.0.113.7", "public", statetest.Blog, claimtest.HTTPS()),
	}}
	b := NewBook(cfg, in, Subjects...)
	b.Select(labels.SelectorFromSet(labels.Set{lease.LabelDSeq: "8438017", lease.LabelOwner: statetest.Alice}), "")
	if len(b.Hosts) != 1 || b.Hosts[0].Host != "a.example.com" || len(b.Leases) != 1 || b.IPs == nil || len(b.IPs) != 0 || len(b.Pools) != 1 {
		t.Errorf("selected: %d hosts, %d leases, %d ips, %d pools; want one host and lease of alice, no ip, the pool", len(b.Hosts), len(b.Leases), len(b.IPs), len(b.Pools))
	}
}

func TestBookChanges(t *testing.T) {
	cfg := statetest.Config(t, config.ModeRange, "203.0.113.0/28")
	book := func(in Contents) *Book { return NewBook(cfg, in, SubjectHosts, SubjectIPs) }
	before := book(Contents{
		Claims:   []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, ""), claimtest.HostClaim("b.example.com", statetest.Shop, ""), claimtest.HostClaim("c.example.com", statetest.Shop, "")},
		Services: []state.ServiceObject{claimtest.Service(statetest.Blog, "web-ip-443-tcp", "public", "TCP", 443, "")},
	})
	now := book(Contents{
		Claims:   []*state.Claim{claimtest.HostClaim("a.example.com", statetest.Shop, ""), claimtest.HostClaim("b.example.com", statetest.Shop, "n0nce"), claimtest.HostClaim("d.example.com", statetest.Blog, "")},
		Services: []state.ServiceObject{claimtest.Service(statetest.Blog, "web-ip-443-tcp", "public", "TCP", 443, "", "198.51.100.4")},
	})
	changes := now.Changes(before)
	want := []hostLine{
		{"b.example.com", statetest.Alice, "web", "", StateClaiming, true, 1, ""},
		{"d.example.com", statetest.Bob, "web", "", StateReserved, true, 1, ""},
		{"c.example.com", statetest.Alice, "web", "", StateReleased, true, 1, ""},
	}
	if diff := cmp.Diff(want, hostLines(changes)); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	granted := []ipLine{{"198.51.100.4", statetest.Bob, lease.TCP, 443, "web", 8443, "public", StateActive, false, ""}}
	if diff := cmp.Diff(granted, ipLines(changes)); diff != "" {
		t.Errorf("ips (-want +got):\n%s", diff)
	}
	if again := now.Changes(now); !again.Empty() {
		t.Errorf("a book has changes to itself: %+v", again)
	}
}
