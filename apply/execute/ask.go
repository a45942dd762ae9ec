package execute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// ask sends the request of a reply and adds its answer. An error that is neither stale nor unclear says that it was refused.
func (l *loop) ask(ctx context.Context, one *Lease, s *observed.Snapshot, out *reply) (err error) {
	c, r, answer := l.command, out.request, &out.answer
	object, definition := engine.On[engine.OfObject](r), engine.On[engine.OfDefinition](r)
	switch r.Verb {
	case engine.ReadAll:
		if answer.Snapshot, err = l.work.Read(ctx); err == nil {
			err = l.turn.Confirm(ctx) // what is written next rests on that
		}
	case engine.Announce:
		err = l.announce(ctx, answer)
	case engine.Undo:
		err = l.turn.Undo(ctx)
	case engine.Get:
		answer.Claim, err = reading.ReadClaim(ctx, c.Ledger, r.On.String())
	case engine.List:
		err = c.Ledger.Objects.Until(ctx, func(ctx context.Context) (err error) {
			answer.Claims, err = c.Ledger.List(ctx, state.Kind(r.On.String()))
			return err
		})
	case engine.Look:
		if answer.Snapshot, err = reading.Look(ctx, c, s, r.On.String()); err == nil {
			answer.Claims, err = answer.Snapshot.List(), l.turn.Confirm(ctx)
		}
	case engine.Leave:
		err = reservation.LeaveAddresses(ctx, c.Cluster, c.Options.Config, reservation.Leasing{
			Lease: one.X.Request.Lease, Mark: l.marks[out.place], Ledger: c.Ledger, Waiting: func(what string) {
				c.Send(report.Event{Time: time.Now(), Action: report.Waiting, Lease: one.X.Request.Lease, Kind: "lease", Name: one.X.Group.String(), Message: "for " + what})
			},
		})
	case engine.RemovePool:
		answer.Claim, err = l.removePool(ctx, one.X, engine.On[engine.OfPool](r))
		answer.Stale = err == nil && answer.Claim != nil
	case engine.Put, engine.Delete:
		return l.write(ctx, r.Verb, engine.On[engine.OfClaim](r), answer)
	case engine.GetObject:
		answer.Live, err = c.Cluster.Get(ctx, object.Object.Kind, object.Object.Live.GetNamespace(), object.Object.Live.GetName())
	case engine.DeleteObject:
		return l.delete(ctx, object, answer)
	case engine.Forget:
		d := definition.Definition
		if err = c.Ledger.Objects.Delete(ctx, d.Name, d.UID, d.ResourceVersion); err != nil && !errors.Is(err, ledger.ErrAgain) {
			err = fmt.Errorf("the definition of lease %s in the ledger: %w", definition.Group, err)
		}
		answer.Unclear = err != nil && cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || cluster.IsOvertaken(err) || errors.Is(err, ledger.ErrAgain)
	case engine.Withdraw:
		err = one.X.Withdraw(ctx, object.Object)
	case engine.Touch:
		err = l.touch(ctx, object.Object, l.marks[out.place])
	case engine.GetDefinition:
		answer.Definition, err = reading.ReadDefinition(ctx, c.Ledger, definition.Group)
	case engine.ReadRuns:
		err = l.readRuns(ctx, one, s, answer)
	case engine.Unreserve:
		err = l.unreserve(ctx, one, engine.On[lease.ID](r))
	case engine.GetLive:
		k := engine.On[engine.Key](r)
		answer.Live, err = c.Cluster.Get(ctx, k.Kind, k.Namespace, k.Name)
	case engine.PutObject:
		return l.put(ctx, one.X.Group, engine.On[engine.OfRendered](r), answer)
	case engine.CheckObject:
		return l.check(ctx, engine.On[engine.OfRendered](r), answer)
	case engine.CreateObject:
		answer.Made, err = l.create(ctx, engine.On[engine.OfRendered](r))
	case engine.Keep:
		answer.Definition, err = c.Ledger.Keep(ctx, definition.Definition, definition.Group, definition.Was)
		answer.Unclear = err != nil && cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || errors.Is(err, ledger.ErrAgain)
	case engine.ReadTargets:
		answer.Targets, err = records.Targets(ctx, one.X.Snapshot, c.Cluster, c.Options.Config, one.X.Request.Lease, engine.On[engine.OfHosts](r), l.work.Fresh)
	case engine.ReadRunning:
		answer.Running, err = l.readRunning(ctx, one, s, string(engine.On[engine.OfVersion](r)))
	case engine.TakeReserved:
		err = l.takeReserved(ctx, one, s, answer)
	case engine.Disown:
		err = one.Work.EndAdoption(ctx)
	case engine.ReadAnnouncements:
		answer.Announced, err = l.announced(ctx, engine.On[lease.Group](r))
	}
	return err
}

// removePool deletes the pool of one address, after its last holder is gone. Who takes the address meanwhile has the claim before it touches
// the pool and what announces it: then they stay, and the claim is returned.
func (l *loop) removePool(ctx context.Context, x *executor.Executor, pool engine.OfPool) (taken *state.Claim, err error) {
	action := pool.Action
	if action == report.Released { // claims are released, objects deleted
		action = report.Deleted
	}
	isFree := func(ctx context.Context) (bool, error) {
		c, err := reading.ReadClaim(ctx, l.command.Ledger, state.AddressName(pool.Address))
		if c != nil && len(c.Parts) > len(c.PartsOf(x.Group)) {
			taken = c
		}
		return taken == nil, err
	}
	namespace, name := l.command.Options.Config.IP.MetalLBNamespace, config.AddressPoolName(pool.Address)
	err = x.RemoveAdvertisements(ctx, namespace, name, action, isFree)
	if live := x.Snapshot.At(kinds.IPAddressPool, namespace, name); live != nil && err == nil {
		err = x.Remove(ctx, observed.Object{Kind: kinds.IPAddressPool, Live: live}, action, isFree)
	}
	return taken, err
}

// announced reports whether another command has announced itself for a deployment group.
func (l *loop) announced(ctx context.Context, g lease.Group) (bool, error) {
	all, err := l.command.Ledger.Announcements.List(ctx)
	return slices.ContainsFunc(all, func(a *state.Announcement) bool {
		return a.Nonce != l.turn.Nonce() && a.Names(g)
	}), err
}

// delete deletes an object as it was seen.
func (l *loop) delete(ctx context.Context, on engine.OfObject, answer *engine.Answer) error {
	c, kind, o := l.command.Cluster, on.Object.Kind, on.Object.Live
	if on.Again {
		ctx = cluster.Anew(ctx)
	}
	err := c.DeletePinned(ctx, kind, o.GetNamespace(), o.GetName(), o.GetUID(), o.GetResourceVersion())
	if err = c.Explain(err, "delete", kind.Resource()); err != nil {
		answer.Unclear = cluster.IsUnclear(err)
		answer.Stale = answer.Unclear || cluster.IsOvertaken(err)
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

// write writes or deletes a claim.
func (l *loop) write(ctx context.Context, verb engine.Verb, on engine.OfClaim, answer *engine.Answer) (err error) {
	book := l.command.Ledger
	switch {
	case verb == engine.Delete:
		err = book.Objects.Delete(ctx, on.Claim.Name(), on.Claim.UID, on.Claim.ResourceVersion)
	case len(on.Parts) == 0:
		answer.Claim, err = book.Withdraw(ctx, on.Claim, on.Group)
	case on.Force:
		answer.Claim, err = book.Seize(ctx, on.Claim, on.Group, on.Parts)
	default:
		answer.Claim, err = book.Put(ctx, on.Claim, on.Group, on.Parts)
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

// finish does what follows the commit for all leases, which wait side by side. ended is why the turn has not ended as it should, lost is why
// leases fail that were healed.
func (l *loop) finish(ctx context.Context, leases []*Lease, ended error, lost map[*Lease]error) {
	group := parallel.New(len(leases))
	for _, one := range leases {
		group.Go(func() error {
			concluded := one.concluded != nil
			if concluded {
				<-one.concluded
			}
			failed, isLost := lost[one]
			switch {
			case isLost:
				one.err = nil // what the lease failed by is in it, or was told
				l.done(ctx, one, failed)
			case ended != nil && one.err == nil && (one.Outcome == nil || one.X.Changed()):
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
