package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/running"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/state"
)

// leave ends what the lease runs and gives up its claims, by a snapshot that was read after the last object was deleted. It
// keeps what something still serves. again is true if a claim has changed since.
func (r *releasing) leave(ctx context.Context) (again bool, err error) {
	var declared []string
	for name := range r.runs { // the routes of what Akash's provider declares lead there
		for _, o := range r.Snapshot.DeclaredIn(name, r.Group) {
			declared = append(declared, o.Kind.Singular+" "+o.Live.GetNamespace()+"/"+o.Live.GetName())
		}
	}
	if len(declared) == 0 {
		if err := running.EndIn(ctx, r.Objects, r.runs, report.Deleted); err != nil {
			return false, err
		}
		if err := r.unreserveAll(ctx); err != nil {
			return false, err
		}
	}
	if r.holds() {
		err := r.LeaveClaims(ctx, r.Snapshot, r.chosenPart, report.Released)
		if errors.Is(err, ledger.ErrAgain) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	if len(r.KeptThings)+len(declared) > 0 {
		slices.Sort(declared)
		return false, &report.KeptError{Group: r.Group, Kept: r.KeptThings, Running: declared}
	}
	return false, nil
}

// holds reports whether the lease holds anything of what is released.
func (r *releasing) holds() bool {
	return slices.ContainsFunc(r.Snapshot.Held[r.Group], func(c *state.Claim) bool { return !c.Deleting && r.chosen.claim(c) })
}

// chosenPart reports whether a part is released.
func (r *releasing) chosenPart(c *state.Claim, _ state.Part) bool { return r.chosen.claim(c) }

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
		if r.beside, err = running.RunsUnmarked(ctx, r.Objects, runs); err != nil {
			return nil, err
		}
		maps.Copy(runs, r.beside.Ours)
	}
	if !r.Cluster.Waits() { // a dry run assumes that objects being deleted are gone
		maps.DeleteFunc(runs, func(_ string, live *workloads.Live) bool { return live.Goes(r.Group) })
	}
	return runs, nil
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

// reportLeft reports what a release leaves, or that it found nothing.
func (r *releasing) reportLeft() {
	switch theirs := r.Snapshot.WrittenByOthers(r.Group); {
	case theirs == 1 && r.chosen.all:
		r.Event(report.Left, "lease", "", r.Group.String(), "1 object that Akash's provider wrote stays")
	case theirs > 0 && r.chosen.all:
		r.Event(report.Left, "lease", "", r.Group.String(), fmt.Sprintf("%d objects that Akash's provider wrote stay", theirs))
	case !r.Changed() && r.chosen.all && (r.announced || r.Options.Turn.Succeeds(r.Group)):
		r.Event(report.Left, "lease", "", r.Group.String(), "holds nothing; a command that had crashed is over")
	case !r.Changed() && r.chosen.all:
		message, next := r.nothing()
		r.Send(report.Event{
			Time: time.Now(), Action: report.Left, Lease: r.Request.Lease, Kind: "lease", Name: r.Group.String(), Message: message, Next: next,
		})
	case !r.Changed():
		r.Event(report.Left, "lease", "", r.Group.String(), "holds nothing of that name")
	}
	granted := r.chosen.grantedTo(r.Group, r.Snapshot)
	for _, address := range slices.Sorted(maps.Keys(granted)) {
		r.Event(report.Left, string(state.Address), "", address, chosenFor(granted[address]))
	}
}

// nothing returns the message about a lease of which nothing was found, and what to do next if something may run.
func (r *releasing) nothing() (message, next string) {
	switch {
	case len(r.beside.Akashs) > 0:
		id := r.Snapshot.Tenants[r.beside.Akashs[0]]
		return HoldsNothing + "; Akash's provider runs it, and ends it when its bid is closed", fmt.Sprintf(
			"provider-services tx market bid close --owner %s --dseq %d --gseq %d --oseq %d --from %s", id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider)
	case r.beside.Unseen != nil:
		return HoldsNothing + "; whether it runs anything is not yours to see without the role " + r.beside.Unseen.Role, r.beside.Unseen.Bind
	}
	return HoldsNothing, ""
}
