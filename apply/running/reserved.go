package running

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/objects"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// readReserved reads which GPUs the lease's order has reserved. A reservation for the resource group that the
// definition asks for is taken over later (TakeReserved), so that a refused lease leaves it unchanged. A reservation
// for another group is replaced at once, because other GPUs are chosen. A reservation of another provider is ignored.
func (w *Running) readReserved(ctx context.Context) (err error) {
	w.chosen, w.takesOver = nil, false
	id := w.Request.Lease
	claim, err := reservation.New(w.Cluster, w.Options.Config).Reservation(ctx, id.Order())
	if err != nil || claim == nil || claim.Deleting || claim.Bound == nil || claim.Over(w.Cluster.Now()) {
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

// TakeReserved makes the order's reservation the lease's own, after the lease has its claims.
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

// takeOver makes the order's reservation the lease's: without end, with its provider, and for the resource group of the
// definition. It returns the chosen GPUs. The reservation stays even if the rest of the work fails.
func (w *Running) takeOver(ctx context.Context) (map[uint32]*lease.SchedulerParams, error) {
	binds := func(was *reserved.Claim, becomes *reserved.Part) error {
		return w.Change(func() plan.Change { return takeover(was, becomes) })
	}
	params, err := reservation.Claim(ctx, w.Cluster, w.Options.Config, w.Request.Lease, w.def.ResourceGroup(), binds)
	if err == nil {
		w.Event(report.Claimed, report.KindOrder, "", w.Request.Lease.Order().String(), "what it has reserved is the lease's")
	}
	return params, err
}

// takeover describes the change from an order's reservation to a lease's.
func takeover(was *reserved.Claim, becomes *reserved.Part) plan.Change {
	return plan.Change{
		Action: plan.Claim, Kind: report.KindOrder, Name: was.Order.String(), UID: was.UID, ResourceVersion: was.ResourceVersion,
		Before: reservedParts(was.Bound), After: reservedParts(becomes),
	}
}

// reservedParts returns what is reserved as a plan shows it: for which group, what, on which nodes, for which provider,
// and until when. It returns nil for nil.
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

// giveUpReserved gives up the lease's reservation, when nothing that the lease ran is left but its Manifest.
func giveUpReserved(ctx context.Context, r *objects.Objects, id lease.ID) error {
	found, err := reservation.Release(ctx, r.Cluster, r.Options.Config, id)
	if found {
		r.Event(report.Released, report.KindOrder, "", id.Order().String(), "")
	}
	return err
}
