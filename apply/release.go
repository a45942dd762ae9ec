package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/running"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// HoldsNothing is the message of the event about a lease of which a release found nothing. If something may run all the same, the
// message goes on with that, and the event has what to do next.
const HoldsNothing = "holds nothing"

// Release gives up what deployment groups hold, or only the named things. It deletes what serves traffic first and the
// claims last, so that no name is free while it is still served. It leaves what Akash's provider wrote. Releasing
// something that is not held does nothing and reports so.
//
// Other runs of the leases may write meanwhile. So Release gives up claims only as they were read before the objects
// that depend on them, and it repeats until it finds neither.
func (a *Applier) Release(ctx context.Context, groups []lease.Group, things ...string) error {
	how := observed.Reading{
		Addresses: a.Options.Config.IP.Mode == config.ModeDedicated,
		Further:   kinds.RecordsOf(a.Options.Config),
	}
	snapshot, err := observed.ReadWithOperators(ctx, a.Command, how)
	if err != nil {
		return err
	}
	var errs []error
	count := a.Counter(workLeases, len(groups))
	for part := range slices.Chunk(groups, state.MaxAnnounced) {
		var releases []*releasing
		over := a.InTurn(ctx, part, func(ctx context.Context) (_ []lease.Group, err error) {
			if snapshot == nil { // the earlier snapshot is out of date
				if snapshot, err = observed.ReadWithOperators(ctx, a.Command, how); err != nil {
					return nil, err
				}
			}
			if releases, err = a.releaseInTurn(ctx, snapshot, how, part, newChoice(things), count); err != nil {
				snapshot = nil
			}
			return nil, err
		})
		if releases == nil {
			return report.Gather(append(errs, over))
		}
		if !slices.ContainsFunc(releases, func(r *releasing) bool { return r.err != nil || r.Changed() }) {
			errs = append(errs, over) // nothing was changed, so the error belongs to no lease
		}
		for _, r := range releases {
			if r.err == nil && r.Changed() {
				r.err = over
			}
			errs = append(errs, r.Failed(r.err))
		}
	}
	return report.Gather(errs)
}

// releaseInTurn releases several leases and repeats until it finds nothing more.
func (a *Applier) releaseInTurn(
	ctx context.Context, s *observed.Snapshot, how observed.Reading, groups []lease.Group, chosen choice, count func(),
) ([]*releasing, error) {
	leased := sync.OnceValues(func() (map[lease.Group][]lease.ID, error) {
		return observed.ReservedBy(ctx, a.Ledger, observed.OnlyOwner(groups))
	})
	releases := make([]*releasing, len(groups))
	for i, g := range groups {
		r := newRun(a.Command, nil, state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}})
		releases[i] = &releasing{run: r, chosen: chosen, looked: sync.OnceFunc(count), leased: leased}
	}
	for todo := releases; len(todo) > 0; {
		a.releaseAll(ctx, s, todo, (*releasing).clear)
		if !slices.ContainsFunc(todo, func(r *releasing) bool { return r.again }) { // nothing was deleted since the snapshot
			a.releaseAll(ctx, s, todo, (*releasing).leave)
			todo = slices.DeleteFunc(slices.Clone(todo), func(r *releasing) bool { return !r.again })
		}
		todo = slices.DeleteFunc(slices.Clone(todo), func(r *releasing) bool { return r.err != nil })
		if slices.ContainsFunc(releases, func(r *releasing) bool { return errors.Is(r.err, turn.ErrAgain) }) {
			return nil, turn.ErrAgain
		}
		if len(todo) == 0 {
			break
		}
		var err error
		if s, err = a.readAgain(ctx, s, how, todo); err == nil {
			err = a.Options.Turn.Confirm(ctx)
		}
		if err != nil {
			for _, r := range todo {
				r.err = cmp.Or(r.err, err)
			}
			break
		}
	}
	a.endNamespaces(ctx, releases)
	return releases, nil
}

// releasing is the release of one lease.
type releasing struct {
	*run
	chosen choice
	// looked is called once the lease has been looked at.
	looked func()
	// leased returns the leases that had taken over reservations of their orders when the turn began.
	leased func() (map[lease.Group][]lease.ID, error)
	// tries counts the attempts that found something to release.
	tries int
	// again is true if the lease has to be read again.
	again bool
	// runs are the workloads to delete once nothing of the lease serves, by namespace.
	runs map[string]*workloads.Live
	// beside is what runs without a Manifest of ours.
	beside running.Unmarked
	// announced is true if nothing was left of the lease but another command's announcement.
	announced bool
}

// releaseAll takes a step of the release of several leases by a snapshot. It passes over those that have failed.
func (a *Applier) releaseAll(
	ctx context.Context, s *observed.Snapshot, todo []*releasing, step func(*releasing, context.Context) (again bool, err error),
) {
	pools := pools.New(a.Options.Config, s)
	work := parallel.New(a.Options.Concurrency)
	for _, r := range todo {
		if r.err != nil {
			continue
		}
		r.Snapshot, r.Pools = s, pools
		work.Go(func() error {
			defer r.looked()
			r.again = false
			r.err = parallel.Guard(func() (err error) {
				r.again, err = step(r, ctx)
				return err
			})
			return nil
		})
	}
	_ = work.Wait() // each release keeps its error
}

// readAgain reads several leases again; only what their owner has if they have one.
func (a *Applier) readAgain(
	ctx context.Context, before *observed.Snapshot, how observed.Reading, todo []*releasing,
) (*observed.Snapshot, error) {
	if owner := observed.OnlyOwner(groupsOf(runsOf(todo))); owner != "" {
		return observed.Look(ctx, a.Command, before, owner)
	}
	s, err := observed.Read(ctx, a.Cluster, a.Ledger, how)
	if err != nil {
		return nil, err
	}
	return s.WithOperators(before), nil
}

// runsOf returns the runs of releases.
func runsOf(releases []*releasing) []*run {
	runs := make([]*run, len(releases))
	for i, r := range releases {
		runs[i] = r.run
	}
	return runs
}

// clear deletes what the snapshot shows of the lease and what serves. again is true if anything was deleted or waited for:
// then the snapshot is out of date.
func (r *releasing) clear(ctx context.Context) (again bool, err error) {
	if err := r.checkNamed(ctx); err != nil {
		return false, err
	}
	objects := slices.DeleteFunc(slices.Clone(r.Snapshot.Written[r.Group]), func(o observed.Owned) bool {
		return r.HasRemoved(o.Live) || !r.chosen.object(o, r.Snapshot)
	})
	if objects, err = r.KeepForOthers(ctx, objects); err != nil {
		return false, err
	}
	definition, err := r.storedDefinition(ctx)
	if err != nil {
		return false, err
	}
	found, err := r.findWorkloads(ctx) // if the user may not delete workloads, nothing is released
	if err != nil {
		return false, err
	}
	for name, live := range r.runs { // those without a Manifest are looked for once
		if found[name] == nil {
			found[name] = live
		}
	}
	r.runs = found
	if len(objects) == 0 && !r.holds() && definition == nil && len(r.runs) == 0 {
		return false, r.endCrashed(ctx)
	}
	if r.tries++; r.tries > executor.Looks {
		return false, fmt.Errorf("lease %s is applied again and again while it is released; end that, and release it again", r.Group)
	}
	if _, err := r.KeptDefinition.Forget(ctx, definition); err != nil {
		return false, err
	}
	removed := r.Removed()
	for _, o := range objects {
		if err := r.Remove(ctx, o, report.Deleted); err != nil {
			return false, err
		}
	}
	if err := r.RemoveFormer(ctx, r.chosenPart, report.Deleted); err != nil {
		return false, err
	}
	waited, err := r.AwaitUnserved(ctx, r.Snapshot, r.chosenPart)
	return waited || r.Removed() > removed, err
}

// checkNamed refuses to release an order or a lease that has nothing while another lease of its deployment group is live:
// the release would take what that one serves and runs.
func (r *releasing) checkNamed(ctx context.Context) error {
	named := slices.DeleteFunc(slices.Clone(r.Options.Named), func(id lease.ID) bool { return id.Group() != r.Group })
	if r.tries > 0 || len(named) == 0 {
		return nil
	}
	definition, err := observed.ReadDefinition(ctx, r.Ledger, r.Group) // a lease without routes has no objects but what it runs
	if err != nil {
		return err
	}
	all := r.Snapshot.LiveOf(r.Group, definition)
	for _, id := range named {
		if live, elsewhere := state.Elsewhere(id, all); elsewhere {
			return &report.ElsewhereError{Named: id, Live: live, Next: fmt.Sprintf(
				"\"release %s\" releases all of the deployment, also what serves", r.Group)}
		}
	}
	return nil
}

// endCrashed ends what is left of a lease that holds nothing: the announcement of a command that was killed before it could
// delete it. It waits for a command that is running.
func (r *releasing) endCrashed(ctx context.Context) error {
	if !r.chosen.all || r.Changed() || r.Options.Turn.Succeeds(r.Group) {
		return nil
	}
	runs, err := r.Ledger.Announcements(ctx)
	if err != nil {
		return err
	}
	r.announced = slices.ContainsFunc(runs, func(a *state.Announcement) bool {
		return a.Nonce != r.Options.Turn.Nonce() && a.Names(r.Group)
	})
	if !r.announced {
		return nil
	}
	return r.Options.Turn.Begin(ctx)
}

// storedDefinition returns the stored definition to delete, or nil if only some things are released.
func (r *releasing) storedDefinition(ctx context.Context) (*kept.Definition, error) {
	if !r.chosen.all {
		return nil, nil //nolint:nilnil // the lease goes on
	}
	d, err := observed.ReadDefinition(ctx, r.Ledger, r.Group)
	if d != nil && d.Deleting {
		return nil, nil //nolint:nilnil // somebody else has deleted it
	}
	return d, err
}

// chosenFor says of an address without a claim that it belongs to an IP endpoint.
func chosenFor(endpoint *state.Claim) string {
	return "MetalLB has chosen it for endpoint/" + endpoint.SharingKey + ", which is held as a whole: name that"
}
