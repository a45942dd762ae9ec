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
	var world *diagnose.World
	if len(things) > len(orders) {
		if world, err = worldOf(ctx, c, cfg, s, things); err != nil {
			return nil, err
		}
	}
	var out []diagnose.Explanation
	for _, t := range things {
		if t.Kind == thing.Order {
			out = append(out, orders[t.Order])
			continue
		}
		out = append(out, world.Explain(t))
	}
	return out, nil
}

// worldOf returns what hosts, addresses, IP endpoints and leases are explained by.
func worldOf(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, s *observed.Snapshot, things []thing.Thing) (*diagnose.World, error) {
	facts := factsOf(s, cfg, c.Now(), slices.Concat(kinds.ClaimLike, kinds.ServingKinds, []kinds.Kind{kinds.IPAddressPool})...)
	facts.Contents.Backends.ResetServices(true)
	for o := range s.Of(kinds.Service) {
		facts.Contents.AddBackend(o)
	}
	a := commandOf(c, cfg)
	routers, err := reading.Routers(ctx, c, s)
	if err == nil {
		err = book.ReadSlices(ctx, c, &facts.Contents.Backends)
	}
	if err == nil {
		facts.Records, err = records.OwnRecords(ctx, s, a)
	}
	if err == nil {
		facts.Unrecorded, err = records.Unrecorded(ctx, s, a, things)
	}
	if err != nil {
		return nil, err
	}
	facts.Book = view.NewBook(cfg, facts.Contents, view.SubjectHosts, view.SubjectIPs, view.SubjectEndpoints)
	facts.Suspended, facts.Unlike, facts.Reports, facts.Unserved = s.Suspended(), unlikeDefined(s, things), s.Reports(routers), map[string]string{}
	for o := range s.Of(kinds.Ingress) {
		if why := state.NotServing(o, nil, ""); why != "" {
			facts.Unserved[o.GetNamespace()+"/"+o.GetName()] = why
		}
	}
	return diagnose.NewWorld(facts), nil
}

// factsOf returns what a snapshot says of what problems are found by and things explained, with objects of these kinds.
func factsOf(s *observed.Snapshot, cfg *config.ProviderConfig, now time.Time, of ...kinds.Kind) diagnose.Facts {
	in := view.Contents{Now: now, Claims: s.List(), NodeUses: s.NodeUses}
	for _, kind := range of {
		for o := range s.Of(kind) {
			in.AddObject(o)
		}
	}
	return diagnose.Facts{Config: cfg, Now: now, Contents: in, Uses: s.HostUses.Map(), AddressUses: s.Addresses.Services().Map()}
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
