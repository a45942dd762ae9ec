package execute

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A claim is released by its thing in any spelling, and what has ports by its endpoint's name or sharing key, too.
func TestChosenClaims(t *testing.T) {
	host, wildcard := ot.Host(ot.Shop, "shop.example.com"), ot.Host(ot.Shop, "*.example.com")
	address, endpoint := ot.Address(ot.Shop, "2001:db8::7", 80), ot.Address(ot.Shop, "", 80)
	for name, tt := range map[string]struct {
		things []string
		claim  *state.Claim
		want   bool
	}{
		"everything":                     {nil, host, true},
		"a host":                         {[]string{"Shop.Example.com"}, host, true},
		"another host":                   {[]string{"www.example.com"}, host, false},
		"a wildcard":                     {[]string{"*.example.com"}, wildcard, true},
		"the domain of a wildcard":       {[]string{"example.com"}, wildcard, false},
		"an address in a longer form":    {[]string{"2001:0DB8:0::7"}, address, true},
		"an address by its endpoint":     {[]string{"public"}, address, true},
		"an endpoint, typed":             {[]string{"endpoint/public"}, endpoint, true},
		"an endpoint by its sharing key": {[]string{ot.Key(ot.Shop)}, endpoint, true},
		"an endpoint by both":            {[]string{"endpoint/" + ot.Key(ot.Shop)}, endpoint, true},
		"another endpoint":               {[]string{"private"}, endpoint, false},
		"a host named as an endpoint":    {[]string{"endpoint/shop.example.com"}, host, false},
	} {
		if got := engine.NewChoice(tt.things).Claim(tt.claim); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// What serves a chosen thing goes with it.
func TestChosenObjects(t *testing.T) {
	claims := []*state.Claim{ot.Host(ot.Shop, "shop.example.com"), ot.Address(ot.Shop, "203.0.113.7", 80)}
	for name, tt := range map[string]struct {
		things []string
		object *unstructured.Unstructured
		want   bool
	}{
		"everything":                       {nil, ot.Ingress(ot.Shop, "www.example.com", "/"), true},
		"a route of the host":              {[]string{"shop.example.com"}, ot.Ingress(ot.Shop, "shop.example.com", "/a"), true},
		"a route of another host":          {[]string{"shop.example.com"}, ot.Ingress(ot.Shop, "www.example.com", "/"), false},
		"a record of the host":             {[]string{"shop.example.com"}, ot.DNSRecord(ot.Shop, "shop.example.com"), true},
		"a record of another host":         {[]string{"shop.example.com"}, ot.DNSRecord(ot.Shop, "www.example.com"), false},
		"a Service of the address":         {[]string{"203.0.113.7"}, ot.Service(ot.Shop, 80, "203.0.113.7"), true},
		"a Service of the endpoint":        {[]string{"public"}, ot.Service(ot.Shop, 80, "203.0.113.7"), true},
		"a Service of another address":     {[]string{"203.0.113.7"}, ot.Service(ot.Shop, 80, "203.0.113.8"), false},
		"a declared port of the endpoint":  {[]string{"endpoint/public"}, ot.ProviderLeasedIP(ot.Shop, 80), true},
		"a declared port, and a host only": {[]string{"shop.example.com"}, ot.ProviderLeasedIP(ot.Shop, 80), false},
	} {
		if got := isChosen(tt.things, tt.object, claims); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	endpoint := []*state.Claim{ot.Address(ot.Shop, "", 80)} // MetalLB chooses its address
	service := ot.Service(ot.Shop, 80, "")
	if !isChosen([]string{"public"}, service, endpoint) {
		t.Error("a Service of an endpoint without an address stays")
	}
}

// An address that MetalLB has chosen has no claim: what it serves stays.
func TestAnAddressOfAnEndpoint(t *testing.T) {
	endpoint, service := []*state.Claim{ot.Address(ot.Shop, "", 80)}, ot.Service(ot.Shop, 80, "")
	if err := unstructured.SetNestedSlice(service.Object, []any{map[string]any{"ip": "203.0.113.7"}}, "status", "loadBalancer", "ingress"); err != nil {
		t.Fatal(err)
	}
	if isChosen([]string{"203.0.113.7"}, service, endpoint) {
		t.Error("the Service of an endpoint goes with an address that nobody holds")
	}
}

func isChosen(things []string, o *unstructured.Unstructured, claims []*state.Claim) bool {
	return objects{snapshot: ot.Snapshot(claims, o)}.isChosen(ot.Owned(o), engine.NewChoice(things))
}
