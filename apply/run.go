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
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// run is the work of a command on one lease.
type run struct {
	*records.Records
	// err is the error that has ended the run.
	err error
	// desired are the lease's objects.
	desired []render.Object
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
	return r.KeptDefinition.Rests(ctx)
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
	r.desired = desired
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
		r.StandFor(r.desired)
	}
	if _, ok := errors.AsType[*report.OvertakenError](pruned); ok {
		return r.GiveUp(ctx, pruned)
	}
	if !command.CannotUndo(pruned) {
		pruned = errors.Join(pruned, r.Settle(ctx))
	}
	return errors.Join(pruned, r.Successors.Err())
}

// awaitLive waits, after the claims are settled, until Akash's operators have created what was left to them.
func (r *run) awaitLive(ctx context.Context) error {
	if r.Options.Wait > 0 && !r.Successors.Stay {
		l := &live.Lease{X: r.Executor, Definition: r.Def, Desired: r.desired, Claims: r.HeldClaims()}
		if err := l.Operators(ctx); err != nil {
			return err
		}
	}
	r.TellUnknown()
	r.Event(report.Done, "lease", "", r.Request.Lease.String(), "applied")
	return nil
}

// unfinished reports whether the run has failed and its changes are neither final nor undone.
func (r *run) unfinished() bool {
	took := slices.ContainsFunc(r.SortedHolds(), func(h *claims.Held) bool { return h.Took })
	return r.err != nil && !r.Closed && (r.Changed() || took || len(r.Unclear) > 0)
}
