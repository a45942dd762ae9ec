package repair

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Follow lets the claims follow that Akash's provider has moved from or to one of these deployment groups: what Repair without names does
// about that, and nothing else. What it could not do it has reported.
func Follow(ctx context.Context, a *apply.Applier, crashedAfter time.Duration, groups []lease.Group) error {
	r := &repair{command: a.Command, asked: Options{CrashedAfter: crashedAfter}}
	found, err := r.find(cluster.Early(ctx))
	if err != nil {
		return err
	}
	err = r.repairAll(ctx, slices.DeleteFunc(found, func(p state.Problem) bool {
		m, moves := p.Mend.(state.FollowMove)
		return !moves || !slices.Contains(groups, m.Parts.Group) && !slices.Contains(groups, leaseOf(p).Group())
	}))
	if _, told := errors.AsType[*Unmended](err); told {
		return nil
	}
	return err
}

// followDeclared transfers parts of a claim to the lease to which Akash's provider has moved them. It reads Akash's
// objects after the claim; the write is pinned to the claim as it was read.
func (r *repair) followDeclared(ctx context.Context, m state.FollowMove) error {
	claim := r.snapshot.Claim(m.Parts.Claim.Name()) // as it was read, or as an earlier repair has left it
	if claim == nil {
		return report.ErrChanged
	}
	var parts []apply.Handover
	for i, key := range m.Parts.Keys {
		p := claim.Part(key)
		if p == nil || p.Lease.Group() != m.Parts.Group {
			continue // an earlier repair has transferred it
		}
		declared, err := r.command.Cluster.Get(ctx, kinds.Of(m.Declared[i].Kind), m.Declared[i].Namespace, m.Declared[i].Name)
		if err != nil {
			return err
		}
		if declared == nil || string(declared.GetUID()) != m.Declared[i].UID {
			return report.ErrChanged
		}
		whose := r.snapshot.Ownership(declared)
		if !whose.Takes(*p) || len(parts) > 0 && whose.Lease != parts[0].To {
			return report.ErrChanged
		}
		service, port := declaredBackend(declared)
		parts = append(parts, apply.Handover{Part: *p, To: whose.Lease, Service: service, Port: port})
	}
	if len(parts) == 0 {
		return nil
	}
	written, err := apply.Follow(ctx, r.command, r.snapshot, claim, m.Parts.Group, parts)
	if !written {
		return err
	}
	if now, unread := observed.ReadClaim(ctx, r.command.Ledger, claim.Name()); unread == nil {
		r.snapshot = r.snapshot.WithClaim(claim.Name(), now)
	}
	return err
}

// declaredBackend returns the backend of a ProviderHost or a ProviderLeasedIP.
func declaredBackend(o *unstructured.Unstructured) (service string, port uint16) {
	field := "external_port"
	if o.GetKind() == kinds.ProviderLeasedIP.Kind {
		field = "port"
	}
	service, _, _ = unstructured.NestedString(o.Object, "spec", "service_name")
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", field)
	return service, uint16(n)
}
