package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ask sends the request of a reply and adds its answer. An error that is neither stale nor unclear says that it was refused.
func (l *loop) ask(ctx context.Context, one *Lease, s *observed.Snapshot, out *reply) (err error) {
	c, r, answer := l.command, out.request, &out.answer
	switch r.Verb {
	case engine.ReadAll:
		if out.read, err = l.work.Read(ctx); err == nil {
			err = l.turn.Confirm(ctx)
		}
	case engine.Announce:
		err = l.announce(ctx, answer)
	case engine.Undo:
		err = l.turn.Undo(ctx)
	case engine.Get:
		answer.Claim, err = observed.ReadClaim(ctx, c.Ledger, r.Name)
	case engine.List:
		err = c.Ledger.Until(ctx, func(ctx context.Context) (err error) {
			answer.Claims, err = c.Ledger.List(ctx, r.Kind)
			return err
		})
	case engine.Look:
		out.read, err = l.look(ctx, s, r.Owner, answer)
	case engine.Leave:
		err = reservation.LeaveAddresses(ctx, c.Cluster, c.Options.Config, reservation.Leasing{
			Lease: one.X.Request.Lease, Mark: l.marks[out.place], Ledger: c.Ledger, Waiting: func(what string) {
				c.Send(report.Event{Time: time.Now(), Action: report.Waiting, Lease: one.X.Request.Lease, Kind: "lease", Name: one.X.Group.String(), Message: "for " + what})
			},
		})
	case engine.RemovePool:
		err = pools.New(c.Options.Config, one.X.Snapshot).Remove(ctx, one.X, r.Address, r.Action)
	case engine.Put, engine.Delete:
		return l.write(ctx, r, answer)
	case engine.GetObject:
		answer.Live, err = c.Cluster.Get(ctx, r.Object.Kind, r.Object.Live.GetNamespace(), r.Object.Live.GetName())
	case engine.DeleteObject, engine.Forget:
		return l.delete(ctx, r, answer)
	case engine.Withdraw:
		err = one.X.Withdraw(ctx, owned(r.Object))
	case engine.Touch:
		err = l.touch(ctx, r.Object, l.marks[out.place])
	case engine.GetDefinition:
		answer.Definition, err = observed.ReadDefinition(ctx, c.Ledger, r.Group)
	case engine.ReadRuns:
		err = l.readRuns(ctx, one, s, answer)
	case engine.Unreserve:
		err = l.unreserve(ctx, one, r.Lease)
	case engine.GetLive:
		answer.Live, err = c.Cluster.Get(ctx, r.Key.Kind, r.Key.Namespace, r.Key.Name)
	case engine.PutObject:
		return l.put(ctx, r, answer)
	case engine.CheckObject:
		return l.check(ctx, r, answer)
	case engine.CreateObject:
		answer.Made, err = l.create(ctx, r)
	case engine.Keep:
		answer.Definition, err = c.Ledger.Keep(ctx, r.Definition, r.Group, r.Was)
		answer.Unclear = err != nil && cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || errors.Is(err, ledger.ErrAgain)
	case engine.ReadTargets:
		answer.Targets, err = records.Targets(ctx, one.X.Snapshot, c.Cluster, c.Options.Config, one.X.Request.Lease, r.Hosts, l.work.Fresh)
	case engine.ReadRunning:
		answer.Running, err = l.readRunning(ctx, one, s, r.Version)
	case engine.TakeReserved:
		err = l.takeReserved(ctx, one, s, answer)
	case engine.Disown:
		err = one.Work.EndAdoption(ctx)
	case engine.ReadAnnouncements:
		answer.Announced, err = l.announced(ctx, r.Group)
	}
	return err
}

// announced reports whether another command has announced itself for a deployment group.
func (l *loop) announced(ctx context.Context, g lease.Group) (bool, error) {
	all, err := l.command.Ledger.Announcements(ctx)
	return slices.ContainsFunc(all, func(a *state.Announcement) bool {
		return a.Nonce != l.turn.Nonce() && a.Names(g)
	}), err
}

// delete deletes an object, or the kept definition, as it was seen.
func (l *loop) delete(ctx context.Context, r engine.Request, answer *engine.Answer) (err error) {
	c, o := l.command, r.Object.Live
	if r.Verb == engine.Forget {
		if err = c.Ledger.Forget(ctx, r.Definition); err != nil && !errors.Is(err, ledger.ErrAgain) {
			err = fmt.Errorf("the definition of lease %s in the ledger: %w", r.Group, err)
		}
	} else {
		if r.Again {
			ctx = cluster.Anew(ctx)
		}
		err = c.Cluster.DeletePinned(ctx, r.Object.Kind, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion())
		err = c.Cluster.Explain(err, "delete", r.Object.Kind.Resource())
	}
	if err != nil {
		answer.Unclear = cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || cluster.IsOvertaken(err) || errors.Is(err, ledger.ErrAgain)
	}
	return err
}

// announce waits for the command's turn.
func (l *loop) announce(ctx context.Context, answer *engine.Answer) error {
	came, err := l.turn.Begin(ctx)
	answer.Claims, answer.Owners = came.Claims, came.Owners
	answer.Turn = engine.Turn{Nonce: l.turn.Nonce(), Met: came.Met, Closing: came.Closing, Fenced: came.Fenced}
	return err
}

// look reads everything of an owner, and then whether the command still has its turn: what is written next rests on that
// reading.
func (l *loop) look(ctx context.Context, before *observed.Snapshot, owner string, answer *engine.Answer) (*observed.Snapshot, error) {
	now, err := observed.Look(ctx, l.command, before, owner)
	if err == nil {
		err = l.turn.Confirm(ctx)
	}
	if err == nil {
		answer.Claims, answer.Objects = now.List(), Objects(now, l.command.Options.Config)
	}
	return now, err
}

// write writes or deletes a claim.
func (l *loop) write(ctx context.Context, r engine.Request, answer *engine.Answer) (err error) {
	book := l.command.Ledger
	switch {
	case r.Verb == engine.Delete:
		err = book.Delete(ctx, r.Claim)
	case len(r.Parts) == 0:
		answer.Claim, err = book.Withdraw(ctx, r.Claim, r.Group)
	case r.Force:
		answer.Claim, err = book.Seize(ctx, r.Claim, r.Group, r.Parts)
	default:
		answer.Claim, err = book.Put(ctx, r.Claim, r.Group, r.Parts)
	}
	if err != nil {
		answer.Unclear = cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || errors.Is(err, ledger.ErrAgain)
	}
	return err
}

// conclude begins what follows the work on a lease, while the command works on others.
func (l *loop) conclude(ctx context.Context, one *Lease) {
	one.concluded = make(chan struct{})
	err := parallel.Guard(func() error { l.work.Ended(ctx, []*Lease{one}); return nil })
	go func() {
		defer close(one.concluded)
		l.done(ctx, one, err)
	}()
}

// finish does what follows the commit for all leases, which wait side by side. ended is why the turn has not ended as it should.
func (l *loop) finish(ctx context.Context, leases []*Lease, ended error) {
	group := parallel.New(len(leases))
	for _, one := range leases {
		group.Go(func() error {
			concluded := one.concluded != nil
			if concluded {
				<-one.concluded
			}
			fails := ended != nil && one.err == nil && (one.Outcome == nil || one.X.Changed())
			switch {
			case fails:
				l.done(ctx, one, ended)
			case !concluded:
				l.done(ctx, one, nil)
			}
			return nil
		})
	}
	_ = group.Wait() // the leases keep their errors
}

// done does what follows the work on a lease, unless it has failed.
func (l *loop) done(ctx context.Context, one *Lease, failed error) {
	one.err = cmp.Or(one.err, failed)
	if one.err == nil && l.work.Done != nil {
		one.err = parallel.Guard(func() error { return l.work.Done(ctx, one) })
	}
	one.err = one.X.Failed(l.command.Options.AsPlanned(one.X.Request.Lease, one.err))
}
