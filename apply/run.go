package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// run is the work on one lease.
type run struct {
	*records
	// running is what is done with what the lease runs; nil where nothing is.
	running *running
	// barred is why nothing is done for the lease.
	barred error
	// err is what has become of the work, once it is done.
	err  error
	done bool
	// routesOnly runs wait for routes that replace others, and for nothing else that they bring.
	routesOnly bool
	// desired are the objects of the lease, routed is the definition without what is withheld.
	desired []render.Object
	routed  *lease.Definition
}

// newRun begins the work on one lease; def is nil where nothing is rendered.
func newRun(c *Command, def *lease.Definition, req state.Request) *run {
	return &run{records: newRecords(c, def, req)}
}

// apply does the whole work on a lease: it claims, writes and prunes.
func (r *run) apply(ctx context.Context) error {
	if err := r.claim(ctx); err != nil {
		return err
	}
	return r.applyClaimed(ctx)
}

// claim takes what the definition asks for.
func (r *run) claim(ctx context.Context) error {
	if err := r.operated.fits(); err != nil {
		return err
	}
	if err := r.definition.rests(ctx); err != nil {
		return err
	}
	if err := r.running.prepare(ctx); err != nil {
		return err
	}
	return r.reserve(ctx)
}

// applyClaimed confirms what was claimed, writes the objects of it, and prunes.
func (r *run) applyClaimed(ctx context.Context) error {
	if err := r.confirm(ctx); err != nil {
		return err
	}
	granted := state.Granted(r.def, r.withheldHosts, r.withheldPorts)
	desired, err := render.Lease(granted, r.opts.Config, r.addresses)
	rest, moved := r.splitMoved(desired)
	if err == nil {
		err = r.markWritten(ctx, desired)
	}
	if err == nil {
		err = r.definition.keep(ctx)
	}
	if err == nil {
		err = r.running.takeReserved(ctx)
	}
	if err == nil {
		err = r.running.write(ctx, desired)
	}
	if err == nil {
		err = r.write(ctx, rest)
	}
	if err == nil {
		err = r.successors.await(ctx, desired)
	}
	if err == nil && !r.successors.stay {
		err = r.writeRecords(ctx, granted)
	}
	if err != nil {
		return r.undo(ctx, err)
	}
	var pruned error
	if r.opts.Prune {
		pruned = r.prune(ctx, slices.Concat(desired, r.keptRecords()))
	} else {
		pruned = r.removeStrays(ctx, desired)
	}
	if pruned == nil {
		pruned = r.movePorts(ctx, moved)
	}
	if pruned == nil {
		pruned = r.running.prune(ctx)
	}
	if pruned == nil {
		r.standFor(desired)
	}
	r.desired, r.routed = desired, granted
	if _, ok := errors.AsType[*OvertakenError](pruned); ok {
		return r.giveUp(ctx, pruned)
	}
	if !cannotUndo(pruned) {
		pruned = errors.Join(pruned, r.settle(ctx))
	}
	if pruned == nil {
		pruned = r.running.end(ctx)
	}
	return errors.Join(pruned, r.successors.err())
}

// awaitLive waits, once the claims are the lease's for good, until what was written serves.
func (r *run) awaitLive(ctx context.Context) error {
	desired, granted, status := r.desired, r.routed, "applied"
	if r.opts.Wait > 0 && !r.successors.stay && !r.routesOnly {
		if err := r.operated.await(ctx, desired); err != nil {
			return err
		}
		if err := r.successors.awaitAccepted(ctx, desired); err != nil {
			return err
		}
		if err := r.awaitGrants(ctx, desired); err != nil {
			return err
		}
		if err := r.awaitRecords(ctx, granted); err != nil {
			return err
		}
		if err := r.running.await(ctx); err != nil {
			return err
		}
		if !r.successors.unjudged {
			status = "live"
		}
	}
	if status == "applied" {
		r.tellUnknown()
	}
	r.event(Done, "lease", "", r.req.Lease.String(), status)
	return nil
}

// forgetRound makes the work as if it had not begun: what it was decided by has become old before anything was written.
func (r *run) forgetRound() {
	req := r.req
	if r.def != nil {
		req, _ = state.NewRequest(r.def, r.opts.Config)
	}
	fresh := newRecords(r.Command, r.def, req)
	fresh.kinds, fresh.told = r.kinds, r.told
	*r = run{records: fresh, barred: r.barred, routesOnly: r.routesOnly, running: r.running.anew(fresh.objects)}
}

// unfinished is true for work that has changed something and could neither be ended nor undone.
func (r *run) unfinished() bool {
	took := slices.ContainsFunc(r.sortedHolds(), func(h *held) bool { return h.took })
	return r.err != nil && !r.closed && (r.changed || took || len(r.unclear) > 0)
}
