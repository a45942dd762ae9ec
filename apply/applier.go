package apply

import (
	"cmp"
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/running"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Applier runs commands on a cluster.
type Applier struct{ *command.Command }

// New returns an Applier for a cluster.
func New(c *cluster.Cluster, opts command.Options) *Applier { return &Applier{command.New(c, opts)} }

// Apply claims what each lease must hold, writes its objects, prunes, and waits. Each lease is all or nothing, and the
// failure of one does not stop the others. The error joins those of all leases.
func (a *Applier) Apply(ctx context.Context, defs []*lease.Definition) error {
	runs, err := a.Prepare(defs)
	if err != nil {
		return err
	}
	errs := a.prove(ctx, requestsOf(runs))
	withAddresses := slices.ContainsFunc(runs, func(r *run) bool { return len(r.Request.Endpoints) > 0 })
	for i, r := range runs {
		r.barred = errs[i]
	}
	return a.eachInTurn(ctx, runs, leaseWork{
		read: func(ctx context.Context, runs []*run) (*observed.Snapshot, error) {
			snapshot, err := observed.ReadWithOperators(ctx, a.Command, observed.Reading{
				Addresses: withAddresses, Pools: a.Options.Config.IP.Mode == config.ModeDedicated,
				Further: kinds.RecordsOf(a.Options.Config), Definitions: groupsOf(runs), Holders: !a.Options.Heal,
			})
			if err == nil && a.Options.Heal {
				for _, r := range runs {
					r.barred = cmp.Or(r.barred, r.narrow(snapshot))
				}
			}
			return snapshot, err
		},
		prepare: (*run).prepare,
		claim:   (*run).Reserve,
		do:      (*run).applyClaimed,
		end:     (*run).awaitLive,
	})
}

// Invalid returns what is wrong with a definition by itself.
func Invalid(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, _, problems := requestOf(def, cfg)
	return problems
}

// requestOf returns what a definition routes, what it asks for, and what is wrong with that.
func requestOf(def *lease.Definition, cfg *config.ProviderConfig) (*lease.Definition, state.Request, lease.Problems) {
	routes := def.Routes()
	req, problems := state.NewRequest(routes, cfg)
	return routes, req, append(problems, records.RecordProblems(routes, cfg)...)
}

// Prepare validates all definitions before the command reads or writes anything, and returns a run for each.
func (a *Applier) Prepare(defs []*lease.Definition) ([]*run, error) {
	var problems lease.Problems
	runs := make([]*run, 0, len(defs))
	seen := map[lease.Group]lease.Place{}
	for _, def := range defs {
		routes, req, found := requestOf(def, a.Options.Config)
		problems = append(problems, found...)
		group := def.Lease.Group()
		if first, twice := seen[group]; twice {
			problems.Add(def.At, "deployment group %s is defined twice in one run (first in %s)", group, first)
		}
		seen[group] = def.At
		r := newRun(a.Command, routes, req)
		r.Kinds = render.Kinds(routes, a.Options.Config)
		r.running = running.New(r.Objects, def)
		runs = append(runs, r)
	}
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return runs, nil
}

// requestsOf returns what runs ask for.
func requestsOf(runs []*run) []state.Request {
	requests := make([]state.Request, len(runs))
	for i, r := range runs {
		requests[i] = r.Request
	}
	return requests
}
