package repair

import (
	"context"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// makePool creates the pool of an address: the configured one, or one for this address alone.
func (r *repair) makePool(ctx context.Context, f *state.Fix) error {
	cfg, out := *r.command.Options.Config, &engine.Write{}
	if f.Alone {
		cfg.IP.Mode, cfg.IP.Ranges = config.ModeDedicated, config.Ranges{}
	}
	objects, err := r.snapshot.PoolsFor(&cfg, render.Addresses{"": []netip.Addr{f.Address}})
	if err != nil {
		return err
	}
	for _, o := range objects {
		out.Objects = append(out.Objects, engine.Desired{Object: o, Manager: lease.FieldManager})
	}
	return r.write(ctx, lease.ID{}, out)
}

// narrow removes addresses from one of this program's pools, and deletes a pool without addresses. If asked, it first
// excludes the addresses in the configuration, so that the next apply does not ask for them again. The note says what
// people have to write if this program cannot.
func (r *repair) narrow(ctx context.Context, f *state.Fix) (note string, err error) {
	if f.Exclude {
		if note, err = install.Exclude(ctx, r.command.Cluster, r.asked.ConfigFile, f.Ranges); err != nil {
			return "", err
		}
	}
	pool, c := f.Object(), r.command.Cluster
	live, err := c.Get(ctx, kinds.IPAddressPool, pool.Namespace, pool.Name) // another repair may have written it
	if err != nil || live == nil || string(live.GetUID()) != pool.UID {
		return note, err
	}
	if f.Unused { // after the pool, to which the write is pinned
		_, now, err := reading.Addresses(ctx, c, r.command.Options.Config.LedgerNamespace)
		if err != nil {
			return "", err
		}
		for _, a := range now.InUse() {
			if slices.ContainsFunc(f.Ranges, func(x config.Range) bool { return x.Contains(a) }) {
				return "", report.ErrChanged
			}
		}
	}
	rest, changed := state.AddressesWithout(live, f.Ranges)
	switch {
	case !changed:
		return note, nil
	case len(rest) > 0:
		o := executor.Applied(live)
		if err := unstructured.SetNestedSlice(o.Object, rest, "spec", "addresses"); err != nil {
			return "", err
		}
		return note, asChanged(r.send(ctx, kinds.IPAddressPool, live, edit{manager: lease.FieldManager, applies: o}))
	}
	// The pool goes first: while its addresses may be used, it is announced.
	if err = c.DeletePinned(ctx, kinds.IPAddressPool, pool.Namespace, pool.Name, live.GetUID(), live.GetResourceVersion()); err != nil {
		return note, asChanged(c.Explain(err, "delete", kinds.IPAddressPool.Resource()))
	}
	x := executor.New(command.New(c, r.options()), state.Request{})
	x.Snapshot = r.snapshot
	return note, x.RemoveAdvertisements(ctx, pool.Namespace, pool.Name, report.Deleted)
}
