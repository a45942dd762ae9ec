package claims

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// judge returns the rules by which the run decides on parts.
func (r *Claims) judge() state.Judge {
	return state.Judge{Group: r.Group, Now: r.Cluster.Now(), Adopt: r.Options.Adopt, OnePort: r.Snapshot.Operators.IP}
}

// decide returns who has a part. An unclaimed port counts as claimed by another deployment if Akash's provider keeps a
// ProviderLeasedIP of that deployment for it.
func (r *Claims) decide(h state.Hold, p state.Part, claim *state.Claim, uses []state.Use) state.Finding {
	f := r.judge().Decide(h, p.Key, claim, uses)
	if by, moved := r.movedAway(h, p); moved && f.Verdict == state.Mine && !r.Options.Adopt {
		return state.Finding{Verdict: state.Held, By: by}
	}
	if f.Verdict != state.Free || !h.Kind.HasPorts() || r.Options.Adopt {
		return f
	}
	o, taken := r.declaredPort(h.SharingKey, p.Key)
	if !taken && r.Snapshot.Operators.IP {
		o, taken = r.declaredPort(h.SharingKey, state.OtherProtocol(p.Key))
	}
	if !taken {
		return f
	}
	by := state.Holder{
		Owner: o.Owner, Lease: o.Lease, Object: o.Kind + " " + o.Namespace + "/" + o.Name, Namespace: o.Namespace,
		Since: o.Since, Service: o.Service, Port: o.Port,
	}
	if o.HasLease && o.Lease.Owner == r.Group.Owner {
		return state.Finding{Verdict: state.Withheld, By: by}
	}
	return state.Finding{Verdict: state.Held, By: by}
}

// declaredPort returns the ProviderLeasedIP that Akash's provider keeps for a port of an endpoint and another
// deployment group.
func (r *Claims) declaredPort(sharingKey, key string) (state.PortObject, bool) {
	protocol, port := state.Part{Key: key}.ProtocolPort()
	o, found := r.Snapshot.Ports[lease.LeasedIPName(sharingKey, protocol, port)]
	return o, found && (!o.HasLease || o.Lease.Group() != r.Group)
}

// movedAway returns the lease to which Akash's provider has moved a part that the run's group holds. Until the claim
// follows, nobody may overwrite the provider's object.
func (r *Claims) movedAway(h state.Hold, p state.Part) (by state.Holder, moved bool) {
	kind, name := kinds.ProviderHost, h.Thing
	switch protocol, port := p.ProtocolPort(); {
	case h.Kind.HasPorts() && port == 0, !h.Kind.HasPorts() && p.Key != state.RouteKey("/"):
		return by, false
	case h.Kind.HasPorts():
		kind, name = kinds.ProviderLeasedIP, lease.LeasedIPName(h.SharingKey, protocol, port)
	}
	o := r.Snapshot.At(kind, r.Options.Config.ManifestNamespace, name)
	if o == nil {
		return by, false
	}
	whose := r.Snapshot.Ownership(o)
	if !whose.HasLease || !slices.Contains(whose.MovedFrom, r.Group) {
		return by, false
	}
	by = state.Holder{Owner: whose.Lease.Owner, Lease: whose.Lease, Namespace: whose.Lease.Namespace()}
	moves := fmt.Sprintf("Akash's provider has moved %s %s/%s there", kind.Singular, o.GetNamespace(), o.GetName())
	by.Reason = moves + ", and the claim has yet to follow: kubectl akash-net repair"
	if by.Owner != r.Group.Owner {
		by.Reason = moves + " from this lease, to another owner: one of the two releases it"
	}
	return by, true
}
