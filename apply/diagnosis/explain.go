package diagnosis

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Explain explains the state of hosts, addresses, IP endpoints, leases and orders in a cluster that was read. Orders need no reading.
func Explain(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, s *observed.Snapshot, things []thing.Thing,
) ([]diagnose.Explanation, error) {
	orders, err := explainOrders(ctx, c, cfg, things)
	if err != nil {
		return nil, err
	}
	var around *diagnose.View
	if len(things) > len(orders) {
		if around, err = viewOf(ctx, c, cfg, s, things); err != nil {
			return nil, err
		}
	}
	var out []diagnose.Explanation
	for _, t := range things {
		if t.Kind == thing.Order {
			out = append(out, orders[t.Order])
			continue
		}
		out = append(out, around.Explain(t))
	}
	return out, nil
}

// viewOf returns what hosts, addresses, IP endpoints and leases are explained by.
func viewOf(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, s *observed.Snapshot, things []thing.Thing) (*diagnose.View, error) {
	contents := contents(s, c.Now())
	if err := book.ReadSlices(ctx, c, &contents.Backends); err != nil {
		return nil, err
	}
	around := &diagnose.View{
		Config: cfg, Claims: s.List(), Pools: contents.Pools,
		Book: view.NewBook(cfg, contents, view.SubjectHosts, view.SubjectIPs, view.SubjectEndpoints),
		Uses: s.HostUses, AddressUses: s.AddressUses, NodeUses: s.NodeUses, Now: c.Now(), Unserved: map[string]string{},
		Suspended: s.Suspended(), Unlike: unlikeDefined(s, things),
	}
	routers, err := reading.Routers(ctx, c, s)
	if err != nil {
		return nil, err
	}
	around.Reports = s.Reports(routers)
	for o := range s.Of(kinds.Ingress) {
		if why := state.NotServing(o, nil, ""); why != "" {
			around.Unserved[o.GetNamespace()+"/"+o.GetName()] = why
		}
	}
	a := commandOf(c, cfg)
	if around.Records, err = records.OwnRecords(ctx, s, a); err != nil {
		return nil, err
	}
	around.Unrecorded, err = records.Unrecorded(ctx, s, a, things)
	return around, err
}

// contents returns what the snapshot contributes to the book.
func contents(s *observed.Snapshot, now time.Time) view.Contents {
	in := view.Contents{Now: now, Claims: s.List(), NodeUses: s.NodeUses}
	in.Backends.ResetServices(true)
	for _, kind := range slices.Concat(kinds.ClaimLike, kinds.ServingKinds, []kinds.Kind{kinds.IPAddressPool}) {
		for o := range s.Of(kind) {
			in.Add(o, "")
		}
	}
	return in
}

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
