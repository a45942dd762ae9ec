package documents

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
)

// poolsArgument is the argument of "render pools".
const poolsArgument = "pools"

// renderRangePools prints the pools of all configured ranges. With --ledger it keeps the addresses of existing pools in these,
// as apply does.
func renderRangePools(ctx context.Context, c *session.Session, f *renderFlags) error {
	if err := f.checkOutput(); err != nil {
		return err
	}
	in, cfg, err := f.open(ctx, c)
	if err != nil {
		return err
	}
	switch cfg.IP.Mode {
	case config.ModeDedicated:
		return usage.Errorf("with ip.mode dedicated each leased address has a pool of its own: name the leases with -f")
	case config.ModePool:
		return f.emitAll(&c.Console, func(func([]render.Object) error) error { return nil })
	}
	known, err := f.known(ctx, &c.Console, in, cfg)
	if err != nil {
		return err
	}
	return f.emitAll(&c.Console, func(emit func([]render.Object) error) error {
		ranges, err := render.RangePools(cfg)
		if known != nil {
			ranges, err = pools.RangesBeside(cfg, known)
		}
		if err != nil {
			return err
		}
		return emit(ranges)
	})
}

// known returns the addresses and pools in the ledger that --ledger names, or nil without the flag.
func (f *renderFlags) known(
	ctx context.Context, c *console.Console, from *cluster.Cluster, cfg *config.ProviderConfig,
) (*pools.Known, error) {
	switch {
	case f.ledger.IsCluster():
		return pools.KnownOf(ctx, from, cfg.LedgerNamespace, f.pools)
	case f.ledger.IsFiles():
		return readLedger(ctx, c, &f.ledger, cfg)
	}
	return nil, nil
}

// usePool records that an address needs its pool. Without a ledger the first address of a pool suffices. With one, existing
// pools may have only a part of a range, so every address counts.
func (r *renderer) usePool(a netip.Addr) {
	if name, ok := r.cfg.PoolFor(a); ok && (r.known != nil || !r.poolNames[name]) {
		r.poolNames[name] = true
		r.used[a] = true
	}
}

// pools returns the pools that the rendered leases need.
func (r *renderer) pools() ([]render.Object, error) {
	addresses := slices.SortedFunc(maps.Keys(r.used), netip.Addr.Compare)
	if r.known != nil {
		return pools.Beside(r.cfg, addresses, r.known)
	}
	return render.Pools(r.cfg, addresses)
}
