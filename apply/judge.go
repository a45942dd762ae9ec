package apply

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

func (r *claims) judge() state.Judge {
	return state.Judge{Group: r.group, Now: r.cluster.Now(), Adopt: r.opts.Adopt, OnePort: r.snapshot.operators.ip}
}

// decide judges one part. A port that nobody claims, but for which Akash's provider keeps a
// ProviderLeasedIP of another deployment of the owner, is withheld as if it were claimed.
func (r *claims) decide(h state.Hold, p state.Part, claim *state.Claim, uses []state.Use) state.Finding {
	f := r.judge().Decide(h, p.Key, claim, uses)
	if by, moved := r.movedAway(h, p); moved && f.Verdict == state.Mine && !r.opts.Adopt {
		return state.Finding{Verdict: state.Held, By: by}
	}
	if f.Verdict != state.Free || !h.Kind.HasPorts() || r.opts.Adopt {
		return f
	}
	o, taken := r.declaredPort(h.SharingKey, p.Key)
	if !taken && r.snapshot.operators.ip {
		o, taken = r.declaredPort(h.SharingKey, state.OtherProtocol(p.Key))
	}
	if !taken {
		return f
	}
	by := state.Holder{Owner: o.Owner, Lease: o.Lease, Object: o.Kind + " " + o.Namespace + "/" + o.Name, Namespace: o.Namespace, Since: o.Since, Service: o.Service, Port: o.Port}
	if o.HasLease && o.Lease.Owner == r.group.Owner {
		return state.Finding{Verdict: state.Withheld, By: by}
	}
	return state.Finding{Verdict: state.Held, By: by}
}

// declaredPort is what Akash's provider keeps for the port of an endpoint and another deployment group.
func (r *claims) declaredPort(sharingKey, key string) (state.PortObject, bool) {
	protocol, port := state.Part{Key: key}.ProtocolPort()
	o, found := r.snapshot.ports[lease.LeasedIPName(sharingKey, protocol, port)]
	return o, found && (!o.HasLease || o.Lease.Group() != r.group)
}
