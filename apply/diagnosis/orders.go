package diagnosis

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// explainOrders explains what the orders among things have reserved. It leaves out what their leases use if the user
// lacks the role to read that.
func explainOrders(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, things []thing.Thing,
) (map[lease.Order]diagnose.Explanation, error) {
	var orders []lease.Order
	for _, t := range things {
		if t.Kind == thing.Order {
			orders = append(orders, t.Order)
		}
	}
	if len(orders) == 0 {
		return nil, nil
	}
	look, err := ledger.New(c, cfg.LedgerNamespace).Look(ctx, true)
	if err != nil {
		return nil, err
	}
	unread := ""
	usage, err := reservation.Usage(ctx, c, look)
	if status := apierrors.APIStatus(nil); apierrors.IsForbidden(err) && errors.As(err, &status) {
		unread, err = status.Status().Message, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[lease.Order]diagnose.Explanation{}
	for _, o := range orders {
		facts := diagnose.OrderFacts{Order: o, LedgerNamespace: cfg.LedgerNamespace, Now: c.Now(), Unread: unread}
		facts.Claim, _ = reserved.Find(look.Reservations, o)
		if unread == "" {
			facts.Beyond = func(h inventory.Hold) inventory.Hold { return usage.Beyond(o.String(), h) }
		}
		out[o] = facts.Explain()
	}
	return out, nil
}
