package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
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

// Routes of leases and of plain namespaces: testdata/leases.txt. An owner's leases are one owner, whatever their namespaces; a route without a
// lease belongs to its namespace. An HTTPRoute's wildcard covers more than one label. A claim's holder wins over older routes, even without
// routes of its own. A block has the rules, as rulesOf has them, and lines
//
//	claim HOST OWNER                                                      "-" is one that cannot be read
//	SECOND NAMESPACE/NAME KIND HOST PATH [LEASE] [tls] [passthrough] [redirect]   "-" is not in the cluster yet, or no host or path
func TestLeases(t *testing.T) {
	owners := map[string]string{"alice": alice, "bob": bob, "-": ""}
	datadriven.RunTest(t, "testdata/leases.txt", func(t *testing.T, d *datadriven.TestData) string {
		options := ""
		for _, arg := range d.CmdArgs {
			options += " " + arg.String()
		}
		claims := NewClaims()
		var routes []Route
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			if words[0] == "claim" {
				claims.Add(words[1], owners[words[2]])
				continue
			}
			second, err := strconv.Atoi(strings.Replace(words[0], "-", "0", 1))
			if err != nil {
				t.Fatal(err)
			}
			namespace, name, _ := strings.Cut(words[1], "/")
			r := route(second, namespace, strings.Trim(words[3], "-")).as(kindOf[words[2]], strings.Trim(words[4], "-"))
			if r.Name = name; words[0] == "-" {
				r.Created, r.UID = time.Time{}, ""
			}
			for _, word := range words[5:] {
				owner, dseq, leased := strings.Cut(word, "/")
				switch {
				case leased:
					n, _ := strconv.ParseUint(dseq, 10, 64)
					r.Lease, r.HasLease = leaseOf(owners[owner], n), true
				case word == "tls":
					r.TLS = true
				case word == "passthrough":
					r.Passthrough = true
				case word == "redirect":
					r.Redirect = true
				}
			}
			routes = append(routes, r)
		}
		var out strings.Builder
		said := verdicts(Decide(rulesOf(options), claims, routes, nil))
		for _, name := range slices.Sorted(maps.Keys(said)) {
			fmt.Fprintf(&out, "%s %s\n", name, cmp.Or(said[name], "is admitted"))
		}
		return out.String()
	})
}

var kindOf = map[string]string{"ingress": KindIngress, "httproute": KindHTTPRoute, "route": KindRoute}

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
	of := config.Shard{Name: "public", Namespaces: shard("", "zone=public").Routes}
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
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
