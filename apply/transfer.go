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
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KindThing is the kind of what was named and is not known to be a host or an address: nobody holds it.
const KindThing = "thing"

// Transfer hands hosts and addresses from the deployment groups of an owner to a lease of the same
// owner: all of them or none. The name is never free meanwhile: each claim changes hands in one
// forced write that is pinned to what was read. Things that nobody holds are left out, as Akash
// does; things of another owner are an error.
//
// What the lease is known to ask for is routed at once, with the options that it asked for: by the definition that
// the ledger keeps for it, or by the notes of what was withheld from it. A definition (def, may be nil) is applied instead
// where one is given. Otherwise the old routes stay until the lease's next apply.
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
	if r.err == nil && r.Changed() {
		r.err = r.Loses(ctx, over)
	}
	if r.err == nil && r.next != nil {
		r.err = r.next.awaitLive(ctx)
	}
	return r.Failed(r.err)
}

// errUnannounced says that a thing has a holder by now for which the command has not announced that it writes.
var errUnannounced = errors.New("another deployment of the owner has taken a part of it meanwhile; run it again")

// transferInTurn does a transfer in a turn of its own, for the deployment groups that hold the things by what was read. The
// run is nil where nothing was begun.
func (a *Applier) transferInTurn(ctx context.Context, to lease.ID, things []string, def *lease.Definition, snapshot *observed.Snapshot) (r *transfer, over error) {
	over = a.InTurn(ctx, a.transferring(to, things, snapshot), func(ctx context.Context) (unfinished []lease.Group, err error) {
		if snapshot == nil { // what was read before is old
			if snapshot, err = observed.ReadAll(ctx, a.Command, to.Group()); err != nil {
				r.err = err
				return nil, nil //nolint:nilerr // the run keeps its error
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

// transferring are the deployment groups that a transfer writes for.
func (a *Applier) transferring(to lease.ID, things []string, s *observed.Snapshot) []lease.Group {
	groups := []lease.Group{to.Group()}
	quiet := newTransfer(a.Command, to, s)
	quiet.Quiet = true
	for _, claim := range quiet.named(things) {
		if claim.Owner == to.Owner {
			groups = append(groups, claim.Writers()...)
		}
	}
	return groups
}

// transfer is the work on the lease that things are handed to.
type transfer struct {
	*run
	// asked is what the lease asks for by the definition that the ledger keeps for it.
	asked *asked
	// next is the application of a definition with which the transfer ends.
	next *run
}

func newTransfer(c *command.Command, to lease.ID, s *observed.Snapshot) *transfer {
	r := &transfer{run: newRun(c, nil, state.Request{Lease: to})}
	r.Snapshot, r.Pools = s, pools.New(c.Options.Config, s)
	return r
}

// transfer does the work.
func (r *transfer) do(ctx context.Context, things []string, def *lease.Definition) error {
	r.Successors.GoesOn = "the next apply of the lease"
	r.asked = r.askedFor()
	moves, err := r.moves(things)
	if err == nil {
		err = r.mayHave(moves, def)
	}
	if err == nil {
		err = r.fitsMoved(moves, def)
	}
	if err == nil {
		err = r.moveAll(ctx, moves)
	}
	if err == nil {
		moves = slices.DeleteFunc(moves, func(m *move) bool { return m.gone })
		err = r.confirmMoves(ctx, moves)
	}
	if err == nil {
		err = r.moveRoutes(ctx, moves, def)
	}
	return err
}

// move is a claim that changes hands.
type move struct {
	claim *state.Claim
	// from are the groups that hold parts which the new lease is to hold.
	from []lease.Group
	// old are the parts as they were, new as they are to be.
	old, new []state.Part
	// taken is true when the new lease has them by this run, done when it had not had them before, gone
	// when nobody has the claim any more.
	taken, done, gone bool
}

// keepMoved ends a transfer of which only the routes are missing: the claims are the new lease's, without a
// mark, and its next apply brings the routes.
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

func (r *transfer) movedAddresses(moves []*move) render.Addresses {
	out := render.Addresses{}
	for _, m := range moves {
		if m.claim.Kind == state.Address {
			endpoint := strings.TrimPrefix(m.claim.SharingKey, r.Group.Owner+"-ip-")
			out[endpoint] = append(out[endpoint], m.claim.Addr())
		}
	}
	return out
}
