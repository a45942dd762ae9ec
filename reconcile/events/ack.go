package events

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/report"
)

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
