package execute

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// objects are the objects of a snapshot, as the engine asks for them.
type objects struct {
	snapshot *observed.Snapshot
	cfg      *config.ProviderConfig
	// known are the objects for which the engine has asked: it asks for all of a lease in each decision.
	known map[*unstructured.Unstructured]engine.Object
}

// Objects returns the objects of a snapshot, as the engine asks for them: one decision after the other.
func Objects(s *observed.Snapshot, cfg *config.ProviderConfig) engine.Objects {
	return objects{s, cfg, map[*unstructured.Unstructured]engine.Object{}}
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

// Written returns the objects that this program wrote for a deployment group and that serve what is chosen.
func (o objects) Written(g lease.Group, chosen engine.Choice) (out []engine.Object) {
	for _, owned := range o.snapshot.Written[g] {
		if o.isChosen(owned, chosen) {
			out = append(out, o.object(owned))
		}
	}
	return out
}

// isChosen reports whether an object serves what is chosen. A ProviderLeasedIP does if its endpoint has a chosen address.
func (o objects) isChosen(owned observed.Owned, chosen engine.Choice) bool {
	s := o.snapshot
	if chosen.All() {
		return true
	}
	if owned.Kind == kinds.ProviderLeasedIP {
		return slices.ContainsFunc(s.ClaimsOfPort(owned), chosen.Claim)
	}
	if owned.Kind == kinds.Service && slices.ContainsFunc(s.List(), func(c *state.Claim) bool {
		return c.Kind == state.Endpoint && chosen.Claim(c) && c.SharingKey == state.ServiceObjectOf(owned.Live).SharingKey
	}) {
		return true
	}
	if host := owned.RecordOf(); host != "" {
		return chosen.Has(host)
	}
	uses := append(state.HostUses(owned.Live), state.AddressUses(owned.Live)...)
	return slices.ContainsFunc(uses, func(u state.Use) bool {
		if !u.Address.IsValid() {
			return chosen.Has(u.Host)
		}
		c := s.Claim(state.AddressName(u.Address))
		return c != nil && chosen.Claim(c)
	})
}

// StandsFor reports whether an object serves a part of a claim, or accompanies objects that do.
func (o objects) StandsFor(of engine.Object, c *state.Claim, p state.Part) bool {
	return observed.StandsFor(owned(of), c, p)
}

// ServedBy returns the objects of a claim's owner that serve or declare a part of it.
func (o objects) ServedBy(c *state.Claim, p state.Part) (by []engine.Object, declared bool) {
	all, declared := o.snapshot.ServedBy(c, p)
	return o.all(all), declared
}

// DeclaredIn returns what Akash's provider declares for the lease of a namespace.
func (o objects) DeclaredIn(namespace string, g lease.Group) []engine.Object {
	return o.all(o.snapshot.DeclaredIn(namespace, g))
}

// LiveOf returns the leases of a deployment group that have objects or a kept definition.
func (o objects) LiveOf(g lease.Group, d *kept.Definition) []lease.ID { return o.snapshot.LiveOf(g, d) }

func (o objects) all(list []observed.Owned) []engine.Object {
	out := make([]engine.Object, len(list))
	for i, owned := range list {
		out[i] = o.object(owned)
	}
	return out
}

// object returns an object as the engine knows it.
func (o objects) object(owned observed.Owned) engine.Object {
	if is, known := o.known[owned.Live]; known {
		return is
	}
	whose := o.snapshot.Ownership(owned.Live)
	o.known[owned.Live] = engine.Object{
		Kind: owned.Kind, Live: owned.Live, Group: owned.Group, Lease: whose.Lease, Ours: whose.Ours,
		Stays: o.snapshot.Stays(owned), Near: o.snapshot.ClaimsNear(owned), Record: owned.RecordOf(),
	}
	return o.known[owned.Live]
}

// owned is an object as the reader knows it.
func owned(o engine.Object) observed.Owned {
	return observed.Owned{Kind: o.Kind, Live: o.Live, Group: o.Group}
}
