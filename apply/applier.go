package apply

import (
	"cmp"
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Applier drives the cluster to definitions.
type Applier struct{ *Command }

// New makes an applier for a cluster.
func New(c *cluster.Cluster, opts Options) *Applier { return &Applier{NewCommand(c, opts)} }

// Apply takes what each lease must hold, writes its objects, prunes, and waits. Leases are
// independent: each is all or nothing, and one that fails does not keep the others from going on.
// The error joins those of all leases.
func (a *Applier) Apply(ctx context.Context, defs []*lease.Definition) error {
	runs, err := a.prepare(defs)
	if err != nil {
		return err
	}
	errs := a.prove(ctx, runs)
	withAddresses := slices.ContainsFunc(runs, func(r *run) bool { return len(r.req.Endpoints) > 0 })
	for i, r := range runs {
		r.barred = errs[i]
	}
	return a.eachInTurn(ctx, runs, leaseWork{
		read: func(ctx context.Context, runs []*run) (*snapshot, error) {
			snapshot, err := readWith(ctx, a.Command, reading{
				addresses: withAddresses, further: kinds.RecordsOf(a.opts.Config), definitions: groupsOf(runs), holders: !a.opts.heal,
			})
			if err == nil && a.opts.heal {
				for _, r := range runs {
					r.barred = cmp.Or(r.barred, r.narrow(snapshot))
				}
			}
			return snapshot, err
		},
		claim: (*run).claim,
		do:    (*run).applyClaimed,
		end:   (*run).awaitLive,
	})
}

// prepare judges all definitions before anything is read or written.
func (a *Applier) prepare(defs []*lease.Definition) ([]*run, error) {
	var problems lease.Problems
	runs := make([]*run, 0, len(defs))
	seen := map[lease.Group]lease.Place{}
	for _, def := range defs {
		routes := def.Routes()
		req, ps := state.NewRequest(routes, a.opts.Config)
		problems = append(append(problems, ps...), recordProblems(routes, a.opts.Config)...)
		group := def.Lease.Group()
		if first, twice := seen[group]; twice {
			problems.Add(def.At, "deployment group %s is defined twice in one run (first in %s)", group, first)
		}
		seen[group] = def.At
		r := newRun(a.Command, routes, req)
		r.kinds = render.Kinds(routes, a.opts.Config)
		r.running = newRunning(r.objects, def)
		runs = append(runs, r)
	}
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return runs, nil
}
