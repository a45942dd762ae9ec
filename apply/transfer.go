package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KindThing is the kind in events about a name that nobody holds, so that it is unknown whether it is a host or an
// address.
const KindThing = "thing"

// Transfer moves hosts and addresses from the deployment groups of an owner to a lease of the same owner, all or none.
// The things are never free meanwhile: each claim changes hands by one forced write, pinned to what was read. Transfer
// skips things that nobody holds, as Akash does, and fails for things of another owner.
//
// It creates routes for what the lease is known to want, with the options that it asked for: by its stored definition,
// or by the notes of what was withheld from it. If def is not nil, Transfer applies it instead. Routes that nobody
// asked for stay until the lease's next apply.
func (a *Applier) Transfer(ctx context.Context, to lease.ID, things []string, def *lease.Definition) error {
	var r *transfer
	var over error
	for range executor.Looks {
		snapshot, err := observed.ReadAll(ctx, a.Command, to.Group())
		if err != nil {
			return err
		}
		if r, over = a.transferInTurn(ctx, to, things, def, snapshot); r == nil || !errors.Is(r.err, errUnannounced) || over != nil {
			break
		}
	}
	if r == nil {
		return over
	}
	switch {
	case r.err == nil && r.Changed():
		r.err = r.Loses(ctx, over)
	case r.err != nil && over != nil && !errors.Is(r.err, over):
		r.err = errors.Join(r.err, over)
	}
	switch {
	case r.err != nil:
	case r.next != nil:
		r.err = r.next.awaitLive(ctx)
	case a.Options.Wait > 0:
		r.err = r.awaitRouted(ctx)
	}
	return r.Failed(r.err)
}

// errUnannounced reports that a thing has a new holder whose deployment group the command has not announced.
var errUnannounced = errors.New("another deployment of the owner has taken a part of it meanwhile; run it again")

// transferInTurn transfers in a turn for the deployment groups that held the things when they were read. The transfer
// is nil if it did not begin.
func (a *Applier) transferInTurn(
	ctx context.Context, to lease.ID, things []string, def *lease.Definition, snapshot *observed.Snapshot,
) (r *transfer, over error) {
	over = a.InTurn(ctx, a.groupsToAnnounce(to, things, snapshot), func(ctx context.Context) (unfinished []lease.Group, err error) {
		if snapshot == nil { // the earlier snapshot is out of date
			if snapshot, err = observed.ReadAll(ctx, a.Command, to.Group()); err != nil {
				r.err = err
				return nil, nil //nolint:nilerr // the transfer keeps its error
			}
		}
		r = newTransfer(a.Command, to, snapshot)
		if r.err = r.do(ctx, things, def); errors.Is(r.err, turn.ErrAgain) {
			snapshot = nil
			return nil, r.err
		}
		if r.unfinished() {
			unfinished = r.Options.Turn.Groups()
		}
		return unfinished, nil
	})
	return r, over
}

// groupsToAnnounce returns the deployment groups that a transfer writes for.
func (a *Applier) groupsToAnnounce(to lease.ID, things []string, s *observed.Snapshot) []lease.Group {
	groups := []lease.Group{to.Group()}
	quiet := newTransfer(a.Command, to, s)
	quiet.Quiet = true
	for _, claim := range quiet.claimsOn(things) {
		if claim.Owner == to.Owner {
			groups = append(groups, claim.Writers()...)
		}
	}
	return groups
}

// transfer is the work on the lease that receives the things.
type transfer struct {
	*run
	// asked is what the lease asks for by its stored definition.
	asked *asked
	// moves are the claims on the things.
	moves []*move
	// next applies a definition at the end of the transfer.
	next *run
}

func newTransfer(c *command.Command, to lease.ID, s *observed.Snapshot) *transfer {
	r := &transfer{run: newRun(c, nil, state.Request{Lease: to})}
	r.Snapshot, r.Pools = s, pools.New(c.Options.Config, s)
	return r
}

// do transfers the things.
func (r *transfer) do(ctx context.Context, things []string, def *lease.Definition) error {
	r.Successors.GoesOn = "the next apply of the lease"
	r.asked = r.askedFor()
	if err := r.checkLease(def); err != nil {
		return err
	}
	moves, err := r.planMoves(things)
	if err == nil {
		err = r.checkAllowed(moves, def)
	}
	if err == nil {
		err = r.checkRoutes(moves, def)
	}
	if err == nil {
		err = r.moveAll(ctx, moves)
	}
	if err == nil {
		moves = slices.DeleteFunc(moves, func(m *move) bool { return m.gone })
		err = r.confirmMoves(ctx, moves)
	}
	if err == nil {
		r.moves = moves
		err = r.moveRoutes(ctx, moves, def)
	}
	if err != nil {
		return err
	}
	former := map[lease.Group]bool{}
	for _, m := range moves {
		for _, g := range m.from {
			former[g] = true
		}
	}
	for g := range former {
		if err := r.TouchFormer(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// move is a claim that changes hands.
type move struct {
	claim *state.Claim
	// from are the groups that hold parts which the new lease is to get.
	from []lease.Group
	// old are the parts before the transfer, new after it.
	old, new []state.Part
	// taken is true once the new lease holds the parts by this run, done if it did not hold them before, gone if nobody
	// holds the claim any more.
	taken, done, gone bool
}

// keepMoved ends a transfer that failed after the claims moved. The claims stay with the new lease, without the run's
// mark; its next apply creates the routes.
func (r *transfer) keepMoved(ctx context.Context, moves []*move, why error) error {
	if command.CannotUndo(why) {
		return why
	}
	r.holdMoved(moves)
	if err := r.Settle(context.WithoutCancel(ctx)); err != nil {
		return &report.HalfError{Lease: r.Request.Lease, Why: why, Left: err}
	}
	return why
}

// movedAddresses returns the addresses that are transferred, by endpoint.
func (r *transfer) movedAddresses(moves []*move) render.Addresses {
	out := render.Addresses{}
	for _, m := range moves {
		if m.claim.Kind == state.Address {
			out[endpointOf(m.claim)] = append(out[endpointOf(m.claim)], m.claim.Addr())
		}
	}
	return out
}

// endpointOf returns the name of the IP endpoint that a claim is of.
func endpointOf(c *state.Claim) string {
	return strings.TrimPrefix(c.SharingKey, c.Owner+"-ip-")
}
