package observed

import (
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// index answers what many leases ask of one snapshot. Each part is built once, when it is first asked for,
// so that the work on a lease depends on what that lease has and not on how many leases there are.
type index struct {
	mu sync.Mutex
	// byOthers counts the objects whose labels name a deployment group and that a release of it leaves.
	byOthers map[lease.Group]int
	claims   *claimIndex
}

// claimIndex finds claims by what is written on them.
type claimIndex struct {
	// all are the claims, in no order; endpoints are those with ports, by sharing key, things all by what they
	// are of.
	all       []*state.Claim
	Endpoints map[string][]*state.Claim
	Things    map[string][]*state.Claim
	// former are the names of the claims with a part that a group serves for another since a transfer.
	former map[lease.Group][]string
}

// WrittenByOthers counts the objects of a deployment group that a release leaves.
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

// ByClaim is the index of the claims.
func (s *Snapshot) ByClaim() *claimIndex {
	s.indexed.mu.Lock()
	defer s.indexed.mu.Unlock()
	if s.indexed.claims == nil {
		s.indexed.claims = indexClaims(s.Claims)
	}
	return s.indexed.claims
}

func indexClaims(claims map[string]*state.Claim) *claimIndex {
	x := &claimIndex{all: make([]*state.Claim, 0, len(claims)), Endpoints: map[string][]*state.Claim{}, Things: map[string][]*state.Claim{}, former: map[lease.Group][]string{}}
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

// List are all claims that were read. It is shared: do not change it.
func (s *Snapshot) List() []*state.Claim { return s.ByClaim().all }

// ClaimsOfPort are the claims on the addresses of the endpoint that a ProviderLeasedIP is for; none for an
// object of another kind.
func (s *Snapshot) ClaimsOfPort(o Owned) []*state.Claim {
	if o.Kind != kinds.ProviderLeasedIP {
		return nil
	}
	return s.ByClaim().Endpoints[state.PortObjectOf(o.Live).SharingKey]
}

// Knows notes what a claim says now; nil is for one that is gone.
func (s *Snapshot) Knows(name string, now *state.Claim) {
	s.indexed.mu.Lock()
	defer s.indexed.mu.Unlock()
	s.indexed.claims = nil
	if s.Claims[name] = now; now == nil {
		delete(s.Claims, name)
	}
}
