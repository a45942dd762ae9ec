package diagnosis

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
)

// unlikeDefined says, for hosts of the things, which HTTP options the route that Akash's hostname operator made has instead
// of those of the definition with which its lease was last applied.
func unlikeDefined(ctx context.Context, s *observed.Snapshot, l ledger.Ledger, things []thing.Thing) (map[string]string, error) {
	unlike, defs := map[string]string{}, map[lease.Group]*lease.Definition{}
	for _, c := range s.List() {
		part := c.Part(state.RouteKey("/"))
		if c.Kind != state.Host || part == nil || !slices.ContainsFunc(things, func(t thing.Thing) bool {
			return t.Host == c.Thing || t.Kind == thing.Lease && t.Group == part.Lease.Group()
		}) {
			continue
		}
		route := operatorsRoute(s, part.Lease, c.Thing)
		if route == nil {
			continue
		}
		g := part.Lease.Group()
		if _, read := defs[g]; !read {
			d, err := observed.ReadDefinition(ctx, l, g)
			if err != nil {
				return nil, err
			}
			if defs[g] = nil; d != nil {
				defs[g], _ = d.Decode() // one that cannot be decoded is a problem of its own
			}
		}
		if def := defs[g]; def != nil {
			if e := def.Routed(c.Thing, "/"); e != nil {
				unlike[c.Thing] = operators.Unlike(route, e.HTTP)
			}
		}
	}
	return unlike, nil
}

// operatorsRoute returns the route of a host that Akash's hostname operator made for a lease, or nil.
func operatorsRoute(s *observed.Snapshot, id lease.ID, host string) *unstructured.Unstructured {
	for _, kind := range observed.OperatorKinds(kinds.Ingress) {
		live := s.At(kind, id.Namespace(), host)
		if live == nil {
			continue
		}
		if whose := s.Ownership(live); whose.Shared && !whose.Ours {
			return live
		}
	}
	return nil
}
