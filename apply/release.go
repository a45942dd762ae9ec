package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
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

// Release gives up what deployment groups hold, or only the named things. It deletes what serves traffic first and the
// claims last, so that no name is free while it is still served. It leaves what Akash's provider wrote. Releasing
// something that is not held does nothing and reports so.
//
// Other runs of the leases may write meanwhile. So Release gives up claims only as they were read before the objects
// that depend on them, and it repeats until it finds neither.
func (a *Applier) Release(ctx context.Context, groups []lease.Group, things ...string) error {
	how := observed.Reading{
		Addresses: a.Options.Config.IP.Mode == config.ModeDedicated,
		Further:   kinds.RecordsOf(a.Options.Config), ClaimsFirst: true,
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
		a.releaseAll(ctx, s, todo)
		if slices.ContainsFunc(todo, func(r *releasing) bool { return errors.Is(r.err, turn.ErrAgain) }) {
			return nil, turn.ErrAgain
		}
		todo = slices.DeleteFunc(slices.Clone(todo), func(r *releasing) bool { return !r.again })
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
}

// releaseAll releases what a snapshot shows of several leases.
func (a *Applier) releaseAll(ctx context.Context, s *observed.Snapshot, todo []*releasing) {
	pools := pools.New(a.Options.Config, s)
	work := parallel.New(a.Options.Concurrency)
	for _, r := range todo {
		r.Snapshot, r.Pools = s, pools
		work.Go(func() error {
			defer r.looked()
			r.again = false
			r.err = parallel.Guard(func() (err error) {
				r.again, err = r.release(ctx, r.chosen)
				return err
			})
			return nil
		})
	}
	_ = work.Wait() // each release keeps its error
}

// readAgain reads several leases again; only that lease if it is one and no other lease serves for it.
func (a *Applier) readAgain(
	ctx context.Context, before *observed.Snapshot, how observed.Reading, todo []*releasing,
) (*observed.Snapshot, error) {
	former := func(c *state.Claim) bool {
		return slices.ContainsFunc(c.PartsOf(todo[0].Group), func(p state.Part) bool { _, ok := p.Former(); return ok })
	}
	if len(todo) == 1 && !slices.ContainsFunc(before.Held[todo[0].Group], former) {
		return observed.Look(ctx, a.Command, before, todo[0].Group)
	}
	s, err := observed.Read(ctx, a.Cluster, a.Ledger, how)
	if err != nil {
		return nil, err
	}
	return s.WithOperators(before), nil
}

// release releases what the snapshot shows of the lease. again is true if there was anything: another run of the lease
// may have added to it.
func (r *releasing) release(ctx context.Context, chosen choice) (again bool, err error) {
	objects := slices.DeleteFunc(slices.Clone(r.Snapshot.Written[r.Group]), func(o observed.Owned) bool {
		return r.HasRemoved(o.Live) || !chosen.object(o, r.Snapshot)
	})
	if objects, err = r.KeepForOthers(ctx, objects); err != nil {
		return false, err
	}
	holds := slices.ContainsFunc(r.Snapshot.Held[r.Group], func(c *state.Claim) bool { return !c.Deleting && chosen.claim(c) })
	definition, err := r.storedDefinition(ctx)
	if err != nil {
		return false, err
	}
	runs, err := r.findWorkloads(ctx) // if the user may not delete workloads, nothing is released
	if err != nil {
		return false, err
	}
	if len(objects) == 0 && !holds && definition == nil && len(runs) == 0 {
		return false, r.unreserveAll(ctx)
	}
	chosenPart := func(c *state.Claim, _ state.Part) bool { return chosen.claim(c) }
	if r.tries++; r.tries > executor.Looks {
		return false, fmt.Errorf("lease %s is applied again and again while it is released; end that, and release it again", r.Group)
	}
	if _, err := r.KeptDefinition.Forget(ctx, definition); err != nil {
		return false, err
	}
	for _, o := range objects {
		if err := r.Remove(ctx, o, report.Deleted); err != nil {
			return false, err
		}
	}
	if err := r.RemoveFormer(ctx, chosenPart, report.Deleted); err != nil {
		return false, err
	}
	if err := r.AwaitGone(ctx); err != nil {
		return false, err
	}
	if err := r.Operated.AwaitUnserved(ctx, r.Snapshot, chosenPart); err != nil {
		return false, err
	}
	if err := running.EndIn(ctx, r.Objects, runs, report.Deleted); err != nil {
		return false, err
	}
	if err := r.unreserveAll(ctx); err != nil {
		return false, err
	}
	err = r.LeaveClaims(ctx, r.Snapshot, chosenPart, report.Released)
	if err != nil && !errors.Is(err, ledger.ErrAgain) {
		return false, err
	}
	if len(r.KeptThings) > 0 {
		return false, &report.KeptError{Group: r.Group, Kept: r.KeptThings}
	}
	return true, nil
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

// findWorkloads returns what the lease runs, by namespace, or nil if only some things are released.
func (r *releasing) findWorkloads(ctx context.Context) (map[string]*workloads.Live, error) {
	if !r.chosen.all {
		return nil, nil
	}
	runs, err := running.RunsBeside(ctx, r.Objects, "")
	if err != nil {
		return nil, err
	}
	if r.tries == 0 { // later only a concurrent apply can add workloads, and it writes a Manifest
		unmarked, err := running.RunsUnmarked(ctx, r.Objects, runs)
		if err != nil {
			return nil, err
		}
		maps.Copy(runs, unmarked)
	}
	if !r.Cluster.Waits() { // a dry run assumes that objects being deleted are gone
		maps.DeleteFunc(runs, func(_ string, live *workloads.Live) bool { return live.Goes(r.Group) })
	}
	return runs, nil
}

// reportLeft reports what a release leaves, or that it found nothing.
func (r *releasing) reportLeft() {
	switch theirs := r.Snapshot.WrittenByOthers(r.Group); {
	case theirs == 1 && r.chosen.all:
		r.Event(report.Left, "lease", "", r.Group.String(), "1 object that Akash's provider wrote stays")
	case theirs > 0 && r.chosen.all:
		r.Event(report.Left, "lease", "", r.Group.String(), fmt.Sprintf("%d objects that Akash's provider wrote stay", theirs))
	case !r.Changed() && r.chosen.all:
		r.Event(report.Left, "lease", "", r.Group.String(), "holds nothing")
	case !r.Changed():
		r.Event(report.Left, "lease", "", r.Group.String(), "holds nothing of that name")
	}
	granted := r.chosen.grantedTo(r.Group, r.Snapshot)
	for _, address := range slices.Sorted(maps.Keys(granted)) {
		r.Event(report.Left, string(state.Address), "", address, chosenFor(granted[address]))
	}
}

// chosenFor says of an address without a claim that it belongs to an IP endpoint.
func chosenFor(endpoint *state.Claim) string {
	return "MetalLB has chosen it for endpoint/" + endpoint.SharingKey + ", which is held as a whole: name that"
}

// unreserveAll gives up reservations that leases of the group have taken over. It is needed when no workloads are left
// that would trigger it: an apply may have ended between the two.
func (r *releasing) unreserveAll(ctx context.Context) error {
	if !r.chosen.all {
		return nil
	}
	leased, err := r.leased()
	for _, id := range leased[r.Group] {
		err = errors.Join(err, running.GiveUpReserved(ctx, r.Objects, id))
	}
	return err
}
