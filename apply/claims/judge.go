package claims

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

func (r *Claims) judge() state.Judge {
	return state.Judge{Group: r.Group, Now: r.Cluster.Now(), Adopt: r.Options.Adopt, OnePort: r.Snapshot.Operators.IP}
}

// decide judges one part. A port that nobody claims, but for which Akash's provider keeps a
// ProviderLeasedIP of another deployment of the owner, is withheld as if it were claimed.
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
	by := state.Holder{Owner: o.Owner, Lease: o.Lease, Object: o.Kind + " " + o.Namespace + "/" + o.Name, Namespace: o.Namespace, Since: o.Since, Service: o.Service, Port: o.Port}
	if o.HasLease && o.Lease.Owner == r.Group.Owner {
		return state.Finding{Verdict: state.Withheld, By: by}
	}
	return state.Finding{Verdict: state.Held, By: by}
}

// declaredPort is what Akash's provider keeps for the port of an endpoint and another deployment group.
func (r *Claims) declaredPort(sharingKey, key string) (state.PortObject, bool) {
	protocol, port := state.Part{Key: key}.ProtocolPort()
	o, found := r.Snapshot.Ports[lease.LeasedIPName(sharingKey, protocol, port)]
	return o, found && (!o.HasLease || o.Lease.Group() != r.Group)
}
