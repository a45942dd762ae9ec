package observed_test

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

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
