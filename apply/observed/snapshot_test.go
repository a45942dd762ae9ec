package observed_test

import (
	"net/netip"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

// objects are those of a snapshot.
type objects = []*unstructured.Unstructured

// The claims to which an object may belong: a release looks at these alone.
func TestClaimsNear(t *testing.T) {
	named := func(kind kinds.Kind, id lease.ID, name string) *unstructured.Unstructured {
		return ot.Object(kind, id, name, nil)
	}
	claims := []*state.Claim{ot.Host(ot.Shop, shop), ot.Address(ot.Shop, address, 443), ot.Address(ot.Shop, other, 443), ot.HandedOn(ot.Host(ot.Next, "old.example.com"), ot.Shop)}
	endpoint := state.EndpointName(ot.Key(ot.Shop))
	tests := []struct {
		name   string
		object *unstructured.Unstructured
		want   []string
	}{
		{"a route", ot.Ingress(ot.Shop, shop, "/"), []string{shop}},
		{"a route of a host that nobody claims", ot.Ingress(ot.Shop, "free.example.com", "/"), []string{"free.example.com"}},
		{"a DNS record", ot.DNSRecord(ot.Shop, shop), []string{shop}},
		{"a Service: its endpoint and its address, once", ot.Service(ot.Shop, 443, address, address), []string{endpoint, state.AddressName(addr(address))}},
		{"a ProviderLeasedIP: all addresses of the endpoint", ot.ProviderLeasedIP(ot.Shop, 443), []string{state.AddressName(addr(address)), state.AddressName(addr(other))}},
		{"a ProviderLeasedIP of another owner", ot.ProviderLeasedIP(ot.Blog, 443), nil},
		{"a filter of a host's route", named(kinds.SnippetsFilter, ot.Shop, shop), []string{shop}},
		{"a policy of a path's route", named(kinds.ProxySettingsPolicy, ot.Shop, lease.RouteName(shop, "/v1")), []string{shop}},
		{"a policy that is named after a Service: what its lease serves for another", named(kinds.BackendTLSPolicy, ot.Shop, "web"), []string{"old.example.com"}},
		{"a policy that is named after a Service of a lease that serves for nobody", named(kinds.BackendTLSPolicy, ot.Blog, "web"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ot.Snapshot(claims, tt.object).ClaimsNear(ot.Owned(tt.object))
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("claims %q, want %q", got, tt.want)
			}
		})
	}
}

// A claim is given back only where nothing of the group serves it.
func TestServes(t *testing.T) {
	handedOn := func(former lease.ID) *state.Claim { return ot.HandedOn(ot.Host(ot.Next, shop), former) }
	tests := []struct {
		name    string
		claim   *state.Claim
		of      lease.ID
		objects objects
		want    bool
	}{
		{"a host without a route", ot.Host(ot.Shop, shop), ot.Shop, nil, false},
		{"a host with a route", ot.Host(ot.Shop, shop), ot.Shop, objects{ot.Ingress(ot.Shop, shop, "/")}, true},
		{"a host with a ProviderHost", ot.Host(ot.Shop, shop), ot.Shop, objects{ot.ProviderHost(ot.Shop, shop)}, true},
		{"a host with a route of another deployment", ot.Host(ot.Shop, shop), ot.Shop, objects{ot.Ingress(ot.Next, shop, "/")}, false},
		{"a route of another host", ot.Host(ot.Shop, shop), ot.Shop, objects{ot.Ingress(ot.Shop, "blog.example.com", "/")}, false},
		{"a former deployment's route serves for the new one", handedOn(ot.Shop), ot.Next, objects{ot.Ingress(ot.Shop, shop, "/")}, true},
		{"a deployment's route that is not the former one's", handedOn(ot.Shop), ot.Next, objects{ot.Ingress(ot.Blog, shop, "/")}, false},
		{"an address without a Service", ot.Address(ot.Shop, address, 443), ot.Shop, nil, false},
		{"an address with a Service", ot.Address(ot.Shop, address, 443), ot.Shop, objects{ot.Service(ot.Shop, 443, address)}, true},
		{"an address with a Service of somebody else", ot.Address(ot.Shop, address, 443), ot.Shop, objects{ot.Service(ot.Blog, 443, address)}, false},
		{"an endpoint with a Service of this program", ot.Address(ot.Shop, "", 443), ot.Shop, objects{ot.Ours(ot.Service(ot.Shop, 443, ""))}, true},
		{"an endpoint with a Service of Akash's operator", ot.Address(ot.Shop, "", 443), ot.Shop, objects{ot.ByAkash(ot.Service(ot.Shop, 443, ""))}, true},
		{"an endpoint with the Service of another", ot.Address(ot.Shop, "", 443), ot.Shop, objects{ot.Ours(unshared(ot.Service(ot.Shop, 443, "")))}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := ot.Snapshot([]*state.Claim{tt.claim}, tt.objects...)
			if got := s.Serves(tt.claim, tt.of.Group()); got != tt.want {
				t.Errorf("served: %t, want %t", got, tt.want)
			}
		})
	}
}

// A route without labels in the namespace of a lease is that lease's.
func TestNamespaceNamesTheLease(t *testing.T) {
	route := ot.Ingress(ot.Shop, shop, "/")
	route.SetLabels(nil)
	s := ot.Snapshot(nil)
	s.Tenants[ot.Shop.Namespace()] = ot.Shop
	s.Index(nil, map[string][]*unstructured.Unstructured{kinds.Ingress.Plural: {ot.Ours(route)}})
	if uses := s.HostUses[shop]; len(uses) != 1 || !uses[0].Of(ot.Shop.Group()) || len(s.Written[ot.Shop.Group()]) != 1 {
		t.Errorf("uses %v, written %v", uses, s.Written)
	}
}

// What Akash's provider made stays when its lease gives it up; this program then takes back only what it wrote on it.
func TestStays(t *testing.T) {
	declaredHost, ownHost := ot.ByAkash(ot.ProviderHost(ot.Shop, shop)), ot.Ours(ot.ProviderHost(ot.Shop, shop))
	declaredPort := ot.ByAkash(ot.ProviderLeasedIP(ot.Shop, 443))
	route := func() *unstructured.Unstructured { return ot.WrittenByAkash(ot.Ours(ot.Ingress(ot.Shop, shop, "/"))) }
	service := func() *unstructured.Unstructured {
		return ot.WrittenByAkash(ot.Ours(ot.Service(ot.Shop, 443, address)))
	}
	tests := []struct {
		name   string
		object *unstructured.Unstructured
		beside objects
		want   bool
	}{
		{"a ProviderHost of Akash's", declaredHost, nil, true},
		{"a ProviderHost of ours", ownHost, nil, false},
		{"a ProviderHost of ours on which Akash has written", ot.WrittenByAkash(ot.Ours(ot.ProviderHost(ot.Shop, shop))), nil, false},
		{"a ProviderLeasedIP of Akash's on which this program has written", ot.ByAkash(ot.Ours(ot.ProviderLeasedIP(ot.Shop, 443))), nil, true},
		{"a route that nobody else wrote", ot.Ours(ot.Ingress(ot.Shop, shop, "/")), objects{declaredHost}, false},
		{"a route that Akash writes for its ProviderHost", route(), objects{declaredHost}, true},
		{"a route for a ProviderHost of ours", route(), objects{ownHost}, false},
		{"a route without a ProviderHost", route(), nil, false},
		{"a route for another lease's ProviderHost", route(), objects{ot.ByAkash(ot.ProviderHost(ot.Next, shop))}, false},
		{"a Service that Akash writes for its ProviderLeasedIP", service(), objects{declaredPort}, true},
		{"a Service without a ProviderLeasedIP", service(), nil, false},
		{"a Service for the ProviderLeasedIP of another port", service(), objects{ot.ByAkash(ot.ProviderLeasedIP(ot.Shop, 80))}, false},
		{"a Service for a ProviderLeasedIP of ours", service(), objects{ot.Ours(ot.ProviderLeasedIP(ot.Shop, 443))}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := ot.Snapshot(nil, append(objects{tt.object}, tt.beside...)...)
			if got := s.Stays(ot.Owned(tt.object)); got != tt.want {
				t.Errorf("it stays: %t, want %t", got, tt.want)
			}
		})
	}
}

// What Akash's operators make is left to them, as far as they run.
func TestOperatorsMakeObjects(t *testing.T) {
	rendered := func(kind kinds.Kind, labelled bool) render.Object {
		o := ot.Object(kind, ot.Shop, "web", nil)
		o.SetLabels(map[string]string{lease.LabelOwner: ot.Shop.Owner})
		if labelled {
			o.SetLabels(map[string]string{lease.LabelManaged: "true"})
		}
		return render.Object{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}
	}
	tests := []struct {
		name          string
		kind          kinds.Kind
		unlabelled    bool
		theirs, moves string // the operators by which they are true: h and i
	}{
		{"an Ingress that Akash knows", kinds.Ingress, false, "h", "h"},
		{"an Ingress of a path, which Akash does not know", kinds.Ingress, true, "", ""},
		{"an HTTPRoute", kinds.HTTPRoute, false, "h", "h"},
		{"a TLSRoute", kinds.TLSRoute, false, "", ""},
		{"a Service of a leased port", kinds.Service, false, "i", ""},
		{"a Service without Akash's label", kinds.Service, true, "", ""},
		{"a ProviderHost", kinds.ProviderHost, false, "", ""},
		{"a ProviderLeasedIP", kinds.ProviderLeasedIP, false, "", ""},
	}
	for _, tt := range tests {
		for _, running := range []string{"", "h", "i"} {
			t.Run(tt.name+" with operators "+running, func(t *testing.T) {
				s := ot.Snapshot(nil)
				s.Operators.Hostname, s.Operators.IP = running == "h", running == "i"
				o := rendered(tt.kind, !tt.unlabelled)
				is := func(what string, got bool, by string) {
					if want := running != "" && running == by; got != want {
						t.Errorf("%s: %t, want %t", what, got, want)
					}
				}
				live, ok := o.Config.(*unstructured.Unstructured)
				if !ok {
					t.Fatalf("it is rendered as %T", o.Config)
				}
				is("an operator makes it", s.Operators.Theirs(o), tt.theirs)
				is("an operator removes it at a transfer", s.Operators.Moves(observed.Owned{Kind: tt.kind, Live: live, Group: ot.Shop.Group()}), tt.moves)
			})
		}
	}
}
