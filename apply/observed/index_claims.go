package observed

import (
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// index answers lookups of many leases in one snapshot. Each map is built on first use, so that the work on a lease
// does not grow with the number of leases.
type index struct {
	mu sync.Mutex
	// byOthers counts objects that are labelled with a deployment group and that a release of the group leaves.
	byOthers map[lease.Group]int
	claims   *claimIndex
	// standing are the objects that serve or declare something, by the name of the claim that they use.
	standing map[string][]Owned
}

// claimIndex finds claims by their content.
type claimIndex struct {
	// all has the claims in no order, Endpoints those with ports by sharing key, Things all by what is claimed.
	all       []*state.Claim
	Endpoints map[string][]*state.Claim
	Things    map[string][]*state.Claim
	// former has the names of claims with a part that a group serves for its new holder since a transfer.
	former map[lease.Group][]string
}

// WrittenByOthers returns how many objects of a deployment group a release leaves.
func (s *Snapshot) WrittenByOthers(group lease.Group) int {
	s.indexed.mu.Lock()
	defer s.indexed.mu.Unlock()
	if s.indexed.byOthers == nil {
		s.indexed.byOthers = map[lease.Group]int{}
		for _, kind := range slices.Concat(kinds.Records, kinds.OfLease) {
			for _, o := range s.Live[kind.Plural] {
				whose := s.Ownership(o)
				if g := whose.Lease.Group(); whose.Labelled && (!whose.Ours || s.Stays(Owned{Kind: kind, Live: o, Group: g})) {
					s.indexed.byOthers[g]++
				}
			}
		}
	}
	return s.indexed.byOthers[group]
}

// ByClaim returns the index of the claims.
func (s *Snapshot) ByClaim() *claimIndex {
	s.indexed.mu.Lock()
	defer s.indexed.mu.Unlock()
	if s.indexed.claims == nil {
		s.indexed.claims = indexClaims(s.Claims)
	}
	return s.indexed.claims
}

func indexClaims(claims map[string]*state.Claim) *claimIndex {
	x := &claimIndex{
		all:       make([]*state.Claim, 0, len(claims)),
		Endpoints: map[string][]*state.Claim{}, Things: map[string][]*state.Claim{}, former: map[lease.Group][]string{},
	}
	for name, c := range claims {
		x.all = append(x.all, c)
		x.Things[c.Thing] = append(x.Things[c.Thing], c)
		if c.Kind.HasPorts() {
			x.Endpoints[c.SharingKey] = append(x.Endpoints[c.SharingKey], c)
		}
		for _, g := range c.Formers() {
			x.former[g] = append(x.former[g], name)
		}
	}
	return x
}

// List returns all claims. The slice is shared: do not modify it.
func (s *Snapshot) List() []*state.Claim { return s.ByClaim().all }

// ClaimsOfPort returns the claims on the addresses of a ProviderLeasedIP's endpoint; none for an object of another
// kind.
func (s *Snapshot) ClaimsOfPort(o Owned) []*state.Claim {
	if o.Kind != kinds.ProviderLeasedIP {
		return nil
	}
	return s.ByClaim().Endpoints[state.PortObjectOf(o.Live).SharingKey]
}

// Knows replaces a claim in the snapshot; nil removes it.
func (s *Snapshot) Knows(name string, now *state.Claim) {
	s.indexed.mu.Lock()
	defer s.indexed.mu.Unlock()
	s.indexed.claims = nil
	if s.Claims[name] = now; now == nil {
		delete(s.Claims, name)
	}
}
