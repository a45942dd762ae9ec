package observed

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

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
func (s *Snapshot) WrittenByOthers(group lease.Group) int { return s.byOthers()[group] }

// countOthers counts, for each deployment group, the objects that are labelled with it and that a release of it leaves.
func (s *Snapshot) countOthers() map[lease.Group]int {
	others := map[lease.Group]int{}
	for _, kind := range slices.Concat(kinds.Records, kinds.OfLease) {
		for o := range s.Of(kind) {
			whose := s.Ownership(o)
			if g := whose.Lease.Group(); whose.Labelled && (!whose.Ours || s.Stays(Owned{Kind: kind, Live: o, Group: g})) {
				others[g]++
			}
		}
	}
	return others
}

// ByClaim returns the index of the claims.
func (s *Snapshot) ByClaim() *claimIndex { return s.byClaim() }

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
