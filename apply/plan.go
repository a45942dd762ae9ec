package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
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
	return preview(ctx, c, opts, nil, defs)
}

// preview is Preview by what was read of the cluster; nil to read it.
func preview(ctx context.Context, c *cluster.Cluster, opts command.Options, seen *observed.Snapshot, defs []*lease.Definition) (plan.Plan, error) {
	byLease := map[lease.ID][]plan.Change{}
	opts.DryRun, opts.Wait, opts.Progress, opts.Only = command.DryRunClient, 0, nil, nil //nolint:forbidigo // sets the option
	opts.Plan = func(id lease.ID, change plan.Change) {
		forget(&change)
		byLease[id] = append(byLease[id], change)
	}
	a := New(c, opts)
	a.seen = seen
	err := a.Apply(ctx, defs)
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

// CarryOut makes the changes of a plan and no others. defs are the definitions of the plan's leases, in their order.
// CarryOut returns a MovedError if the plan does not match the cluster any more. It checks that before the first write,
// and pins each write to the version on which the plan is based; if the API server rejects a write, CarryOut undoes
// those of the lease.
func (a *Applier) CarryOut(ctx context.Context, p plan.Plan, defs []*lease.Definition) error {
	if err := withoutPasswords(p); err != nil {
		return err
	}
	opts := a.Command.Options
	opts.Heal = p.Settings.Kept
	quiet := opts
	quiet.Report, quiet.Prove = nil, nil // the apply asks for proofs
	now, err := Preview(ctx, a.Command.Cluster, quiet, defs)
	refused, err := refusals(err)
	if err != nil {
		return keptMoved(err)
	}
	var moved []string
	for i, l := range p.Leases {
		moved = append(moved, l.Moved(now.Leases[i])...)
	}
	if len(moved) > 0 {
		return &report.MovedError{Moved: moved, Kept: opts.Heal}
	}
	opts.Only, opts.Refused = &now, refused // the same changes with current resource versions
	return keptMoved(New(a.Command.Cluster, opts).Apply(ctx, defs))
}

// withoutPasswords returns an error if the plan writes the data of a Secret: no plan has that data.
func withoutPasswords(p plan.Plan) error {
	for _, l := range p.Leases {
		for _, c := range l.Changes {
			data := func(f plan.Field) bool { return len(f.Path) > 0 && f.Path[0] == "data" }
			if c.Kind == kinds.Secret.Singular && (c.Action == plan.Create || c.Action == plan.Update && slices.ContainsFunc(c.Fields, data)) {
				return fmt.Errorf("the plan writes the password of %s, and no plan has passwords: "+
					"apply the definition itself, with apply -f FILE --workloads", c.ID())
			}
		}
	}
	return nil
}

// keptMoved replaces ErrChanged errors by a MovedError: the ledger keeps another definition of the lease than the plan
// has.
func keptMoved(err error) error {
	failed := report.Failures{err}
	_ = errors.As(err, &failed)
	failed = slices.Clone(failed)
	for i, e := range failed {
		if of, ok := errors.AsType[*report.LeaseError](e); ok && errors.Is(e, report.ErrChanged) {
			failed[i] = &report.MovedError{Moved: []string{"the definition that is kept for lease " + of.Lease.String()}, Kept: true}
		}
	}
	return report.Gather(failed)
}

// UnprovedError reports hosts that the tenant has not proved to control. Nothing was changed.
type UnprovedError struct {
	Lease lease.ID
	Hosts []UnprovedHost
}

// UnprovedHost is a host and why it is not proved.
type UnprovedHost struct {
	Host string
	At   lease.Place
	Err  error
}

func (e *UnprovedError) Error() string {
	var lines []string
	for _, h := range e.Hosts {
		lines = append(lines, "host "+h.Host+" is not proved: "+h.Err.Error())
	}
	return strings.Join(lines, "; ")
}

// ExitCode says how a command ends with the error.
func (*UnprovedError) ExitCode() int { return report.ExitInvalid }

// proof is the result for one host of one owner.
type proof struct {
	how string
	err error
}

// Prove checks all hosts that requests ask for before anything is claimed. It returns an error for each request, nil if all
// its hosts are proved or no proof is required.
func (a *Applier) Prove(ctx context.Context, requests []state.Request) []error {
	errs := make([]error, len(requests))
	if a.Command.Options.Prove == nil {
		return errs
	}
	type question struct{ owner, host string }
	proofs := map[question]*proof{} // one goroutine fills each entry; only this one adds entries
	group := parallel.New(a.Command.Options.Concurrency)
	for _, r := range requests {
		for _, w := range r.Hosts {
			q := question{r.Lease.Owner, w.Host}
			if proofs[q] != nil {
				continue
			}
			p := &proof{}
			proofs[q] = p
			if w.Own {
				p.how = "the provider gives it"
				continue
			}
			group.Go(func() error {
				p.err = parallel.Guard(func() (err error) {
					p.how, err = a.Command.Options.Prove(ctx, q.owner, q.host)
					return err
				})
				return nil
			})
		}
	}
	_ = group.Wait() // the errors are in proofs
	for i, r := range requests {
		if errs[i] = ctx.Err(); errs[i] == nil {
			errs[i] = a.reportProofs(r, func(host string) *proof { return proofs[question{r.Lease.Owner, host}] })
		}
	}
	return errs
}

// reportProofs reports for each host of a request whether it is proved.
func (a *Applier) reportProofs(r state.Request, of func(host string) *proof) error {
	unproved := &UnprovedError{Lease: r.Lease}
	for i, w := range r.Hosts {
		if i > 0 && w.Host == r.Hosts[i-1].Host {
			continue
		}
		p := of(w.Host)
		e := report.Event{Time: time.Now(), Action: report.Proved, Lease: r.Lease, Kind: string(w.Hold(r.Lease).Kind), Name: w.Host, Message: p.how}
		if p.err != nil {
			e.Action, e.Message = report.Unproved, p.err.Error()
			unproved.Hosts = append(unproved.Hosts, UnprovedHost{Host: w.Host, At: w.At, Err: p.err})
		}
		a.Command.Send(e)
	}
	if len(unproved.Hosts) > 0 {
		return unproved
	}
	return nil
}
