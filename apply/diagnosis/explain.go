package diagnosis

import (
	"context"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Explain explains the state of hosts, addresses, IP endpoints, leases and orders.
func Explain(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, things []thing.Thing,
) ([]diagnose.Explanation, error) {
	orders, err := explainOrders(ctx, c, cfg, things)
	if err != nil {
		return nil, err
	}
	var around *diagnose.View
	if len(things) > len(orders) {
		if around, err = viewOf(ctx, c, cfg, things); err != nil {
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

// viewOf reads what explanations of hosts, addresses, IP endpoints and leases need.
func viewOf(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, things []thing.Thing) (*diagnose.View, error) {
	s, err := observed.Read(ctx, c, ledger.New(c, cfg.LedgerNamespace), observed.Reading{
		Addresses: true, Further: kinds.RecordsOf(cfg), Runs: true,
	})
	if err != nil {
		return nil, err
	}
	contents := contents(s, c.Now())
	if err := book.ReadSlices(ctx, c, &contents.Backends); err != nil {
		return nil, err
	}
	around := &diagnose.View{
		Config: cfg, Claims: s.List(), Pools: contents.Pools,
		Book: view.NewBook(cfg, contents, append(slices.Clone(view.Holdings), view.SubjectEndpoints)...),
		Uses: s.HostUses, AddressUses: s.AddressUses, NodeUses: s.NodeUses, Now: c.Now(), Unserved: map[string]string{},
	}
	if around.Suspended, err = ledger.New(c, cfg.LedgerNamespace).Suspended(ctx); err != nil {
		return nil, err
	}
	routers, err := observed.Routers(ctx, c, s)
	if err != nil {
		return nil, err
	}
	around.Reports = s.Reports(routers)
	for o := range s.Of(kinds.Ingress) {
		if why := state.NotServing(o, nil, ""); why != "" {
			around.Unserved[o.GetNamespace()+"/"+o.GetName()] = why
		}
	}
	if around.Unlike, err = unlikeDefined(ctx, s, ledger.New(c, cfg.LedgerNamespace), things); err != nil {
		return nil, err
	}
	a := command.New(c, command.Options{Config: cfg})
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
