package apply

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Reserve takes what each request asks for, all of it or nothing, and writes no routes. With
// pruning, a request is all that its deployment group is to hold: what else it holds is given up,
// unless it is still served.
func (a *Applier) Reserve(ctx context.Context, requests []state.Request) error {
	snapshot, err := read(ctx, a.cluster, a.ledger, true)
	if err != nil {
		return err
	}
	errs := make([]error, len(requests))
	var group errgroup.Group
	group.SetLimit(max(a.opts.Concurrency, 1))
	for i, req := range requests {
		group.Go(func() error {
			r := a.newRun(nil, req)
			r.snapshot, r.pools = snapshot, newPools(a, snapshot)
			if errs[i] = r.reserveOnly(ctx); errs[i] != nil {
				r.fail(errs[i])
			}
			return nil
		})
	}
	_ = group.Wait() // the runs' errors are in errs
	return failures(errs)
}

func (r *run) reserveOnly(ctx context.Context) error {
	if err := r.reserve(ctx); err != nil {
		return err
	}
	if r.opts.Prune {
		err := r.leaveClaims(ctx, func(c *state.Claim, p state.Part) bool {
			return !r.wants(c, p) && !r.serves(c)
		}, Released)
		if err != nil {
			return err
		}
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	if !r.opts.Check {
		r.event(Done, "lease", "", r.req.Lease.String(), "reserved")
	}
	return nil
}

// wants is true for a part that the run's request names, and for the note that it is withheld.
func (r *run) wants(c *state.Claim, p state.Part) bool {
	if p.For != "" {
		return slices.ContainsFunc(r.withheld, func(w waiting) bool { return w.note.Key == p.Key })
	}
	h := r.holds[c.Name()]
	return h != nil && slices.ContainsFunc(h.want.Parts, func(q state.Part) bool { return q.Key == p.Key })
}

// serves is true for a claim on which objects of the group rest: a route serves the host, or a
// Service uses the address.
func (r *run) serves(c *state.Claim) bool {
	of := func(u state.Use) bool { return u.Of(r.group) }
	if c.Kind == state.Address {
		return slices.ContainsFunc(r.snapshot.addresses.Known.Uses(c.Addr()), of)
	}
	return slices.ContainsFunc(r.snapshot.hostUses[c.Thing], of)
}

// newRun begins the work on one lease; def is nil where nothing is rendered.
func (a *Applier) newRun(def *lease.Definition, req state.Request) *run {
	return &run{
		Applier: a, def: def, req: req, group: req.Lease.Group(), nonce: nonce(), start: time.Now(),
		holds: map[string]*held{}, before: map[string][]state.Part{}, withheldHosts: map[string]bool{}, withheldPorts: map[string]bool{},
	}
}
