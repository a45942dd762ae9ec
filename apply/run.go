package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/running"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// run is the work on one lease.
type run struct {
	*records.Records
	// running is what is done with what the lease runs; nil where nothing is.
	running *running.Running
	// barred is why nothing is done for the lease.
	barred error
	// err is what has become of the work, once it is done.
	err  error
	done bool
	// before are the leases of the command that this one follows; ended is closed once the work is done for now.
	before []*run
	ended  chan struct{}
	// routesOnly runs wait for routes that replace others, and for nothing else that they bring.
	routesOnly bool
	// desired are the objects of the lease, routed is the definition without what is withheld.
	desired []render.Object
	routed  *lease.Definition
}

// newRun begins the work on one lease; def is nil where nothing is rendered.
func newRun(c *command.Command, def *lease.Definition, req state.Request) *run {
	return &run{Records: records.New(c, def, req)}
}

// apply does the whole work on a lease: it claims, writes and prunes.
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
	if err := r.Operated.Fits(); err != nil {
		return err
	}
	if err := r.KeptDefinition.Rests(ctx); err != nil {
		return err
	}
	return r.running.Prepare(ctx)
}

// applyClaimed confirms what was claimed, writes the objects of it, and prunes.
func (r *run) applyClaimed(ctx context.Context) error {
	if err := r.Confirm(ctx); err != nil {
		return err
	}
	granted := state.Granted(r.Def, r.WithheldHosts, r.WithheldPorts)
	desired, err := render.Lease(granted, r.Options.Config, r.Addresses)
	rest, moved := r.SplitMoved(desired)
	if err == nil {
		err = r.MarkWritten(ctx, desired)
	}
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
	var pruned error
	if r.Options.Prune {
		pruned = r.Prune(ctx, slices.Concat(desired, r.KeptRecords()))
	} else {
		pruned = r.RemoveStrays(ctx, desired)
	}
	if pruned == nil {
		pruned = r.MovePorts(ctx, moved)
	}
	if pruned == nil {
		pruned = r.running.Prune(ctx)
	}
	if pruned == nil {
		r.StandFor(desired)
	}
	r.desired, r.routed = desired, granted
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

// awaitLive waits, once the claims are the lease's for good, until what was written serves.
func (r *run) awaitLive(ctx context.Context) error {
	desired, granted, status := r.desired, r.routed, "applied"
	if r.Options.Wait > 0 && !r.Successors.Stay && !r.routesOnly {
		if err := r.Operated.Await(ctx, desired); err != nil {
			return err
		}
		if err := r.Successors.AwaitAccepted(ctx, desired); err != nil {
			return err
		}
		if err := r.AwaitGrants(ctx, desired); err != nil {
			return err
		}
		if err := r.AwaitRecords(ctx, granted); err != nil {
			return err
		}
		if err := r.running.Await(ctx); err != nil {
			return err
		}
		if !r.Successors.Unjudged {
			status = "live"
		}
	}
	if status == "applied" {
		r.TellUnknown()
	}
	r.Event(report.Done, "lease", "", r.Request.Lease.String(), status)
	return nil
}

// forgetRound makes the work as if it had not begun: what it was decided by has become old before anything was written.
func (r *run) forgetRound() {
	req := r.Request
	if r.Def != nil {
		req, _ = state.NewRequest(r.Def, r.Options.Config)
	}
	fresh := records.New(r.Command, r.Def, req)
	fresh.Kinds = r.Kinds
	fresh.Remember(r.Executor)
	*r = run{Records: fresh, barred: r.barred, routesOnly: r.routesOnly, running: r.running.Anew(fresh.Objects)}
}

// unfinished is true for work that has changed something and could neither be ended nor undone.
func (r *run) unfinished() bool {
	took := slices.ContainsFunc(r.SortedHolds(), func(h *claims.Held) bool { return h.Took })
	return r.err != nil && !r.Closed && (r.Changed() || took || len(r.Unclear) > 0)
}
