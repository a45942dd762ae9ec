package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// followDeclared hands parts of a claim to the lease to which Akash's provider has moved them. What Akash declares is
// read after the claim, and the write is pinned to the claim as it was read.
func (r *repair) followDeclared(ctx context.Context, m state.Mend) error {
	claim := r.snapshot.claims[m.Follow.Name()] // as it was read, or as an earlier mend has left it
	if claim == nil {
		return errChanged
	}
	moved := &move{claim: claim, from: []lease.Group{m.Group}}
	var work *run
	for i, key := range m.Keys {
		p := claim.Part(key)
		if p == nil || p.Lease.Group() != m.Group {
			continue // an earlier mend has handed it on
		}
		declared, err := r.cluster.Get(ctx, kinds.Of(m.Declared[i].Kind), m.Declared[i].Namespace, m.Declared[i].Name)
		if err != nil {
			return err
		}
		if declared == nil || string(declared.GetUID()) != m.Declared[i].UID {
			return errChanged
		}
		whose := r.snapshot.ownership(declared)
		if !movedFrom(whose, m.Group) || work != nil && whose.Lease != work.req.Lease {
			return errChanged
		}
		if work == nil {
			work = r.newRun(nil, state.Request{Lease: whose.Lease})
			work.snapshot, work.pools, work.quiet = r.snapshot, newPools(r.Applier, r.snapshot), true
		}
		to := work.taken(claim, *p)
		to.Lease, to.HTTP, to.Definition = whose.Lease, nil, ""
		to.Service, to.Port = declaredBackend(declared)
		moved.old, moved.new = append(moved.old, *p), append(moved.new, to)
	}
	if work == nil {
		return nil
	}
	now, err := r.ledger.Seize(ctx, claim, work.group, withEntries(moved.new, claim.Entries(work.group)))
	if errors.Is(err, ledger.ErrAgain) {
		return errChanged
	}
	if err != nil {
		return err
	}
	moved.claim, moved.taken, moved.done = now, true, true
	if err = work.disown(ctx, moved); err == nil {
		err = work.confirmMoves(ctx, []*move{moved})
	}
	if err == nil {
		for _, p := range moved.new {
			work.standsFor(claim.Name(), p.Key)
		}
		err = work.settle(ctx)
	}
	if now, unread := readClaim(ctx, r.ledger, claim.Name()); unread == nil {
		r.knows(claim.Name(), now)
	}
	return err
}

// movedFrom is true for an object of Akash's that this program wrote for a deployment group, and that Akash's
// provider has moved to another of the same owner.
func movedFrom(whose state.Ownership, g lease.Group) bool {
	return whose.HasLease && whose.Lease.Owner == g.Owner && slices.Contains(whose.MovedFrom, g)
}

// declaredBackend is where a ProviderHost or a ProviderLeasedIP leads.
func declaredBackend(o *unstructured.Unstructured) (service string, port uint16) {
	field := "external_port"
	if o.GetKind() == kinds.ProviderLeasedIP.Kind {
		field = "port"
	}
	service, _, _ = unstructured.NestedString(o.Object, "spec", "service_name")
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", field)
	return service, uint16(n)
}

// movedAway is who has a part that the run's group holds, where Akash's provider has moved it to another
// lease: until the claim follows nobody writes over what the provider wrote.
func (r *run) movedAway(h state.Hold, p state.Part) (by state.Holder, moved bool) {
	kind, name := kinds.ProviderHost, h.Thing
	switch protocol, port := p.ProtocolPort(); {
	case h.Kind.HasPorts() && port == 0, !h.Kind.HasPorts() && p.Key != state.RouteKey("/"):
		return by, false
	case h.Kind.HasPorts():
		kind, name = kinds.ProviderLeasedIP, lease.LeasedIPName(h.SharingKey, protocol, port)
	}
	o := r.snapshot.live[kind.Plural][r.opts.Config.ManifestNamespace+"/"+name]
	if o == nil {
		return by, false
	}
	whose := r.snapshot.ownership(o)
	if !whose.HasLease || !slices.Contains(whose.MovedFrom, r.group) {
		return by, false
	}
	by = state.Holder{Owner: whose.Lease.Owner, Lease: whose.Lease, Namespace: whose.Lease.Namespace()}
	by.Reason = fmt.Sprintf("Akash's provider has moved %s %s/%s there, and the claim has yet to follow: kubectl akash-net repair", kind.Singular, o.GetNamespace(), o.GetName())
	if by.Owner != r.group.Owner {
		by.Reason = fmt.Sprintf("Akash's provider has moved %s %s/%s there from this lease, to another owner: one of the two releases it", kind.Singular, o.GetNamespace(), o.GetName())
	}
	return by, true
}
