package execute

import (
	"context"
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ask sends the request of a reply and adds its answer. An error that is neither stale nor unclear says that it was refused.
func (l *loop) ask(ctx context.Context, one *Lease, s *observed.Snapshot, out *reply) (err error) {
	c, r, answer := l.command, out.request, &out.answer
	switch r.Verb {
	case engine.ReadAll:
		out.read, err = l.work.Read(ctx)
	case engine.Announce:
		err = l.announce(ctx, answer)
	case engine.Undo:
		err = c.Options.Turn.Undo(ctx)
	case engine.Get:
		answer.Claim, err = observed.ReadClaim(ctx, c.Ledger, r.Name)
	case engine.List:
		err = c.Ledger.Until(ctx, func(ctx context.Context) (err error) {
			answer.Claims, err = c.Ledger.List(ctx, r.Kind)
			return err
		})
	case engine.Look:
		err = l.look(ctx, s, r.Owner, answer)
	case engine.Leave:
		err = reservation.LeaveAddresses(ctx, c.Cluster, c.Options.Config, reservation.Leasing{
			Lease: one.X.Request.Lease, Mark: state.Mark(c.Options.Turn.Nonce(), out.place), Ledger: c.Ledger, Waiting: func(what string) {
				c.Send(report.Event{Time: time.Now(), Action: report.Waiting, Lease: one.X.Request.Lease, Kind: "lease", Name: one.X.Group.String(), Message: "for " + what})
			},
		})
	case engine.RemovePool:
		err = pools.New(c.Options.Config, s).Remove(ctx, one.X, r.Address, report.Released)
	case engine.Put, engine.Delete:
		return l.write(ctx, r, answer)
	}
	return err
}

// announce waits for the command's turn.
func (l *loop) announce(ctx context.Context, answer *engine.Answer) error {
	own := l.command.Options.Turn
	err := own.Rests(own.Context(ctx), func(_ context.Context, claims []*state.Claim) (bool, error) {
		answer.Claims, answer.Owners = claims, own.Owners()
		return false, nil
	})
	if err == nil {
		err = own.Begin(ctx)
	}
	met := errors.Is(err, turn.ErrAgain)
	if err != nil && !met {
		return err
	}
	answer.Turn = engine.Turn{Nonce: own.Nonce(), Met: met, Closing: own.Closing(), Fenced: own.Fenced()}
	return nil
}

// look reads everything of an owner, and then whether the command still has its turn: what is written next rests on that
// reading.
func (l *loop) look(ctx context.Context, before *observed.Snapshot, owner string, answer *engine.Answer) error {
	now, err := observed.Look(ctx, l.command, before, owner)
	if err == nil {
		err = l.command.Options.Turn.Confirm(ctx)
	}
	if err == nil {
		answer.Claims, answer.Objects = now.List(), objects{now, l.command.Options.Config}
	}
	return err
}

// write writes or deletes a claim.
func (l *loop) write(ctx context.Context, r engine.Request, answer *engine.Answer) (err error) {
	book := l.command.Ledger
	switch {
	case r.Verb == engine.Delete:
		err = book.Delete(ctx, r.Claim)
	case len(r.Parts) == 0:
		answer.Claim, err = book.Withdraw(ctx, r.Claim, r.Group)
	default:
		answer.Claim, err = book.Put(ctx, r.Claim, r.Group, r.Parts)
	}
	if err != nil {
		answer.Unclear = cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || errors.Is(err, ledger.ErrAgain)
	}
	return err
}
