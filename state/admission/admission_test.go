package admission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

const (
	alice = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	bob   = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
)

func leaseOf(owner string, dseq uint64) lease.ID {
	return lease.ID{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
}

// route returns an Ingress of a lease or of a plain namespace, created at the given second.
func route(second int, namespace, host string, of ...lease.ID) Route {
	r := Route{Kind: KindIngress, Namespace: namespace, Name: "web", UID: types.UID(namespace), Created: epoch.Add(time.Duration(second) * time.Second), Host: host, Path: "/"}
	if strings.HasPrefix(host, "*.") {
		r.Wildcard = WildcardSubdomain
	}
	if len(of) > 0 {
		r.Lease, r.HasLease = of[0], true
	}
	return r
}

func (r Route) as(kind string, path string) Route {
	r.Kind, r.Path = kind, path
	if kind == KindHTTPRoute && r.Wildcard != WildcardNone {
		r.Wildcard = WildcardBelow
	}
	return r
}

func (r Route) secured(name string) Route {
	r.Name, r.TLS = name, true
	return r
}

func (r Route) passing() Route {
	r.Passthrough = true
	return r
}

// An owner's leases are one owner, whatever their namespaces. A route without a lease belongs to its namespace.
func TestOwners(t *testing.T) {
	a1, a2, b1 := leaseOf(alice, 1), leaseOf(alice, 2), leaseOf(bob, 1)
	for name, c := range map[string]struct {
		options string
		routes  []Route
		want    map[string]string
	}{
		"two leases of an owner share a host": {"own", []Route{route(1, "a1", "www.abc.xyz", a1), route(2, "a2", "www.abc.xyz", a2).as(KindHTTPRoute, "/v2")},
			map[string]string{"a1/web": "", "a2/web": ""}},
		"a redirect stands beside what it leads to": {"own wild", []Route{route(1, "a1", "www.abc.xyz", a1).as(KindHTTPRoute, "/"), {Kind: KindHTTPRoute,
			Namespace: "a2", Name: "web", Created: epoch, Host: "www.abc.xyz", Path: "/", Redirect: true, Lease: a2, HasLease: true}},
			map[string]string{"a1/web": "", "a2/web": ""}},
		"but not a path of it": {"own", []Route{route(1, "a1", "www.abc.xyz", a1), route(2, "a2", "www.abc.xyz", a2)},
			map[string]string{"a1/web": "", "a2/web": "HostAlreadyClaimed ingress web already exposes www.abc.xyz and is older"}},
		"another owner's path": {"own", []Route{route(1, "a1", "www.abc.xyz", a1), route(2, "b1", "www.abc.xyz", b1).as(KindRoute, "/v2")},
			map[string]string{"a1/web": "", "b1/web": "HostAlreadyClaimed a route in another namespace holds www.abc.xyz and is older than web"}},
		"with ownership off": {"", []Route{route(1, "a1", "www.abc.xyz", a1), route(2, "b1", "www.abc.xyz", b1).as(KindRoute, "/v2")},
			map[string]string{"a1/web": "", "b1/web": ""}},
		"no lease": {"own", []Route{route(1, "shop", "www.abc.xyz"), route(2, "blog", "www.abc.xyz").as(KindRoute, "/v2")},
			map[string]string{"shop/web": "", "blog/web": "HostAlreadyClaimed a route in another namespace holds www.abc.xyz and is older than web"}},
		"with ownership off, the same path": {"", []Route{route(1, "a1", "www.abc.xyz", a1), route(2, "b1", "www.abc.xyz", b1)},
			map[string]string{"a1/web": "", "b1/web": "HostAlreadyClaimed a route in another namespace holds www.abc.xyz and is older than web"}},
		"and with wildcards": {"wild", []Route{route(1, "a1", "www.abc.xyz", a1), route(2, "b1", "www.abc.xyz", b1)},
			map[string]string{"a1/web": "", "b1/web": "HostAlreadyClaimed a route in another namespace holds host www.abc.xyz"}},
		"the newest is named where no path is the same": {"own", []Route{
			route(1, "a1", "www.abc.xyz", a1).secured("old"), route(2, "a2", "www.abc.xyz", a1).secured("new").as(KindRoute, "/x"),
			route(3, "a3", "www.abc.xyz", a1).secured("pass").passing().as(KindRoute, "")},
			map[string]string{"a1/old": "", "a2/new": "", "a3/pass": "HostAlreadyClaimed route new already exposes www.abc.xyz and is older"}},
		"hosts that are missing are no rivals": {"own wild", []Route{route(1, "a1", "", a1), route(2, "b1", "", b1)},
			map[string]string{"a1/web": "NoHostValue no host value was defined for the route", "b1/web": "NoHostValue no host value was defined for the route"}},
		"what is not in the cluster yet is the youngest": {"own", []Route{{Kind: KindRoute, Namespace: "new", Name: "web", Host: "www.abc.xyz"}, route(9, "b1", "www.abc.xyz", b1)},
			map[string]string{"b1/web": "", "new/web": "HostAlreadyClaimed a route in another namespace holds www.abc.xyz and is older than web"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, verdicts(Decide(rulesOf(c.options), nil, c.routes, nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An HTTPRoute's wildcard covers more than one label.
func TestWildcardsBelow(t *testing.T) {
	a1, b1 := leaseOf(alice, 1), leaseOf(bob, 1)
	const taken = "HostAlreadyClaimed a route in another namespace holds host "
	for name, c := range map[string]struct {
		options string
		routes  []Route
		want    map[string]string
	}{
		"a deep host": {"own wild", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(2, "b", "x.www.abc.xyz", b1)},
			map[string]string{"a/web": "", "b/web": taken + "x.www.abc.xyz"}},
		"a deep host and an Ingress's": {"own wild", []Route{route(1, "a", "*.abc.xyz", a1), route(2, "b", "x.www.abc.xyz", b1)},
			map[string]string{"a/web": "", "b/web": ""}},
		"never the domain itself": {"own wild", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(2, "b", "abc.xyz", b1)},
			map[string]string{"a/web": "", "b/web": ""}},
		"over an older deep host": {"own wild", []Route{route(1, "b", "x.www.abc.xyz", b1), route(2, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/")},
			map[string]string{"a/web": taken + "*.abc.xyz", "b/web": ""}},
		"over an older deep wildcard": {"own wild", []Route{route(1, "b", "*.www.abc.xyz", b1), route(2, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/")},
			map[string]string{"a/web": taken + "*.abc.xyz", "b/web": ""}},
		"a deep wildcard below": {"own wild", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(2, "b", "*.www.abc.xyz", b1)},
			map[string]string{"a/web": "", "b/web": taken + "*.www.abc.xyz"}},
		"the owner's own": {"own wild", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(2, "a2", "x.www.abc.xyz", a1)},
			map[string]string{"a/web": "", "a2/web": ""}},
		"one wildcard twice, in two kinds": {"own wild", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(2, "a2", "*.abc.xyz", a1)},
			map[string]string{"a/web": "", "a2/web": "HostAlreadyClaimed wildcard httproute a/web has host *.abc.xyz, blocking *.abc.xyz"}},
		"with ownership off": {"wild", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(2, "b", "x.www.abc.xyz", b1)},
			map[string]string{"a/web": "", "b/web": ""}},
		"where none are allowed": {"own", []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/")},
			map[string]string{"a/web": "RouteNotAdmitted wildcard routes are not allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, verdicts(Decide(rulesOf(c.options), nil, c.routes, nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A claim's holder wins over older routes, even without routes of its own.
func TestClaims(t *testing.T) {
	a1, b1 := leaseOf(alice, 1), leaseOf(bob, 1)
	held := func(host string) string { return "HostAlreadyClaimed a claim of another owner holds host " + host }
	for name, c := range map[string]struct {
		options string
		claims  map[string]string
		routes  []Route
		want    map[string]string
	}{
		"an older route": {"own", map[string]string{"www.abc.xyz": bob}, []Route{route(1, "a", "www.abc.xyz", a1), route(2, "b", "www.abc.xyz", b1)},
			map[string]string{"a/web": held("www.abc.xyz"), "b/web": ""}},
		"no route of the holder's": {"own", map[string]string{"www.abc.xyz": bob}, []Route{route(1, "a", "www.abc.xyz", a1), route(1, "shop", "www.abc.xyz")},
			map[string]string{"a/web": held("www.abc.xyz"), "shop/web": held("www.abc.xyz")}},
		"with ownership off, another path": {"", map[string]string{"www.abc.xyz": bob}, []Route{route(1, "a", "www.abc.xyz", a1).as(KindRoute, "/v2")},
			map[string]string{"a/web": held("www.abc.xyz")}},
		"below a claimed wildcard": {"own", map[string]string{"*.abc.xyz": bob}, []Route{route(1, "a", "www.abc.xyz", a1), route(2, "b", "api.abc.xyz", b1), route(1, "a2", "x.www.abc.xyz", a1)},
			map[string]string{"a/web": held("www.abc.xyz"), "b/web": "", "a2/web": ""}},
		"a claimed host below it": {"own", map[string]string{"*.abc.xyz": bob, "www.abc.xyz": alice}, []Route{route(1, "a", "www.abc.xyz", a1)},
			map[string]string{"a/web": ""}},
		"a wildcard over a claimed host": {"own wild", map[string]string{"www.abc.xyz": bob}, []Route{route(1, "a", "*.abc.xyz", a1), route(2, "b", "www.abc.xyz", b1)},
			map[string]string{"a/web": held("*.abc.xyz"), "b/web": ""}},
		"a wildcard far over one": {"own wild", map[string]string{"x.www.abc.xyz": bob}, []Route{route(1, "a", "*.abc.xyz", a1).as(KindHTTPRoute, "/"), route(1, "a2", "*.abc.xyz", a1)},
			map[string]string{"a/web": held("*.abc.xyz"), "a2/web": ""}},
		"a claimed wildcard": {"own wild", map[string]string{"*.abc.xyz": bob}, []Route{route(1, "a", "*.abc.xyz", a1), route(2, "b", "*.abc.xyz", b1)},
			map[string]string{"a/web": held("*.abc.xyz"), "b/web": ""}},
		"a claim that cannot be read": {"own", map[string]string{"www.abc.xyz": ""}, []Route{route(1, "a", "www.abc.xyz", a1)},
			map[string]string{"a/web": held("www.abc.xyz")}},
		"a wildcard over hosts of two": {"own wild", map[string]string{"www.abc.xyz": bob, "api.abc.xyz": alice}, []Route{route(1, "a", "*.abc.xyz", a1), route(2, "b", "*.abc.xyz", b1)},
			map[string]string{"a/web": held("*.abc.xyz"), "b/web": held("*.abc.xyz")}},
		"denied all the same": {"own deny=abc.xyz", map[string]string{"www.abc.xyz": bob}, []Route{route(1, "b", "www.abc.xyz", b1)},
			map[string]string{"b/web": "RouteNotAdmitted host in list of denied domains"}},
	} {
		t.Run(name, func(t *testing.T) {
			claims := NewClaims()
			for host, owner := range c.claims {
				claims.Add(host, owner)
			}
			if diff := cmp.Diff(c.want, verdicts(Decide(rulesOf(c.options), claims, c.routes, nil))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The older of two routes wins if one passes TLS through: such a route takes all TLS of its host. Each letter is a
// route at its own path: plain, with TLS, or passthrough. A small letter is admitted, a capital is refused.
func TestTLSOfAHost(t *testing.T) {
	for _, want := range []string{"ptt", "ptp", "psT", "tSp", "tpS", "sTS", "spT", "sTp", "ptS", "tpt", "spp", "ppsT", "psSTp"} {
		var routes []Route
		for i, letter := range want {
			r := route(i, "a", "www.abc.xyz", leaseOf(alice, 1)).as(KindHTTPRoute, fmt.Sprint("/", i))
			r.Name = string(letter)
			switch r.UID = types.UID(fmt.Sprint(i)); strings.ToLower(r.Name) {
			case "t":
				r.TLS = true
			case "s":
				r.TLS, r.Passthrough = true, true
			}
			routes = append(routes, r)
		}
		for _, v := range Decide(rulesOf("own"), nil, routes, nil) {
			if v.Admitted != (v.Name == strings.ToLower(v.Name)) {
				t.Errorf("%s: the route at %s is admitted: %v, %s", want, v.Path, v.Admitted, v.Message)
			}
		}
	}
	older, newer := route(1, "a", "www.abc.xyz", leaseOf(alice, 1)), route(2, "a", "www.abc.xyz", leaseOf(alice, 1)).as(KindIngress, "/v2")
	older.Name, newer.Name = "older", "newer"
	again := newer
	again.Name, again.Created = "again", newer.Created.Add(time.Second)
	got := Decide(rulesOf("own"), nil, []Route{older, newer, again}, nil)
	if last := got[len(got)-1]; last.Admitted || last.Message != "ingress newer already exposes www.abc.xyz and is older" {
		t.Errorf("the second route at a path: %+v", last.Verdict)
	}
}

// A host is unique within a shard. A route may be in several shards or in none.
func TestShards(t *testing.T) {
	cfg := config.Default()
	of := shard("public", "")
	of.Namespaces = labels.SelectorFromSet(labels.Set{"zone": "public"})
	cfg.Shards = []config.Shard{of, shard("blue", "shard=blue")}
	blue := route(2, "b", "www.abc.xyz")
	blue.Labels = map[string]string{"shard": "blue"}
	both := route(3, "c", "www.abc.xyz")
	both.Labels = blue.Labels
	routes := []Route{blue, both, route(1, "a", "www.abc.xyz"), route(1, "x", "x.abc.xyz")}
	namespaces := map[string]map[string]string{"a": {"zone": "public"}, "c": {"zone": "public"}}
	var got []string
	for _, a := range Decide(NewRules(cfg), nil, routes, namespaces) {
		got = append(got, fmt.Sprintf("%s %s %t %s", a.Shard, a.Namespace, a.Admitted, a.Reason))
	}
	want := []string{
		"public a true ", "public c false HostAlreadyClaimed",
		"blue b true ", "blue c false HostAlreadyClaimed",
		" x false NoShard",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// benchRoutes returns routes of many tenants, some of which compete.
func benchRoutes(n int) []Route {
	routes := make([]Route, n)
	for i := range routes {
		// One host in eight is wanted twice, and every fifth domain has a wildcard.
		routes[i] = route(i*7919%n, fmt.Sprintf("ns%d", i%(n/4+1)), fmt.Sprintf("host-%d.domain-%d.example.com", i-i%8/7, i/16))
		routes[i].Name, routes[i].UID = fmt.Sprintf("route-%d", i), types.UID(fmt.Sprintf("uid-%d", i*31%n))
		if i%80 == 0 {
			routes[i] = routes[i].as(KindRoute, "")
			routes[i].Wildcard = WildcardSubdomain
		}
	}
	return routes
}

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		for _, options := range []string{"own", "own wild"} {
			b.Run(fmt.Sprintf("%s/%d", options, n), func(b *testing.B) {
				routes, rules, claims := benchRoutes(n), rulesOf(options), NewClaims()
				for i := 0; i < n; i += 3 {
					claims.Add(routes[i].Host, alice)
				}
				b.ResetTimer()
				for range b.N {
					Decide(rules, claims, routes, nil)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/route")
			})
		}
	}
}
