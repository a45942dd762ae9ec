package engine_test

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// objects are the routes of the ledger's cluster as they are now.
func (l *ledger) objects() engine.Objects {
	return objects{maps.Clone(l.serves), maps.Clone(l.routes)}
}

// objects are routes: the deployment groups that serve each host.
type objects struct {
	serves map[string][]lease.Group
	routes map[string]int
}

// serve lets a new route of a group serve a host.
func (l *ledger) serve(host string, g lease.Group) {
	l.serves[host] = append(slices.Clone(l.serves[host]), g)
	l.routes[host]++
}

func (o objects) Closed() bool { return false }

func (o objects) Finding(j state.Judge, h state.Hold, p state.Part, c *state.Claim, _ func(string) bool) state.Finding {
	var uses []state.Use
	if c == nil {
		uses = o.uses(h.Thing)
	}
	return j.Decide(h, p.Key, c, uses)
}

func (o objects) uses(host string) (out []state.Use) {
	for _, g := range o.serves[host] {
		id := lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq, OSeq: 1}
		out = append(out, state.Use{Host: host, Kind: "ingress", Name: host, HasLease: true, Labelled: true, Lease: id})
	}
	return out
}

func (o objects) Below(wildcard string) map[string][]state.Use {
	out := map[string][]state.Use{}
	for host := range o.serves {
		if state.WildcardOver(host) == wildcard {
			out[host] = o.uses(host)
		}
	}
	return out
}

func (o objects) Live(c *state.Claim, g lease.Group) (out []lease.ID) {
	for _, u := range o.uses(c.Thing) {
		if u.Lease.Group() == g {
			out = append(out, u.Lease)
		}
	}
	return out
}

func (o objects) Serves(c *state.Claim, g lease.Group) bool {
	return slices.Contains(o.serves[c.Thing], g)
}

func (o objects) Unserved(id lease.ID, c *state.Claim, _ state.Part) bool {
	return !o.Serves(c, id.Group())
}

// Written are the routes of a group, as Ingresses.
func (o objects) Written(g lease.Group, chosen engine.Choice) (out []engine.Object) {
	for _, host := range slices.Sorted(maps.Keys(o.serves)) {
		if slices.Contains(o.serves[host], g) && (chosen.All() || chosen.Has(host)) {
			out = append(out, o.route(host, g))
		}
	}
	return out
}

func (o objects) route(host string, g lease.Group) engine.Object {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetNamespace(g.Owner)
	live.SetName(host)
	live.SetUID(types.UID(fmt.Sprintf("%s %s %d", g, host, o.routes[host])))
	return engine.Object{
		Kind: kinds.Ingress, Live: live, Group: g, Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}, Ours: true, Near: []string{state.HostName(host)},
	}
}

func (o objects) StandsFor(of engine.Object, c *state.Claim, _ state.Part) bool {
	return state.HostName(of.Live.GetName()) == c.Name()
}

// ServedBy are the routes of the owner's other groups.
func (o objects) ServedBy(c *state.Claim, p state.Part) (by []engine.Object, declared bool) {
	for _, g := range o.serves[c.Thing] {
		if g.Owner == c.Owner && g != p.Lease.Group() {
			by = append(by, o.route(c.Thing, g))
		}
	}
	return by, false
}

func (o objects) DeclaredIn(string, lease.Group) []engine.Object { return nil }

func (o objects) LiveOf(lease.Group, *kept.Definition) []lease.ID { return nil }

func (o objects) Addresses(claims []*state.Claim) *state.Addresses {
	return state.NewAddresses(claims, nil)
}
