package routes

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

const shop = "shop.example.com"

// successors are those of a run of ot.Next that holds the claims of its own among these.
func successors(opts command.Options, held []*state.Claim, objects ...*unstructured.Unstructured) *Successors {
	c := claims.New(&command.Command{Options: opts}, nil, state.Request{Lease: ot.Next})
	c.Snapshot = ot.Snapshot(held, objects...)
	for _, claim := range held {
		if parts := claim.PartsOf(ot.Next.Group()); len(parts) > 0 {
			c.Hold(&claims.Held{Want: state.Hold{Kind: claim.Kind, Thing: claim.Thing, Parts: parts}, Claim: claim})
		}
	}
	return &Successors{Claims: c}
}

func rendered(o *unstructured.Unstructured) render.Object {
	return render.Object{Kind: kinds.Of(o.GetKind()), Namespace: o.GetNamespace(), Name: o.GetName(), Config: o}
}

// An old route stays until the new one in its place serves: which ones that concerns.
func TestReplaces(t *testing.T) {
	own, handedOn := ot.Host(ot.Next, shop), func() *state.Claim { return ot.HandedOn(ot.Host(ot.Next, shop), ot.Shop) }
	prune, heal, none := command.Options{Prune: true}, command.Options{Heal: true}, command.Options{}
	tests := []struct {
		name  string
		opts  command.Options
		claim *state.Claim
		was   *unstructured.Unstructured
		now   *unstructured.Unstructured
		want  bool
	}{
		{"the lease's Ingress, by its HTTPRoute", prune, own, ot.Ingress(ot.Next, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), true},
		{"the lease's HTTPRoute, by its Ingress", prune, own, ot.HTTPRoute(ot.Next, shop, "/"), ot.Ingress(ot.Next, shop, "/"), true},
		{"a run that deletes nothing", none, own, ot.Ingress(ot.Next, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"a route of the same kind is written over", prune, own, ot.HTTPRoute(ot.Next, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"the route of another path", prune, own, ot.Ingress(ot.Next, shop, "/v1"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"the route of another host", prune, own, ot.Ingress(ot.Next, "blog.example.com", "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"a redirect is no route in the place of another", prune, own, ot.Ingress(ot.Next, shop, "/"), ot.Redirect(ot.Next, shop), false},
		{"a redirect is not replaced", prune, own, ot.Redirect(ot.Next, shop), ot.Ingress(ot.Next, shop, "/"), false},
		{"the former lease's HTTPRoute, by an HTTPRoute", none, handedOn(), ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), true},
		{"the former lease's Ingress, by an HTTPRoute", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), true},
		{"the former lease's Ingress would keep a new one out", none, handedOn(), ot.Ingress(ot.Shop, shop, "/"), ot.Ingress(ot.Next, shop, "/"), false},
		{"a lease that is healed takes nothing down", heal, handedOn(), ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"another lease's route of a host that is not handed on", none, own, ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"another lease's route, where the run deletes strays", prune, own, ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), true},
		{"another lease's route of a host that the run does not hold", prune, ot.Host(ot.Shop, shop), ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
		{"another lease's route of a path that the run does not hold", prune, ot.Host(ot.Next, shop, "/v1"), ot.HTTPRoute(ot.Shop, shop, "/"), ot.HTTPRoute(ot.Next, shop, "/"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := successors(tt.opts, []*state.Claim{tt.claim}, ot.Ours(tt.was))
			replaced := func() map[*unstructured.Unstructured]render.Object {
				return Replaced(r.Snapshot, []render.Object{rendered(tt.now)}, ot.Next.Group(), r.GoesFor)
			}
			if o, found := replaced()[tt.was]; found != tt.want || found && o.Kind.Kind != tt.now.GetKind() {
				t.Errorf("replaced: %t, want %t", found, tt.want)
			}
			if r.Snapshot.Operators.Hostname = true; len(replaced()) > 0 {
				t.Error("it is replaced where Akash's operator removes it")
			}
		})
	}
}

// While an old route stays, so does what belongs to it, and the DNS records that lead to it.
func TestStays(t *testing.T) {
	held := []*state.Claim{ot.HandedOn(ot.Host(ot.Next, shop), ot.Shop)}
	tests := []struct {
		name   string
		object *unstructured.Unstructured
		want   bool
	}{
		{"the route", ot.Ingress(ot.Shop, shop, "/"), true},
		{"its redirect", ot.Redirect(ot.Shop, shop), true},
		{"its filter", ot.Object(kinds.SnippetsFilter, ot.Shop, shop, nil), true},
		{"a policy that is named after a Service", ot.Object(kinds.BackendTLSPolicy, ot.Shop, "web", nil), true},
		{"another route", ot.Ingress(ot.Shop, "blog.example.com", "/"), false},
		{"the DNS record of its host", ot.DNSRecord(ot.Shop, shop), true},
		{"the DNS record of a host that the run does not hold", ot.DNSRecord(ot.Shop, "blog.example.com"), false},
		{"a Service that is called as the route", ot.Object(kinds.Service, ot.Shop, shop, nil), false},
		{"the ProviderHost", ot.ProviderHost(ot.Shop, shop), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := successors(command.Options{}, held, ot.Ours(tt.object))
			if r.Stays(ot.Owned(tt.object)) {
				t.Error("it stays where all new routes serve")
			}
			r.Stay, r.names = true, map[string]bool{shop: true, lease.RedirectName(shop): true}
			if got := r.Stays(ot.Owned(tt.object)); got != tt.want {
				t.Errorf("it stays: %t, want %t", got, tt.want)
			}
			if kind := kinds.Of(tt.object.GetKind()); kind == kinds.Ingress && r.StaysFor(held[0], held[0].Parts[0]) != tt.want {
				t.Errorf("the part counts as served by the former lease: %t, want %t", !tt.want, tt.want)
			}
		})
	}
	r := successors(command.Options{}, nil, ot.Ours(ot.Ingress(ot.Shop, shop, "/")))
	r.Stay, r.names = true, map[string]bool{shop: true}
	if own := ot.Host(ot.Next, shop); r.StaysFor(own, own.Parts[0]) {
		t.Error("a part that was not handed on counts as served by another lease")
	}
}
