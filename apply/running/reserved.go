package running

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// readReserved says which cards the order of the lease has reserved. What is reserved for the group that the definition asks for
// is taken over later (TakeReserved), so that a lease which is refused leaves its hold as it is; for another group it is moved
// at once, for the cards are chosen anew. An order of another provider is left alone.
func (w *Running) readReserved(ctx context.Context) (err error) {
	w.chosen, w.takesOver = nil, false
	r := w
	id := r.Request.Lease
	claim, err := reservation.New(r.Cluster, r.Options.Config).Reservation(ctx, id.Order())
	if err != nil || claim == nil || claim.Deleting || claim.Bound == nil || claim.Over(r.Cluster.Now()) {
		return err
	}
	bound := claim.Bound
	switch same := bound.Asked == reserved.Asked(inventory.GroupOf(w.def.ResourceGroup())); {
	case bound.Provider != "" && bound.Provider != id.Provider:
	case !same:
		w.chosen, err = w.takeOver(ctx)
	default:
		w.chosen, w.takesOver = reservation.Params(bound), bound.Provider == "" || bound.Expires != ""
	}
	return err
}

// TakeReserved makes what the order has reserved the lease's own, once the lease has what it claims.
func (w *Running) TakeReserved(ctx context.Context) error {
	if w == nil || !w.takesOver {
		return nil
	}
	chosen, err := w.takeOver(ctx)
	if err == nil && !reflect.DeepEqual(chosen, w.chosen) {
		err = fmt.Errorf("what order %s had reserved was over, and other cards are reserved now: run it again", w.Request.Lease.Order())
	}
	return err
}

// takeOver makes what the order has reserved the lease's: without end, with its provider noted, and for the group that the
// definition asks for. It says which cards were chosen. What is reserved stays so if the rest of the work fails.
func (w *Running) takeOver(ctx context.Context) (map[uint32]*lease.SchedulerParams, error) {
	r := w
	params, err := reservation.Claim(ctx, r.Cluster, r.Options.Config, r.Request.Lease, w.def.ResourceGroup(), func(was *reserved.Claim, becomes *reserved.Part) error {
		return r.Change(func() plan.Change { return takeover(was, becomes) })
	})
	if err == nil {
		r.Event(report.Claimed, report.KindOrder, "", r.Request.Lease.Order().String(), "what it has reserved is the lease's")
	}
	return params, err
}

// takeover describes how what an order has reserved becomes a lease's.
func takeover(was *reserved.Claim, becomes *reserved.Part) plan.Change {
	return plan.Change{Action: plan.Claim, Kind: report.KindOrder, Name: was.Order.String(), UID: was.UID, ResourceVersion: was.ResourceVersion,
		Before: reservedParts(was.Bound), After: reservedParts(becomes)}
}

// reservedParts are what is reserved as a plan shows it: for which group, what, where, for whom, and until when;
// nil of nothing.
func reservedParts(p *reserved.Part) map[string]any {
	if p == nil {
		return nil
	}
	out := map[string]any{}
	for name, value := range map[string]string{
		"group": p.Asked, "holds": p.Hold.Words(p.Models()), "nodes": strings.Join(slices.Sorted(maps.Keys(p.Hold.Nodes)), " "),
		"provider": p.Provider, "expires": p.Expires,
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// GiveUpReserved gives up what the lease has reserved, when nothing of what it ran is left but its Manifest.
func GiveUpReserved(ctx context.Context, r *objects.Objects, id lease.ID) error {
	found, err := reservation.Release(ctx, r.Cluster, r.Options.Config, id)
	if found {
		r.Event(report.Released, report.KindOrder, "", id.Order().String(), "")
	}
	return err
}
