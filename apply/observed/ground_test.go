package observed_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

const shop, address, other = "shop.example.com", "203.0.113.1", "203.0.113.2"

func udp(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.Object["spec"].(map[string]any)["ports"] = []any{map[string]any{"protocol": "UDP", "port": int64(443)}}
	return o
}

// The claims on which an object rests: as long as one of them is the lease's, the object may not be deleted.
func TestGroundsOf(t *testing.T) {
	group, tcp443 := ot.Shop.Group(), state.PortKey(lease.TCP, 443)
	key := ot.Key(ot.Shop)
	byName := func(name string, served state.Served) observed.Ground {
		served.Group = group
		return observed.Ground{Name: name, Served: served}
	}
	port := func(name string) observed.Ground {
		return byName(name, state.Served{Key: tcp443, SharingKey: key})
	}
	tests := []struct {
		name     string
		object   *unstructured.Unstructured
		claims   []*state.Claim
		want     []observed.Ground
		wildcard string
	}{
		{"an Ingress rests on the path that it serves", ot.Ingress(ot.Shop, shop, "/v1"), nil, []observed.Ground{byName(shop, state.Served{Key: state.RouteKey("/v1")})}, "*.example.com"},
		{"an HTTPRoute of the root", ot.HTTPRoute(ot.Shop, shop, "/"), nil, []observed.Ground{byName(shop, state.Served{Key: state.RouteKey("/")})}, "*.example.com"},
		{"a redirect serves whatever path its lease holds", ot.Redirect(ot.Shop, shop), nil, []observed.Ground{byName(shop, state.Served{Key: state.RouteKey("/"), Redirect: true})}, "*.example.com"},
		{"above a wildcard there is no other", ot.HTTPRoute(ot.Shop, "*.example.com", "/"), nil, []observed.Ground{byName(state.HostName("*.example.com"), state.Served{Key: state.RouteKey("/")})}, ""},
		{"a ProviderHost", ot.ProviderHost(ot.Shop, shop), nil, []observed.Ground{byName(shop, state.Served{Key: state.RouteKey("/")})}, "*.example.com"},
		{"a DNS record needs any part of its host", ot.DNSRecord(ot.Shop, shop), nil, []observed.Ground{byName(shop, state.Served{Redirect: true})}, "*.example.com"},
		{"a Service rests on the address that it asks for", ot.Service(ot.Shop, 443, address), nil, []observed.Ground{port(state.AddressName(addr(address)))}, ""},
		{"a Service with two addresses rests on both", ot.Service(ot.Shop, 443, address+",2001:db8::1"), nil, []observed.Ground{port(state.AddressName(addr(address))), port(state.AddressName(addr("2001:db8::1")))}, ""},
		{"an address that is asked for and granted is one", ot.Service(ot.Shop, 443, address, address), nil, []observed.Ground{port(state.AddressName(addr(address)))}, ""},
		{"MetalLB chose the address: it rests on the endpoint", ot.Service(ot.Shop, 443, "", address), nil, []observed.Ground{port(state.EndpointName(key))}, ""},
		{"MetalLB has yet to choose", ot.Service(ot.Shop, 443, ""), nil, []observed.Ground{port(state.EndpointName(key))}, ""},
		{"a Service that is of no endpoint and asks for nothing", unshared(ot.Service(ot.Shop, 443, "", address)), nil, nil, ""},
		{"a ProviderLeasedIP names no address: it rests on those of its endpoint", ot.ProviderLeasedIP(ot.Shop, 443),
			[]*state.Claim{ot.Address(ot.Shop, address, 443), ot.Address(ot.Blog, other, 443), ot.Host(ot.Shop, shop), ot.Address(ot.Shop, "", 443)},
			[]observed.Ground{port(state.AddressName(addr(address))), port(state.EndpointName(key))}, ""},
		{"a ProviderLeasedIP of an endpoint that nobody claims", ot.ProviderLeasedIP(ot.Shop, 443), nil, nil, ""},
		{"a filter goes with routes", ot.Object(kinds.SnippetsFilter, ot.Shop, shop, nil), nil, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := observed.GroundsOf(ot.Owned(tt.object), tt.claims)
			same := func(a, b observed.Ground) bool { return a.Name == b.Name && a.Served == b.Served }
			if !slices.EqualFunc(got, tt.want, same) {
				t.Errorf("it rests on %+v, want %+v", got, tt.want)
			}
			want := ""
			if tt.wildcard != "" {
				want = state.HostName(tt.wildcard)
			}
			for _, g := range got {
				if g.Wildcard() != want {
					t.Errorf("the wildcard above is %q, want %q", g.Wildcard(), want)
				}
			}
		})
	}
}

// unshared is a Service without a sharing key.
func unshared(o *unstructured.Unstructured) *unstructured.Unstructured {
	o.SetAnnotations(nil)
	return o
}

// A route whose host nobody claims stays, unless the wildcard above is somebody else's.
func TestWildcardAboveAGround(t *testing.T) {
	bound := func(id lease.ID) *state.Claim {
		c := ot.Host(id, "*.example.com")
		c.Parts[0].Bound = true
		return c
	}
	tests := []struct {
		name        string
		claim, over *state.Claim
		want        state.Standing
	}{
		{"nobody claims either", nil, nil, state.Unclaimed},
		{"the wildcard is somebody else's", nil, bound(ot.Blog), state.Stray},
		{"somebody else's wildcard is not yet bound", nil, ot.Host(ot.Blog, "*.example.com"), state.Unclaimed},
		{"the wildcard is the owner's", nil, bound(ot.Next), state.Unclaimed},
		{"the host is the lease's, whatever is above", ot.Host(ot.Shop, shop), bound(ot.Blog), state.Entitled},
		{"another deployment has the host", ot.Host(ot.Next, shop), nil, state.Stray},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := observed.GroundsOf(ot.Owned(ot.Ingress(ot.Shop, shop, "/")), nil)[0].Over(tt.over)
			g.Claim = tt.claim
			if got := g.Standing(); got != tt.want {
				t.Errorf("standing %d, want %d", got, tt.want)
			}
		})
	}
}

// Which objects serve a part that is handed on or given up.
func TestStandsFor(t *testing.T) {
	host, port := ot.Host(ot.Shop, shop, "/", "/v1"), ot.Address(ot.Shop, address, 443)
	root, v1, tcp443 := host.Parts[0], host.Parts[1], port.Parts[0]
	tests := []struct {
		name   string
		object *unstructured.Unstructured
		claim  *state.Claim
		part   state.Part
		want   bool
	}{
		{"the route of the path", ot.Ingress(ot.Shop, shop, "/v1"), host, v1, true},
		{"the route of another path", ot.Ingress(ot.Shop, shop, "/v1"), host, root, false},
		{"a redirect serves each path", ot.Redirect(ot.Shop, shop), host, v1, true},
		{"what belongs to a route", ot.Object(kinds.SnippetsFilter, ot.Shop, shop, nil), host, v1, true},
		{"the ProviderHost of the host", ot.ProviderHost(ot.Shop, shop), host, root, true},
		{"the Service of the port", ot.Service(ot.Shop, 443, address), port, tcp443, true},
		{"the Service of another port", ot.Service(ot.Shop, 80, address), port, tcp443, false},
		{"the Service of the port in UDP", udp(ot.Service(ot.Shop, 443, address)), port, tcp443, false},
		{"a Service serves no host", ot.Service(ot.Shop, 443, address), host, tcp443, false},
		{"the ProviderLeasedIP of the port", ot.ProviderLeasedIP(ot.Shop, 443), port, tcp443, true},
		{"the ProviderLeasedIP of another port", ot.ProviderLeasedIP(ot.Shop, 80), port, tcp443, false},
		{"a ProviderLeasedIP serves no host", ot.ProviderLeasedIP(ot.Shop, 443), host, tcp443, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := observed.StandsFor(ot.Owned(tt.object), tt.claim, tt.part); got != tt.want {
				t.Errorf("serves: %t, want %t", got, tt.want)
			}
		})
	}
}

// Any port of a Service counts, not only the first.
func TestServesPort(t *testing.T) {
	service := ot.Service(ot.Shop, 80, address)
	ports := service.Object["spec"].(map[string]any)["ports"].([]any)
	service.Object["spec"].(map[string]any)["ports"] = append(ports, map[string]any{"protocol": "TCP", "port": int64(443)})
	for _, tt := range []struct {
		name string
		key  string
		want bool
	}{
		{"the first port", state.PortKey(lease.TCP, 80), true},
		{"the second port", state.PortKey(lease.TCP, 443), true},
		{"a port that it lacks", state.PortKey(lease.TCP, 22), false},
		{"the other protocol", state.PortKey(lease.UDP, 443), false},
		{"an address that is reserved without a port", state.WholeAddress, false},
		{"a path", state.RouteKey("/"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := observed.ServesPort(service, state.Part{Key: tt.key}); got != tt.want {
				t.Errorf("serves: %t, want %t", got, tt.want)
			}
		})
	}
}

// A delete is pinned to an object that is still the same deployment's.
func TestSameTenant(t *testing.T) {
	unlabelled := func() *unstructured.Unstructured {
		o := ot.Ingress(ot.Shop, shop, "/")
		o.SetLabels(nil)
		return o
	}
	later := ot.Shop
	later.OSeq++
	tests := []struct {
		name        string
		before, now *unstructured.Unstructured
		want        bool
	}{
		{"nothing has changed", ot.ProviderHost(ot.Shop, shop), ot.ProviderHost(ot.Shop, shop), true},
		{"another order of the deployment", ot.ProviderHost(ot.Shop, shop), ot.ProviderHost(later, shop), true},
		{"a transfer to another deployment", ot.ProviderHost(ot.Shop, shop), ot.ProviderHost(ot.Next, shop), false},
		{"another owner", ot.ProviderHost(ot.Shop, shop), ot.ProviderHost(ot.Blog, shop), false},
		{"it has lost its labels", ot.ProviderHost(ot.Shop, shop), unlabelled(), false},
		{"it never had labels", unlabelled(), unlabelled(), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := state.SameTenant(tt.before, tt.now); got != tt.want {
				t.Errorf("the same: %t, want %t", got, tt.want)
			}
		})
	}
}

// A Service strays by its port, a route by a path that is wanted or a host of which its group holds nothing.
func TestStrays(t *testing.T) {
	both := ot.Host(ot.Shop, shop, "/old")
	both.Parts = append(both.Parts, ot.Host(ot.Next, shop, "/").Parts...)
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		claim  *state.Claim
		want   bool
	}{
		"a route of a group that holds nothing of the host": {ot.Ingress(ot.Shop, shop, "/x"), ot.Host(ot.Next, shop), true},
		"a route of a path that its group holds":            {ot.Ingress(ot.Shop, shop, "/old"), both, false},
		"a route of a path that is wanted":                  {ot.Ingress(ot.Shop, shop, "/"), both, true},
		"a Service of a port that is wanted":                {ot.Service(ot.Shop, 443, address), ot.Address(ot.Next, address, 443), true},
		"a Service of another port":                         {ot.Service(ot.Shop, 22, address), ot.Address(ot.Next, address, 443), false},
	} {
		if got := observed.Strays(ot.Owned(c.object), c.claim.PartsOf(ot.Next.Group()), c.claim); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

// A part is served by what Akash's programs have written for any deployment of its owner, and by what this program wrote
// for another one than the holder.
func TestServedBy(t *testing.T) {
	const shop, address = "shop.example.com", "203.0.113.1"
	host, ip, endpoint := ot.Host(ot.Next, shop, "/", "/v2"), ot.Address(ot.Next, address, 443, 8443), ot.Address(ot.Next, "", 443)
	root, port := state.RouteKey("/"), state.PortKey(lease.TCP, 443)
	akash := ot.ByAkash
	for name, tt := range map[string]struct {
		object   *unstructured.Unstructured
		claim    *state.Claim
		key      string
		used     bool
		declared bool
	}{
		"Akash's ProviderHost declares the root of its host":           {akash(ot.ProviderHost(ot.Next, shop)), host, root, true, true},
		"Akash's ProviderHost of another host":                         {akash(ot.ProviderHost(ot.Next, "blog.example.com")), host, root, false, false},
		"Akash's ProviderHost of another deployment of the owner":      {akash(ot.ProviderHost(ot.Shop, shop)), host, root, true, true},
		"Akash's ProviderHost of another owner":                        {akash(ot.ProviderHost(ot.Blog, shop)), host, root, false, false},
		"Akash's ProviderHost does not declare a path":                 {akash(ot.ProviderHost(ot.Next, shop)), host, state.RouteKey("/v2"), false, false},
		"a ProviderHost of somebody else's that Akash wrote on":        {ot.WrittenByAkash(ot.ProviderHost(ot.Next, shop)), host, root, true, true},
		"a ProviderHost of ours that Akash wrote on":                   {ot.Ours(ot.WrittenByAkash(ot.ProviderHost(ot.Next, shop))), host, root, true, false},
		"a ProviderHost of ours":                                       {ot.Ours(ot.ProviderHost(ot.Next, shop)), host, root, false, false},
		"a ProviderHost of ours for another deployment":                {ot.Ours(ot.ProviderHost(ot.Shop, shop)), host, root, true, false},
		"an operator's route serves its own path":                      {akash(ot.Ingress(ot.Next, shop, "/v2")), host, state.RouteKey("/v2"), true, false},
		"an operator's route of another deployment":                    {akash(ot.Ingress(ot.Shop, shop, "/")), host, root, true, false},
		"a route of ours for another deployment":                       {ot.Ours(ot.Ingress(ot.Shop, shop, "/")), host, root, true, false},
		"a route that neither this program nor Akash's wrote":          {ot.Ingress(ot.Shop, shop, "/"), host, root, false, false},
		"a route serves no address":                                    {akash(ot.Ingress(ot.Next, shop, "/")), ip, port, false, false},
		"an operator's Service of a granted address":                   {akash(ot.Service(ot.Next, 443, "", address)), ip, port, true, false},
		"an operator's Service of the requested address":               {akash(ot.Service(ot.Shop, 443, address)), ip, port, true, false},
		"an operator's Service of another address":                     {akash(ot.Service(ot.Next, 443, "203.0.113.2")), ip, port, false, false},
		"an operator's Service of another port":                        {akash(ot.Service(ot.Next, 22, address)), ip, port, false, false},
		"an operator's Service of the endpoint":                        {akash(ot.Service(ot.Shop, 443, "")), endpoint, port, true, false},
		"an operator's Service serves no host":                         {akash(ot.Service(ot.Next, 443, address)), host, root, false, false},
		"Akash's ProviderLeasedIP declares its port of an address":     {akash(ot.ProviderLeasedIP(ot.Shop, 443)), ip, port, true, true},
		"Akash's ProviderLeasedIP declares its port of the endpoint":   {akash(ot.ProviderLeasedIP(ot.Shop, 443)), endpoint, port, true, true},
		"a ProviderLeasedIP of ours of another deployment names none":  {ot.Ours(ot.ProviderLeasedIP(ot.Shop, 443)), ip, port, false, false},
		"a ProviderLeasedIP of ours of another deployment, by its key": {ot.Ours(ot.ProviderLeasedIP(ot.Shop, 443)), endpoint, port, true, false},
	} {
		s := ot.Snapshot([]*state.Claim{tt.claim}, tt.object)
		by, declared := s.ServedBy(tt.claim, *tt.claim.Part(tt.key))
		if used := slices.ContainsFunc(by, func(o observed.Owned) bool { return o.Live == tt.object }); used != tt.used || declared != tt.declared {
			t.Errorf("%s: used %t, declared %t", name, used, declared)
		}
	}
}
