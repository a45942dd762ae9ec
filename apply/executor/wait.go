package executor

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/report"
)

// Poll calls done until it returns true, at least once, and at most until the run's wait time is over. What says for what it waits.
func (x *Executor) Poll(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	defer x.Waits(what)()
	return x.Command.WaitUntil(ctx, x.Left(), done)
}

// Waits tells for what the run waits, since when and how long at most, unless over is called soon. Nothing is told after over has
// returned.
func (x *Executor) Waits(what string) (over func()) {
	left := x.Left()
	if left <= report.Patience || !x.Command.Cluster.Waits() {
		return func() {}
	}
	since := time.Now()
	var mu sync.Mutex
	isOver := false
	timer := time.AfterFunc(report.Patience, func() {
		mu.Lock()
		defer mu.Unlock()
		if !isOver {
			x.Send(report.Event{
				Action: report.Waiting, Kind: "lease", Name: x.Group.String(), Message: "for " + what, Since: since, Until: since.Add(left),
			})
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		isOver = true
	}
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
