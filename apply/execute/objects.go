package execute

import (
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// objects are the objects of a snapshot, as the engine asks for them.
type objects struct {
	snapshot *observed.Snapshot
	cfg      *config.ProviderConfig
}

// Closed reports whether an uninstall has closed the ledger.
func (o objects) Closed() bool { return o.snapshot.ClosedBy != "" }

// Finding returns who has a part.
func (o objects) Finding(j state.Judge, h state.Hold, p state.Part, c *state.Claim, claimed func(string) bool) state.Finding {
	var uses []state.Use
	if c == nil {
		uses = o.snapshot.Uses(h, j.Group.Owner, claimed)
	}
	return o.snapshot.Decide(j, o.cfg, h, p, c, uses)
}

// Below returns the uses of the hosts one label below a wildcard.
func (o objects) Below(wildcard string) map[string][]state.Use {
	out := map[string][]state.Use{}
	for host, uses := range o.snapshot.HostUses {
		if state.WildcardOver(host) == wildcard {
			out[host] = uses
		}
	}
	return out
}

// Live returns the leases of a deployment group whose objects serve a claim.
func (o objects) Live(c *state.Claim, g lease.Group) []lease.ID { return o.snapshot.LiveFor(c, g) }

// Serves reports whether objects serve a claim for a deployment group.
func (o objects) Serves(c *state.Claim, g lease.Group) bool { return o.snapshot.Serves(c, g) }

// Unserved reports whether nothing serves a part.
func (o objects) Unserved(id lease.ID, c *state.Claim, p state.Part) bool {
	return o.snapshot.Unserved(id, c, p)
}

// Addresses indexes claims on addresses and the uses of addresses by Services.
func (o objects) Addresses(claims []*state.Claim) *state.Addresses {
	return o.snapshot.Addresses.With(claims)
}
