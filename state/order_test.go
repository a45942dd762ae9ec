package state

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// wishes reads leases, each as "what it asks for | what it gives up", with "/" before a part; one with an endpoint, "ip", is not alone.
func wishes(leases ...string) (out []Wish) {
	for _, text := range leases {
		asks, gives, _ := strings.Cut(text, "|")
		w := Wish{Asks: strings.Fields(asks), Gives: strings.Fields(gives)}
		for _, names := range [][]string{w.Asks, w.Gives} {
			for i, name := range names {
				names[i] = strings.Replace(name, "/", " ", 1)
			}
		}
		w.Alone = !slices.Contains(w.Asks, "ip")
		out = append(out, w)
	}
	return out
}

// Of leases that ask for the same the first in the input comes first, after who gives it up.
func TestServe(t *testing.T) {
	for name, tt := range map[string]struct {
		leases []string
		order  string
		after  string
		alone  string
	}{
		"nothing":                    {nil, "[]", "[]", "[]"},
		"nothing in common":          {[]string{"x y", "z", ""}, "[0 1 2]", "[[] [] []]", "[true true true]"},
		"the same":                   {[]string{"x", "y", "x y"}, "[0 1 2]", "[[] [] [0 1]]", "[false false false]"},
		"three":                      {[]string{"x", "x", "x", "z"}, "[0 1 2 3]", "[[] [0] [0 1] []]", "[false false false true]"},
		"one thing twice":            {[]string{"x x"}, "[0]", "[[]]", "[true]"},
		"an endpoint":                {[]string{"ip", "x", "ip"}, "[0 1 2]", "[[] [] [0]]", "[false true false]"},
		"given before":               {[]string{"y | x", "x"}, "[0 1]", "[[] [0]]", "[true false]"},
		"given after":                {[]string{"x", "z", "y | x"}, "[1 2 0]", "[[2] [] []]", "[false true true]"},
		"given to the first of two":  {[]string{"x", "x", "| x"}, "[2 0 1]", "[[2] [0 2] []]", "[false false true]"},
		"handed on":                  {[]string{"x", "y | x", "| y"}, "[2 1 0]", "[[1] [2] []]", "[false false true]"},
		"a wildcard, and below":      {[]string{"a.example.com", "wc--any.example.com", "b.example.com", "example.com c.a.example.com"}, "[0 1 2 3]", "[[] [0] [1] []]", "[false false false true]"},
		"a wildcard that is given":   {[]string{"a.example.com", "| wc--any.example.com"}, "[1 0]", "[[1] []]", "[false true]"},
		"below what is asked for":    {[]string{"wc--any.example.com", "| a.example.com"}, "[1 0]", "[[1] []]", "[false true]"},
		"below no wildcard":          {[]string{"a.example.com", "b.example.com"}, "[0 1]", "[[] []]", "[true true]"},
		"in a circle":                {[]string{"x | y", "y | x"}, "[0 1]", "[[] [0]]", "[false false]"},
		"given by two":               {[]string{"| x", "x", "y | x"}, "[0 2 1]", "[[] [0 2] [0]]", "[true false true]"},
		"given by who asks too":      {[]string{"x x/1", "x x/2 | x/1"}, "[1 0]", "[[1] []]", "[false false]"},
		"a circle, and one after it": {[]string{"x | z", "y | x", "z | y", "x"}, "[0 2 1 3]", "[[] [0 2] [0] [0 1]]", "[false false false false]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Serve(wishes(tt.leases...))
			for _, after := range s.After {
				slices.Sort(after)
			}
			if order, after, alone := fmt.Sprint(s.Order), fmt.Sprint(s.After), fmt.Sprint(s.Alone); order != tt.order || after != tt.after || alone != tt.alone {
				t.Errorf("order %s after %s, alone %s; want %s after %s, alone %s", order, after, alone, tt.order, tt.after, tt.alone)
			}
		})
	}
}

// A lease is given something where one that comes before it gives up what it asks for.
func TestServeGives(t *testing.T) {
	for name, tt := range map[string]struct {
		leases []string
		given  string
	}{
		"the same":                 {[]string{"x", "x"}, "[false false]"},
		"a host":                   {[]string{"x", "y | x", "y"}, "[true false false]"},
		"a wildcard above":         {[]string{"a.example.com", "| wc--any.example.com"}, "[true false]"},
		"a part":                   {[]string{"x x/1", "x x/2 | x/1"}, "[true false]"},
		"a part below no wildcard": {[]string{"wc--any.example.com wc--any.example.com/1", "a.example.com a.example.com/2 | a.example.com/1"}, "[false false]"},
		"in a circle":              {[]string{"x | y", "y | x"}, "[false true]"},
		"a port of one endpoint":   {[]string{"ep--x ep--x/tcp-443", "ep--x ep--x/tcp-443"}, "[false true]"},
		"two ports of an endpoint": {[]string{"ep--x ep--x/tcp-443", "ep--x ep--x/tcp-444"}, "[false false]"},
	} {
		if given := fmt.Sprint(Serve(wishes(tt.leases...)).Given); given != tt.given {
			t.Errorf("%s: given %s, want %s", name, given, tt.given)
		}
	}
}

// Every lease is served once, after all that it follows; of two that touch the same, and one asks for it, one follows the other.
func TestServeInAnyOrder(t *testing.T) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"x.example.com", "y.example.com", "wc--any.example.com", "ip"}), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		leases := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return strings.Join(names.Draw(t, "asks"), " ") + " | " + strings.Join(names.Draw(t, "gives"), " ")
		}), 0, 6).Draw(t, "leases")
		all := wishes(leases...)
		s := Serve(all)
		rank := make([]int, len(all))
		for k, i := range s.Order {
			rank[i] = k
		}
		if sorted := slices.Sorted(slices.Values(s.Order)); len(sorted) != len(all) || len(slices.Compact(sorted)) != len(all) {
			t.Fatalf("%q are served in the order %v", leases, s.Order)
		}
		follows := make([]map[int]bool, len(all)) // directly or not
		for _, i := range s.Order {
			follows[i] = map[int]bool{}
			for _, before := range s.After[i] {
				if rank[before] >= rank[i] {
					t.Fatalf("of %q %d is served after %d, in the order %v", leases, i, before, s.Order)
				}
				follows[i][before] = true
				maps.Copy(follows[i], follows[before])
			}
		}
		for i := range all {
			for k := range all {
				asksToo := slices.ContainsFunc(all[i].Asks, func(name string) bool {
					return i != k && slices.Contains(slices.Concat(all[k].Asks, all[k].Gives), name)
				})
				if asksToo && !follows[i][k] && !follows[k][i] {
					t.Fatalf("of %q neither %d nor %d follows the other: %v", leases, i, k, s.After)
				}
				if asksToo && s.Alone[i] {
					t.Fatalf("of %q %d is alone, beside %d", leases, i, k)
				}
			}
		}
	})
}

func isPart(name string) bool { return strings.Contains(name, " ") }

// A lease gives up what it holds and does not ask for; an endpoint stands for its address.
func TestWishOf(t *testing.T) {
	a := netip.MustParseAddr("203.0.113.7")
	public := EndpointWant{Name: "public", SharingKey: lease.SharingKey(statetest.Shop.Owner, "public")}
	named := public
	named.Addresses = []netip.Addr{a}
	held := []*Claim{bookHostClaim("a.example.com", statetest.Shop, ""), bookAddressClaim(a.String(), "public", statetest.Shop, bookHTTPS())}
	endpoint := EndpointName(public.SharingKey)
	for name, tt := range map[string]struct {
		request Request
		held    []*Claim
		want    Wish
	}{
		"nothing":            {Request{}, nil, Wish{Alone: true}},
		"a host that is its": {Request{Hosts: []HostWant{{Host: "a.example.com"}}}, held[:1], Wish{Asks: []string{"a.example.com"}, Alone: true}},
		"another host":       {Request{Hosts: []HostWant{{Host: "*.example.com"}}}, held[:1], Wish{Asks: []string{"wc--any.example.com"}, Gives: []string{"a.example.com"}, Alone: true}},
		"its endpoint":       {Request{Endpoints: []EndpointWant{public}}, held[1:], Wish{Asks: []string{endpoint}, Gives: []string{"ip--203-0-113-7"}}},
		"its address":        {Request{Endpoints: []EndpointWant{named}}, held[1:], Wish{Asks: []string{endpoint, "ip--203-0-113-7"}}},
		"no address":         {Request{}, held, Wish{Gives: []string{"a.example.com", "ip--203-0-113-7", endpoint}, Alone: true}},
	} {
		got := WishOf(tt.request, tt.held, nil)
		got.Asks = slices.DeleteFunc(got.Asks, isPart) // parts have a test of their own
		got.Gives = slices.DeleteFunc(got.Gives, isPart)
		if fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// Of a claim that a lease asks for it may give up parts. What stands on no claim is given up too.
func TestWishOfParts(t *testing.T) {
	public := EndpointWant{Name: "public", SharingKey: lease.SharingKey(statetest.Shop.Owner, "public"), Ports: []PortWant{{Protocol: lease.TCP, ExternalPort: 444}}}
	host := HostWant{Host: "a.example.com", Path: "/v2"}
	request := Request{Lease: statetest.Shop, Hosts: []HostWant{host}, Endpoints: []EndpointWant{public}}
	held := []*Claim{bookHostClaim(host.Host, statetest.Shop, ""), bookAddressClaim("203.0.113.7", "public", statetest.Shop, bookHTTPS())}
	w := WishOf(request, held, []string{host.Host, "b.example.com"})
	endpoint := EndpointName(public.SharingKey)
	asks := []string{host.Host, host.Host + " " + RouteKey("/v2"), endpoint, endpoint + " " + PortKey(lease.TCP, 444)}
	gives := []string{host.Host + " " + RouteKey("/"), "ip--203-0-113-7", endpoint + " " + PortKey(lease.TCP, 443), "b.example.com"}
	if !slices.Equal(w.Asks, asks) || !slices.Equal(w.Gives, gives) {
		t.Errorf("asks for %q and gives %q; want %q and %q", w.Asks, w.Gives, asks, gives)
	}
}
