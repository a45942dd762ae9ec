package executor

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/report"
)

// Poll calls done until it returns true, at least once, and at most until the run's wait time is over.
func (x *Executor) Poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return x.Command.WaitUntil(ctx, x.Left(), done)
}

// Left returns the rest of the run's wait time (--wait). All waits share it; it starts with the first one.
func (x *Executor) Left() time.Duration {
	if x.Command.Options.Wait == 0 {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.until.IsZero() {
		x.until = time.Now().Add(x.Command.Options.Wait)
	}
	return max(time.Until(x.until), 0)
}

// WaitAnew sets the rest of the run's wait time.
func (x *Executor) WaitAnew(rest time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = time.Now().Add(rest)
}

// TimedOut returns a TimeoutError with what the run waited for if a wait has timed out, err otherwise.
func (x *Executor) TimedOut(err error, waiting ...string) error {
	if errors.Is(err, report.ErrTimedOut) {
		return &report.TimeoutError{After: x.Command.Options.Wait.Round(time.Millisecond), Waiting: waiting}
	}
	return err
}
