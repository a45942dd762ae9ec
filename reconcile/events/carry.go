package events

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
)

// carrier carries out events by the commands that people run.
type carrier struct {
	cluster *cluster.Cluster
	options command.Options
	// allowEmpty is true if a manifest may define nothing.
	allowEmpty bool
	// defined returns the definition with which a source names a deployment group; nil if none does.
	defined func(lease.Group) *lease.Definition
}

// result is what was done for an event.
type result struct {
	// done is the last event of the command for the lease, left what it left of the lease as a whole.
	done, left *report.Event
	changed    bool
	err        error
}

// carry implements doer.
func (c *carrier) carry(ctx context.Context, events []*event) map[lease.Group]*result {
	results := map[lease.Group]*result{}
	for _, e := range events {
		results[e.Lease.Group()] = &result{err: parallel.Guard(func() error { return c.refuses(e) })}
	}
	events = slices.DeleteFunc(slices.Clone(events), func(e *event) bool { return results[e.Lease.Group()].err != nil })
	if len(events) == 0 {
		return results
	}
	opts := c.options
	opts.Owned, opts.Obeys = []string{"", reconcile.OfEvents, reconcile.OfManifests}, true
	opts.Source, opts.Report = reconcile.OfEvents, func(e report.Event) {
		if of := results[e.Lease.Group()]; of != nil {
			of.note(e)
		}
		if c.options.Report != nil {
			c.options.Report(e)
		}
	}
	err := parallel.Guard(func() error {
		switch events[0].Type {
		case input.ManifestReceived:
			var defs []*lease.Definition
			for _, e := range events {
				defs = append(defs, e.Definition)
			}
			return apply.New(c.cluster, opts).Apply(ctx, defs)
		case input.LeaseClosed:
			var groups []lease.Group
			for _, e := range events {
				groups, opts.Named = append(groups, e.Lease.Group()), append(opts.Named, e.Lease)
			}
			return apply.New(c.cluster, opts).Release(ctx, groups)
		default:
			return c.win(ctx, opts, events)
		}
	})
	for _, e := range events {
		of := results[e.Lease.Group()]
		if of.err = errorOf(err, e.Lease.Group()); e.Type == input.LeaseClosed {
			of.err = c.whereElse(ctx, opts, e, of.err)
		}
	}
	return results
}

// whereElse ends the release of a lease that has nothing but what its order may have reserved, because another lease of its deployment
// group has everything. So a LeaseClosed that comes late takes nothing from that one.
func (c *carrier) whereElse(ctx context.Context, opts command.Options, e *event, err error) error {
	elsewhere, is := errors.AsType[*report.ElsewhereError](err)
	if !is {
		return err
	}
	found, err := reservation.Release(ctx, command.New(c.cluster, opts).Cluster, opts.Config, e.Lease)
	if found {
		opts.Report(report.Event{Time: time.Now(), Action: report.Released, Lease: e.Lease, Kind: report.KindOrder, Name: e.Lease.Order().String()})
	}
	opts.Report(report.Event{
		Time: time.Now(), Action: report.Skipped, Lease: e.Lease, Kind: "lease", Name: e.Lease.Group().String(),
		Message: fmt.Sprintf("%s; lease %s of the same deployment is live", apply.HoldsNothing, elsewhere.Live),
	})
	return err
}

// refuses returns why an event is not to be carried out, nil if it is.
func (c *carrier) refuses(e *event) error {
	if e.Type == input.LeaseWon {
		return nil
	}
	if def := c.defined(e.Lease.Group()); def != nil {
		return &DefinedError{def}
	}
	if e.Type == input.LeaseClosed {
		return nil
	}
	if e.Definition.Empty() && !c.allowEmpty {
		return lease.Problems{{At: e.Definition.At, Message: "the manifest defines no host and no address; --allow-empty takes it all the same"}}
	}
	if problems := apply.Invalid(e.Definition, c.options.Config).Errors(); len(problems) > 0 {
		return problems
	}
	return nil
}

// win makes the reservations of orders those of the leases that have won them.
func (c *carrier) win(ctx context.Context, opts command.Options, events []*event) error {
	ids := make([]lease.ID, len(events))
	for i, e := range events {
		ids[i] = e.Lease
	}
	var failures []error
	for i, won := range reservation.Win(ctx, command.New(c.cluster, opts).Cluster, opts.Config, ids, opts.Concurrency) {
		e := report.Event{
			Time: time.Now(), Action: report.Claimed, Lease: ids[i], Kind: report.KindOrder, Name: ids[i].Order().String(), Message: "what it has reserved is the lease's",
		}
		switch {
		case won.Err != nil:
			e.Action, e.Err = report.Failed, won.Err
			failures = append(failures, &report.LeaseError{Lease: ids[i].Group(), Err: won.Err})
		case won.Outcome == reservation.Unchanged:
			e.Action = report.Unchanged
		}
		opts.Report(e)
	}
	return report.Gather(failures)
}

// note records what a command reports of the lease.
func (r *result) note(e report.Event) {
	switch e.Action {
	case report.Done:
		r.done = &e
	case report.Kept, report.Skipped:
		if e.Kind == "lease" {
			r.left = &e
		}
	case report.Claimed, report.Released, report.Deleting, report.Deleted:
		r.changed = true
	default: // Done says whether an apply has changed anything
	}
}

// ack returns the acknowledgement.
func (r *result) ack(e *event) Ack {
	if r.err != nil {
		return failed(e.number, e.Event, r.err)
	}
	done := report.Event{Time: time.Now(), Action: report.Done, Lease: e.Lease, Summary: &report.Summary{Changed: r.changed}}
	switch {
	case e.Type == input.LeaseWon:
		done.Message = "reserved"
	case r.done != nil:
		done.Message, done.Summary = r.done.Message, r.done.Summary
	case r.left != nil && !r.changed:
		done.Message, done.Next = r.left.Message, r.left.Next
	case r.left != nil:
		done.Message, done.Next = "released; "+r.left.Message, r.left.Next
	default:
		done.Message = "released"
	}
	return Ack{Line: e.number, Type: e.Type, Result: done}
}

// errorOf returns the error of a deployment group among those of a command: its own, and those that belong to no lease.
func errorOf(err error, g lease.Group) error {
	all, ok := err.(report.Failures) //nolint:errorlint // made by report.Gather
	if !ok {
		all = report.Failures{err}
	}
	var own []error
	for _, one := range all {
		if of, ok := one.(*report.LeaseError); !ok || of.Lease == g { //nolint:errorlint // what is around it stays
			own = append(own, one)
		}
	}
	if len(own) == 1 {
		return own[0]
	}
	return report.Gather(own)
}

// busy implements doer.
func (c *carrier) busy(ctx context.Context) map[lease.Group]bool {
	out := map[lease.Group]bool{}
	all, err := ledger.New(c.cluster, c.options.Config.LedgerNamespace).Announcements.List(ctx)
	if err != nil {
		return out // the command says so
	}
	for _, a := range all {
		if a.Phase == state.Fenced {
			continue
		}
		for _, g := range a.Groups {
			out[g] = true
		}
	}
	return out
}

// Ack says what has become of an event.
type Ack struct {
	// Line is the number of its line. Type is empty if it could not be read.
	Line int
	Type input.EventType
	// Result is report.Done, with what was done, or report.Failed, with the reason.
	Result report.Event
	// Retry is true if the event may be carried out when it is sent again, though nothing is mended.
	Retry bool
}

// failed returns the acknowledgement of an event that was not carried out.
func failed(number int, of input.Event, err error) Ack {
	if of, ok := errors.AsType[*report.LeaseError](err); ok {
		err = of.Err // the acknowledgement names the lease
	}
	if errors.Is(err, context.Canceled) {
		err = errStopped
	}
	return Ack{Line: number, Type: of.Type, Retry: mayRetry(err), Result: report.Event{
		Time: time.Now(), Action: report.Failed, Lease: of.Lease, Err: shortened(err),
	}}
}

// errStopped is the error of an event that was not finished when the program was stopped.
var errStopped = errors.New("this command was stopped before it had finished that; send it again")

// mayRetry reports whether an error is over by itself.
func mayRetry(err error) bool {
	for _, passing := range []error{errStopped, ledger.ErrAgain, report.ErrChanged} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return cluster.IsAway(err) || is[*report.TimeoutError](err) || is[*reservation.TimeoutError](err) || is[*reservation.PendingError](err) ||
		is[*report.DeletingError](err) || is[*report.OvertakenError](err) || is[*turn.LostError](err)
}

func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// maxProblems is how many problems of a manifest an acknowledgement has.
const maxProblems = 20

// shortened leaves out problems of a manifest that has many.
func shortened(err error) error {
	if problems, ok := errors.AsType[lease.Problems](err); ok && len(problems) > maxProblems {
		return fmt.Errorf("%w\n… and %d more", problems[:maxProblems], len(problems)-maxProblems)
	}
	return err
}

// DefinedError says that a source defines a lease: that decides what becomes of the lease.
type DefinedError struct{ Definition *lease.Definition }

func (e *DefinedError) Error() string {
	return fmt.Sprintf("lease %s is defined at %s, which decides what becomes of it; change that", e.Definition.Lease.Group(), e.Definition.At)
}
