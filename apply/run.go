package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/running"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// run is the work of a command on one lease.
type run struct {
	*records.Records
	// running handles the workloads of the lease; nil if the command does not.
	running *running.Running
	// barred is the reason why the command must not work on the lease.
	barred error
	// err is the error that has ended the run; done is true once it has ended.
	err  error
	done bool
	// counted is true once the run was counted as done.
	counted bool
	// before are the leases for which this one waits; ended is closed when the run has ended, or must start again.
	before []*run
	ended  chan struct{}
	// routesOnly is true for a run that waits only for routes that replace others.
	routesOnly bool
	// desired are the lease's objects, routed is the definition without withheld parts.
	desired []render.Object
	routed  *lease.Definition
}

// newRun returns a run for one lease; def is nil if nothing is rendered.
func newRun(c *command.Command, def *lease.Definition, req state.Request) *run {
	return &run{Records: records.New(c, def, req)}
}

// apply claims, writes and prunes.
func (r *run) apply(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if err := r.Reserve(ctx); err != nil {
		return err
	}
	return r.applyClaimed(ctx)
}

// prepare finds out, before the first write of the command, what the work on a lease rests on beside what was read for all.
func (r *run) prepare(ctx context.Context) error {
	if err := operators.Fits(r.Snapshot, r.Options.Config, r.Def, r.Request); err != nil {
		return err
	}
	if err := r.KeptDefinition.Rests(ctx); err != nil {
		return err
	}
	return r.running.Prepare(ctx)
}

// applyClaimed confirms the claims, writes the objects that rest on them, prunes, and settles the claims.
func (r *run) applyClaimed(ctx context.Context) error {
	if err := r.Confirm(ctx); err != nil {
		return err
	}
	granted := state.Granted(r.Def, r.WithheldHosts, r.WithheldPorts)
	desired, err := render.Lease(granted, r.Options.Config, r.Addresses)
	rest, moved := r.SplitMoved(desired)
	if err == nil {
		err = r.KeptDefinition.Keep(ctx)
	}
	if err == nil {
		err = r.running.TakeReserved(ctx)
	}
	if err == nil {
		err = r.running.Write(ctx, desired)
	}
	if err == nil {
		err = r.Write(ctx, rest)
	}
	if err == nil {
		err = r.Successors.Await(ctx, desired)
	}
	if err == nil && !r.Successors.Stay {
		err = r.WriteRecords(ctx, granted)
	}
	if err != nil {
		return r.Undo(ctx, err)
	}
	r.desired, r.routed = desired, granted
	return r.finish(ctx, moved)
}

// finish prunes, writes the objects that must wait for that, and settles the claims.
func (r *run) finish(ctx context.Context, moved []render.Object) error {
	var pruned error
	if r.Options.Prune {
		pruned = r.Prune(ctx, slices.Concat(r.desired, r.KeptRecords()))
	} else {
		pruned = r.RemoveStrays(ctx, r.desired)
	}
	if pruned == nil {
		pruned = r.MovePorts(ctx, moved)
	}
	if pruned == nil {
		pruned = r.running.Prune(ctx)
	}
	if pruned == nil {
		r.StandFor(r.desired)
	}
	if _, ok := errors.AsType[*report.OvertakenError](pruned); ok {
		return r.GiveUp(ctx, pruned)
	}
	if !command.CannotUndo(pruned) {
		pruned = errors.Join(pruned, r.Settle(ctx))
	}
	if pruned == nil {
		pruned = r.running.End(ctx)
	}
	return errors.Join(pruned, r.Successors.Err())
}

// awaitLive waits, after the claims are settled, until the written objects serve.
func (r *run) awaitLive(ctx context.Context) error {
	status := "applied"
	l := &live.Lease{X: r.Executor, Definition: r.Def, Desired: r.desired, Claims: r.HeldClaims(), Work: r.running.Work()}
	waits := r.Options.Wait > 0 && !r.Successors.Stay
	if waits {
		if err := l.Operators(ctx); err != nil {
			return err
		}
	}
	if waits && !r.routesOnly {
		known, err := l.Accepted(ctx)
		if err == nil {
			r.Granted, err = l.Granted(ctx)
		}
		if err == nil {
			err = r.AwaitValues(ctx, r.routed)
		}
		if l.Records = r.DNS.Objects; err == nil {
			err = l.Served(ctx)
		}
		if err == nil {
			err = l.RolledOut(ctx)
		}
		if err != nil {
			return err
		}
		if known {
			status = "live"
		}
	}
	if status == "applied" {
		r.TellUnknown()
	}
	r.Event(report.Done, "lease", "", r.Request.Lease.String(), status)
	return nil
}

// restart resets a run whose snapshot became stale before its first write.
func (r *run) restart() {
	req := r.Request
	if r.Def != nil {
		req, _ = state.NewRequest(r.Def, r.Options.Config)
	}
	fresh := records.New(r.Command, r.Def, req)
	fresh.Kinds = r.Kinds
	fresh.Remember(r.Executor)
	*r = run{Records: fresh, barred: r.barred, counted: r.counted, routesOnly: r.routesOnly, running: r.running.Anew(fresh.Objects)}
}

// count calls count once, however often the run is restarted.
func (r *run) count(count func()) {
	if !r.counted {
		count()
	}
	r.counted = true
}

// unfinished reports whether the run has failed and its changes are neither final nor undone.
func (r *run) unfinished() bool {
	took := slices.ContainsFunc(r.SortedHolds(), func(h *claims.Held) bool { return h.Took })
	return r.err != nil && !r.Closed && (r.Changed() || took || len(r.Unclear) > 0)
}
