package apply

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Explain says of hosts, addresses and leases (OWNER/DSEQ/GSEQ) how they stand, and why.
func (c *Cluster) Explain(ctx context.Context, cfg *config.ProviderConfig, things []string) ([]state.Explanation, error) {
	s, err := read(ctx, c, ledger{cluster: c, namespace: cfg.LedgerNamespace}, true)
	if err != nil {
		return nil, err
	}
	around := &state.Circumstances{
		Config: cfg, Claims: s.list(), Book: state.NewBook(cfg, s.contents(c.Now()), state.Holdings...), Uses: s.hostUses,
		Backends: map[string]bool{}, Now: c.Now(),
	}
	there, err := c.routers(ctx, s)
	if err != nil {
		return nil, err
	}
	around.Reports = s.reports(there)
	for name := range s.live[render.Service.Plural] {
		around.Backends[name] = true
	}
	var out []state.Explanation
	for _, thing := range things {
		if group, err := lease.ParseGroup(thing); err == nil {
			out = append(out, around.Lease(group))
		} else if a, err := netip.ParseAddr(thing); err == nil {
			out = append(out, around.IP(a))
		} else {
			out = append(out, around.Host(strings.ToLower(thing)))
		}
	}
	return out, nil
}

// contents are what the snapshot holds, as the book is computed from it.
func (s *snapshot) contents(now time.Time) state.Contents {
	in := state.Contents{Now: now, Claims: s.list()}
	for _, kind := range slices.Concat(claimLikeKinds, routeKinds, []render.Kind{render.IPAddressPool}) {
		for _, name := range sortedKeys(s.live[kind.Plural]) {
			in.Add(s.live[kind.Plural][name], "")
		}
	}
	return in
}
