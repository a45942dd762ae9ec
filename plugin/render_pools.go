package plugin

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// poolsArgument is the argument of render that asks for MetalLB's pools.
const poolsArgument = "pools"

// renderRangePools prints the pools of all ranges of the configuration, whatever the leases.
func (c *cli) renderRangePools(ctx context.Context, f *renderFlags) error {
	if err := f.checkOutput(); err != nil {
		return err
	}
	if f.ledger != "" && f.ledger != "cluster" {
		return usage("--ledger FOLDER goes with -f: the pools of ip.ranges need no ledger")
	}
	var from *cluster.Cluster
	if f.ledger == "cluster" {
		var err error
		if from, err = c.connect(1); err != nil {
			return err
		}
	}
	cfg, err := c.configuration(ctx, from)
	if err != nil {
		return err
	}
	if cfg.IP.Mode == config.ModeDedicated {
		return usage("with ip.mode dedicated each leased address has a pool of its own: name the leases with -f")
	}
	return f.emitAll(c, func(emit func([]render.Object) error) error {
		pools, err := render.RangePools(cfg)
		if err != nil {
			return err
		}
		return emit(pools)
	})
}
