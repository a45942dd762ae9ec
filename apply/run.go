package apply

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// run is the work on one lease.
type run struct {
	*executor
	def *lease.Definition
	// kinds are those of the objects that are written, or that somebody else is to write.
	kinds []kinds.Kind
	// running is what is done with what the lease runs; nil where nothing is.
	running *running
	// inPlace is true once the lease's namespace is there.
	inPlace bool
	// nonce is the run's mark.
	nonce string
	// barred is why nothing is done for the lease.
	barred error
	// err is what has become of the work, once it is done; closed is true when nothing of it is left to undo.
	err          error
	done, closed bool
	pools        *pools
	// rivals are earlier leases of the same run, of other owners, that ask for the same, by claim.
	rivals map[string]state.Holder

	// holds are the claims that the run relies on, by name.
	holds map[string]*held
	// above are the wildcards as they were listed after the run had taken its hosts; nil where they are yet to be read.
	above *[]*state.Claim
	// unclear are the claims that the run has tried to take by a write whose answer was lost.
	unclear map[string]*held
	// before is what the group had written on claims that the run has changed.
	before map[string][]state.Part
	// patient runs ask again for what another run of the owner has just taken. Once that was in vain it
	// is withheld, as is all that such runs hold.
	patient bool
	// marking is true while the run marks claims that it has held before.
	marking bool
	// withheldHosts are hosts, or paths of hosts, as lease.HostPath calls them.
	withheldHosts map[string]bool
	withheldPorts map[string]bool
	// withheld are the notes of what is withheld.
	withheld  []waiting
	addresses render.Addresses

	// until is when the run has waited long enough; it is set when it first waits.
	until      time.Time
	successors successors
	// goesOn is the command that goes on where the old routes have to stay; empty for the same again.
	goesOn string
	// routesOnly runs wait for routes that replace others, and for nothing else that they bring.
	routesOnly bool
	// unjudged is true once the run has met a route of which no controller says whether it accepts it.
	unjudged bool
	// followed is true once the run has removed what other deployments served of its things. Routeless are
	// parts, by the name of their claim, of which a transfer knows no route: there the former holder's stay.
	followed  bool
	routeless map[string][]string
	// grants are the addresses that MetalLB chose, in pool mode.
	grants []string
	// stands are the parts, by the name of their claim and their key, for which the run has written objects.
	stands map[string]map[string]bool
	// kept are the things that the run was to give up and that Akash's provider declares.
	kept []KeptThing
	dns  recordWork
	// keeping is the work on the definition that the ledger keeps, asked what a transfer's lease asks for by it.
	keeping keeping
	asked   *asked
	// next is the application of a definition with which a transfer ends.
	next *run
	// desired are the objects of the lease, routed is the definition without what is withheld.
	desired []render.Object
	routed  *lease.Definition
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
	if err := r.fitsOperators(); err != nil {
		return err
	}
	if err := r.restsOnDefinition(ctx); err != nil {
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
		err = r.keep(ctx)
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
		err = r.awaitSuccessors(ctx, desired)
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
		if err := r.awaitOperators(ctx, desired); err != nil {
			return err
		}
		if err := r.awaitRoutes(ctx, desired); err != nil {
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
		if !r.unjudged {
			status = "live"
		}
	}
	if status == "applied" {
		r.tellUnknown()
	}
	r.event(Done, "lease", "", r.req.Lease.String(), status)
	return nil
}

// undo takes back what the run has made and claimed, when it cannot finish: the lease has what it
// had. An interrupted run that has made objects leaves them, with their claims: they may serve
// already, and the same command finishes the work.
func (r *run) undo(ctx context.Context, why error) error {
	if ctx.Err() != nil && len(r.made) > 0 {
		return why
	}
	return r.giveUp(ctx, why)
}

// forgetRound makes the work as if it had not begun: what it was decided by has become old before anything was written.
func (r *run) forgetRound() {
	req := r.req
	if r.def != nil {
		req, _ = state.NewRequest(r.def, r.opts.Config)
	}
	fresh := r.newRun(r.def, req)
	fresh.kinds, fresh.barred, fresh.told, fresh.running = r.kinds, r.barred, r.told, r.running
	*r = *fresh
	r.by = r
}

// unfinished is true for work that has changed something and could neither be ended nor undone.
func (r *run) unfinished() bool {
	took := slices.ContainsFunc(r.sortedHolds(), func(h *held) bool { return h.took })
	return r.err != nil && !r.closed && (r.changed || took || len(r.unclear) > 0)
}

func (r *run) hold(h *held) {
	known := r.holds[h.want.Name()]
	h.touch = h.touch || h.anew || known != nil && known.touch
	r.holds[h.want.Name()] = h
}
