package observed

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Uses returns the objects that use a thing without a claim. claimed reports whether a claim with a name exists.
func (s *Snapshot) Uses(h state.Hold, owner string, claimed func(name string) bool) []state.Use {
	switch h.Kind {
	case state.Endpoint:
		return nil // Decide looks at the ProviderLeasedIPs of the ports
	case state.Address:
		a, _ := netip.ParseAddr(h.Thing)
		return s.Addresses.Foreign(a, h.SharingKey)
	}
	return state.UsesOf(h.Thing, s.HostUses, owner, claimed)
}

// Decide returns who has a part of a claim; uses are those of Uses if there is no claim. An unclaimed port counts as claimed
// by another deployment if Akash's provider keeps a ProviderLeasedIP of that deployment for it.
func (s *Snapshot) Decide(j state.Judge, cfg *config.ProviderConfig, h state.Hold, p state.Part, claim *state.Claim, uses []state.Use) state.Finding {
	f := j.Decide(h, p.Key, claim, uses)
	if f.Verdict == state.Mine && !j.Adopt {
		if by, moved := s.movedAway(j.Group, cfg, h, p, claim.Part(p.Key)); moved {
			return state.Finding{Verdict: state.Held, By: by}
		}
	}
	if f.Verdict != state.Free || !h.Kind.HasPorts() || j.Adopt {
		return f
	}
	o, taken := s.declaredPort(j.Group, h.SharingKey, p.Key)
	if !taken && j.OnePort {
		o, taken = s.declaredPort(j.Group, h.SharingKey, state.OtherProtocol(p.Key))
	}
	if !taken {
		return f
	}
	by := state.Holder{
		Owner: o.Owner, Lease: o.Lease, Object: o.Kind + " " + o.Namespace + "/" + o.Name, Namespace: o.Namespace,
		Since: o.Since, Service: o.Service, Port: o.Port,
	}
	if o.HasLease && o.Lease.Owner == j.Group.Owner {
		return state.Finding{Verdict: state.Withheld, By: by}
	}
	return state.Finding{Verdict: state.Held, By: by}
}

// declaredPort returns the ProviderLeasedIP that Akash's provider keeps for a port of an endpoint and another deployment
// group than the given one.
func (s *Snapshot) declaredPort(group lease.Group, sharingKey, key string) (state.PortObject, bool) {
	protocol, port := state.Part{Key: key}.ProtocolPort()
	o, found := s.Ports[lease.LeasedIPName(sharingKey, protocol, port)]
	return o, found && (!o.HasLease || o.Lease.Group() != group)
}

// movedAway returns the lease to which Akash's provider has moved a part that the deployment group holds. Until the claim
// follows, nobody may overwrite the provider's object.
func (s *Snapshot) movedAway(group lease.Group, cfg *config.ProviderConfig, h state.Hold, p state.Part, own *state.Part) (by state.Holder, moved bool) {
	kind, name := kinds.ProviderHost, h.Thing
	switch protocol, port := p.ProtocolPort(); {
	case h.Kind.HasPorts() && port == 0, !h.Kind.HasPorts() && p.Key != state.RouteKey("/"):
		return by, false
	case h.Kind.HasPorts():
		kind, name = kinds.ProviderLeasedIP, lease.LeasedIPName(h.SharingKey, protocol, port)
	}
	o := s.At(kind, cfg.ManifestNamespace, name)
	if o == nil {
		return by, false
	}
	whose := s.Ownership(o)
	if !whose.HasLease || !slices.Contains(whose.MovedFrom, group) && (own == nil || !whose.Takes(*own)) {
		return by, false
	}
	by = state.Holder{Owner: whose.Lease.Owner, Lease: whose.Lease, Namespace: whose.Lease.Namespace()}
	moves := fmt.Sprintf("Akash's provider has moved %s %s/%s there", kind.Singular, o.GetNamespace(), o.GetName())
	by.Reason = moves + ", and the claim has yet to follow: kubectl akash-net repair"
	if by.Owner != group.Owner {
		by.Reason = moves + " from this lease, to another owner: one of the two releases it"
	}
	return by, true
}

// Unserved reports whether nothing of the owner serves a part of a claim that the deployment group of a lease holds. While
// another lease of the group is live, what names that lease counts as served.
func (s *Snapshot) Unserved(id lease.ID, c *state.Claim, p state.Part) bool {
	_, elsewhere := state.Elsewhere(id, s.LiveOf(id.Group()))
	by, _ := s.ServedBy(c, p)
	return (!elsewhere || p.Lease == id) && !s.Serves(c, id.Group()) && len(by) == 0
}
