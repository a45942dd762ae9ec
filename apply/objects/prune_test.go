package objects

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

const shop, blog, address = "shop.example.com", "blog.example.com", "203.0.113.1"

// work returns the Objects of ot.Next, which holds its parts of the claims.
func work(opts command.Options, held []*state.Claim, objects ...*unstructured.Unstructured) *Objects {
	r := New(&command.Command{Options: opts}, nil, state.Request{Lease: ot.Next})
	r.Snapshot = ot.Snapshot(held, objects...)
	for _, claim := range held {
		if parts := claim.PartsOf(ot.Next.Group()); len(parts) > 0 {
			r.Hold(&claims.Held{Want: state.Hold{Kind: claim.Kind, Thing: claim.Thing, SharingKey: claim.SharingKey, Parts: parts}, Claim: claim})
		}
	}
	return r
}

func rendered(objects ...*unstructured.Unstructured) (out []render.Object) {
	for _, o := range objects {
		out = append(out, render.Object{Kind: kinds.Of(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Config: o})
	}
	return out
}

// names returns objects as kind/name.
func names(objects []observed.Owned) (out []string) {
	for _, o := range objects {
		out = append(out, o.Kind.Singular+"/"+o.Live.GetName())
	}
	return out
}

// A run deletes the objects that its lease no longer defines: policies and routes before the ProviderHost of their host.
func TestUndefinedObjects(t *testing.T) {
	all := func() []*unstructured.Unstructured {
		return []*unstructured.Unstructured{
			ot.Ours(ot.ProviderHost(ot.Next, shop)), ot.Ours(ot.Ingress(ot.Next, shop, "/")), ot.Ours(ot.Service(ot.Next, 443, address)), ot.Ours(ot.DNSRecord(ot.Next, shop)),
			ot.Ours(ot.Ingress(ot.Shop, blog, "/")), ot.Ingress(ot.Next, "by-hand.example.com", "/"),
		}
	}
	const record, ingress, service, host = "dnsrecord/" + shop, "ingress/" + shop, "service/game-ip-" + address, "providerhost/" + shop
	moved := ot.Ingress(ot.Next, shop, "/")
	moved.SetNamespace("another")
	tests := []struct {
		name    string
		desired []render.Object
		stay    bool
		want    []string
	}{
		{"the lease defines nothing", nil, false, []string{record, ingress, service, host}},
		{"the lease defines its host", rendered(ot.Ingress(ot.Next, shop, "/"), ot.ProviderHost(ot.Next, shop), ot.DNSRecord(ot.Next, shop)), false, []string{service}},
		{"the host has another kind of route now", rendered(ot.HTTPRoute(ot.Next, shop, "/"), ot.ProviderHost(ot.Next, shop), ot.DNSRecord(ot.Next, shop)), false, []string{ingress, service}},
		{"the route is in another namespace now", rendered(moved, ot.ProviderHost(ot.Next, shop), ot.DNSRecord(ot.Next, shop)), false, []string{ingress, service}},
		{"the new routes do not serve yet", nil, true, []string{ingress, service, host}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := work(command.Options{Prune: true}, []*state.Claim{ot.Host(ot.Next, shop)}, all()...)
			r.Successors.Stay = tt.stay
			if got := names(r.undefined(r.Snapshot, tt.desired)); !slices.Equal(got, tt.want) {
				t.Errorf("it deletes %q, want %q", got, tt.want)
			}
		})
	}
}

// A run deletes the objects of other leases that serve what it holds: always after a transfer, all others only if it prunes.
func TestStrayObjects(t *testing.T) {
	prune, heal, none := command.Options{Prune: true}, command.Options{Heal: true}, command.Options{}
	own, handedOn := func() *state.Claim { return ot.Host(ot.Next, shop) }, func() *state.Claim { return ot.HandedOn(ot.Host(ot.Next, shop), ot.Shop) }
	both := func() *state.Claim { // a path of each
		c := ot.Host(ot.Next, shop)
		c.Parts = append(c.Parts, ot.Host(ot.Shop, shop, "/v1").Parts...)
		return c
	}
	port := func() *state.Claim { return ot.HandedOn(ot.Address(ot.Next, address, 443), ot.Shop) }
	tests := []struct {
		name    string
		opts    command.Options
		claim   *state.Claim
		object  *unstructured.Unstructured
		desired []render.Object
		change  func(r *Objects)
		want    bool
	}{
		{"the former lease's route", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), nil, nil, true},
		{"the former lease's Service", none, port(), ot.Service(ot.Shop, 443, address), nil, nil, true},
		{"the former lease's Service of another port", none, port(), ot.Service(ot.Shop, 80, address), nil, nil, false},
		{"the former lease's DNS record", none, handedOn(), ot.DNSRecord(ot.Shop, shop), nil, nil, true},
		{"the lease's own route", prune, own(), ot.Ingress(ot.Next, shop, "/"), nil, nil, false},
		{"a route of another lease that was not handed on", none, own(), ot.Ingress(ot.Shop, shop, "/"), nil, nil, false},
		{"a route of another lease, where the run deletes", prune, own(), ot.Ingress(ot.Shop, shop, "/"), nil, nil, true},
		{"a lease that is healed takes nothing down", heal, handedOn(), ot.Ingress(ot.Shop, shop, "/"), nil, nil, false},
		{"a path that the other lease holds", prune, both(), ot.Ingress(ot.Shop, shop, "/v1"), nil, nil, false},
		{"a path that the run holds, of a lease with another", prune, both(), ot.Ingress(ot.Shop, shop, "/"), nil, nil, true},
		{"any path of a lease that holds none", prune, own(), ot.Ingress(ot.Shop, shop, "/old"), nil, nil, true},
		{"a route of a host that the run does not hold", prune, own(), ot.Ingress(ot.Shop, blog, "/"), nil, nil, false},
		{"an object that the run writes itself", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), rendered(ot.Ingress(ot.Shop, shop, "/")), nil, false},
		{"a route that Akash's operator removes", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), nil, func(r *Objects) { r.Snapshot.Operators.Hostname = true }, false},
		{"a part of which a transfer knows no route", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), nil, func(r *Objects) { r.Routeless = map[string][]string{shop: {state.RouteKey("/")}} }, false},
		{"another part of which a transfer knows no route", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), nil, func(r *Objects) { r.Routeless = map[string][]string{shop: {state.RouteKey("/v1")}} }, true},
		{"the record of a route that stays until the new one serves", none, handedOn(), ot.DNSRecord(ot.Shop, shop), nil, func(r *Objects) { r.Successors.Stay = true }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := work(tt.opts, []*state.Claim{tt.claim}, ot.Ours(tt.object))
			if tt.change != nil {
				tt.change(r)
			}
			if got := r.strayObjects(tt.desired); (len(got) == 1) != tt.want {
				t.Errorf("it deletes %q, want %t", names(got), tt.want)
			}
		})
	}
}

// A Service with two addresses that were handed on is deleted once.
func TestStrayObjectsAreDeletedOnce(t *testing.T) {
	held := []*state.Claim{ot.HandedOn(ot.Address(ot.Next, address, 443), ot.Shop), ot.HandedOn(ot.Address(ot.Next, "2001:db8::1", 443), ot.Shop)}
	r := work(command.Options{}, held, ot.Ours(ot.Service(ot.Shop, 443, address+",2001:db8::1")))
	if got := r.strayObjects(nil); len(got) != 1 {
		t.Errorf("it deletes %q", names(got))
	}
}

// A lease gives up the parts that its request does not name, and the notes about parts that are no longer withheld.
func TestWants(t *testing.T) {
	claim := ot.Host(ot.Next, shop, "/", "/v1")
	r := work(command.Options{}, []*state.Claim{ot.Host(ot.Next, shop)})
	note := claim.Parts[1].Wait("", nil)
	for name, tt := range map[string]struct {
		claim    *state.Claim
		part     state.Part
		withheld bool
		want     bool
	}{
		"a part that is asked for":       {claim, claim.Parts[0], false, true},
		"another path of the host":       {claim, claim.Parts[1], false, false},
		"another host":                   {ot.Host(ot.Next, blog), claim.Parts[0], false, false},
		"a note of what is withheld":     {claim, note, true, true},
		"a note of what was withheld":    {claim, note, false, false},
		"a part, though it was withheld": {claim, claim.Parts[1], true, false},
		"a part beside a withheld one":   {claim, claim.Parts[0], true, true},
	} {
		t.Run(name, func(t *testing.T) {
			if r.Withheld = nil; tt.withheld {
				r.Withheld = []claims.Waiting{{Note: note}}
			}
			if got := r.Wants(tt.claim, tt.part); got != tt.want {
				t.Errorf("wanted: %t, want %t", got, tt.want)
			}
		})
	}
}

// Without --adopt a run takes over only objects that other deployments of the owner have written.
func TestAreFormer(t *testing.T) {
	for name, tt := range map[string]struct {
		managers []string
		want     bool
	}{
		"another deployment of the owner":       {[]string{ot.Shop.Group().FieldManager()}, true},
		"a deployment of somebody else":         {[]string{ot.Blog.Group().FieldManager()}, false},
		"Akash's provider":                      {[]string{"provider-services"}, false},
		"another deployment, and kubectl":       {[]string{ot.Shop.Group().FieldManager(), "kubectl"}, false},
		"a manager that only begins as ours do": {[]string{"akash-net/not-a-lease"}, false},
		"nobody: the refusal names no managers": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := areFormer(ot.Next.Owner, tt.managers); got != tt.want {
				t.Errorf("it may be taken over: %t, want %t", got, tt.want)
			}
		})
	}
}
