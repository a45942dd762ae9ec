package apply

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Plan returns what an apply of the definitions would change, lease by lease in their order; it writes nothing. The
// plan has the reason for each lease that an apply would refuse; the error has all other failures.
func Plan(ctx context.Context, c *cluster.Cluster, opts command.Options, defs []*lease.Definition) (plan.Plan, error) {
	opts.Report = nil
	p, err := Preview(ctx, c, opts, defs)
	_, err = refusals(err)
	return p, err
}

// Preview is Plan with the events of a dry run (Options.Report) and the error of the apply, which includes refused
// leases.
func Preview(ctx context.Context, c *cluster.Cluster, opts command.Options, defs []*lease.Definition) (plan.Plan, error) {
	byLease := map[lease.ID][]plan.Change{}
	opts.DryRun, opts.Wait, opts.Progress, opts.Only = command.DryRunClient, 0, nil, nil //nolint:forbidigo // sets the option
	opts.Plan = func(id lease.ID, change plan.Change) {
		forget(&change)
		byLease[id] = append(byLease[id], change)
	}
	err := New(c, opts).Apply(ctx, defs)
	refused, _ := refusals(err)
	leases := make([]plan.Lease, 0, len(defs))
	shared := map[string]bool{}
	for _, def := range defs {
		l := plan.Lease{Lease: def.Lease.String(), Changes: slices.DeleteFunc(byLease[def.Lease], func(c plan.Change) bool {
			if !command.Shared(c) || refused[def.Lease] != nil { // only the first lease that needs a shared object has it in the plan
				return false
			}
			again := shared[c.ID()]
			shared[c.ID()] = true
			return again
		})}
		if held := refused[def.Lease]; held != nil {
			l.Changes, l.Refused = nil, held.Error()
		}
		if l.Changes == nil {
			l.Changes = []plan.Change{}
		}
		slices.SortStableFunc(l.Changes, compareChanges)
		leases = append(leases, l)
	}
	return plan.New(plan.Settings{
		Target: opts.Config.Target, Operators: opts.Operators, Prune: opts.Prune, AssumeServing: opts.AssumeServing, Kept: opts.Heal,
		Workloads: opts.Workloads != nil, Adopt: opts.Adopt, RequireDNSProof: opts.Prove != nil,
	}, leases), err
}

// PlanKept is Plan for definitions that the ledger keeps: the changes that restore the objects of their leases. It does
// not claim again what a lease has given up or handed on, and keeps what the lease has reserved in addition.
func PlanKept(ctx context.Context, c *cluster.Cluster, opts command.Options, defs []*lease.Definition) (plan.Plan, error) {
	opts.Heal = true
	return Plan(ctx, c, opts, defs)
}

// refusals splits an error into the reasons why leases are refused, by lease, and the rest.
func refusals(err error) (refused map[lease.ID]error, rest error) {
	refused = map[lease.ID]error{}
	failed := report.Failures{err}
	_ = errors.As(err, &failed)
	var others []error
	for _, e := range failed {
		var held *report.HeldError
		var exhausted *report.ExhaustedError
		var taken *workloads.TakenError
		var reserved *reservation.AddressesError
		var unplaced *reservation.RefusedError
		switch {
		case errors.As(e, &held):
			refused[held.Lease] = held
		case errors.As(e, &exhausted):
			refused[exhausted.Lease] = exhausted
		case errors.As(e, &taken):
			refused[taken.Lease] = taken
		case errors.As(e, &reserved):
			refused[reserved.Lease] = reserved
		case errors.As(e, &unplaced):
			refused[unplaced.Lease] = unplaced
		case e != nil:
			others = append(others, e)
		}
	}
	return refused, report.Gather(others)
}

// compareChanges orders changes as an apply makes them, and those that it makes in parallel by name.
func compareChanges(a, b plan.Change) int {
	return cmp.Or(cmp.Compare(orderOf(a), orderOf(b)),
		cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// orderOf ranks a change by when an apply makes it: reservations, claims, pools and namespaces, workloads and objects
// by their stage, DNS records, deletions, releases.
func orderOf(c plan.Change) int {
	first, running := len(kinds.Stages), len(kinds.Running)
	switch c.Action {
	case plan.Claim, plan.Withhold, plan.Leave:
		if c.Kind == report.KindOrder {
			return -first - running - 3
		}
		return -first - running - 2
	case plan.Delete:
		return 1
	case plan.GiveUp:
		return 2
	case plan.Create, plan.Update:
	}
	has := func(stage []kinds.Kind) bool {
		return slices.ContainsFunc(stage, func(k kinds.Kind) bool { return k.Singular == c.Kind })
	}
	if i := slices.IndexFunc(kinds.Stages, has); i >= 0 {
		return i - first
	}
	if i := slices.IndexFunc(kinds.Running, has); i >= 0 {
		return i - running - first
	}
	if has(kinds.Records) {
		return 0
	}
	return -first - running - 1 // pools and the namespace
}
