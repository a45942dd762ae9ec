package command

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/report"
)

// WaitUntil polls done until it is true or timeout has passed, and at least once. It returns report.ErrTimedOut. A dry
// run polls once and assumes success.
func (c *Command) WaitUntil(ctx context.Context, timeout time.Duration, done wait.ConditionWithContextFunc) error {
	return c.WaitEvery(ctx, 200*time.Millisecond, timeout, done)
}

// WaitEvery is WaitUntil with another interval.
func (c *Command) WaitEvery(ctx context.Context, interval, timeout time.Duration, done wait.ConditionWithContextFunc) error {
	if timeout == 0 || !c.Cluster.Waits() {
		ok, err := done(ctx)
		if err == nil && !ok && c.Cluster.Waits() {
			return report.ErrTimedOut
		}
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, interval, timeout, true, done)
	if wait.Interrupted(err) && ctx.Err() == nil {
		return report.ErrTimedOut
	}
	return err
}

// Pause sleeps for d, or until the context ends. A dry run does not sleep.
func (c *Command) Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 || !c.Cluster.Waits() {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// See runs a check of what the writes have led to. A dry run skips it.
func (c *Command) See(look func() error) error {
	if !c.Cluster.Waits() {
		return nil
	}
	return look()
}

// Would returns text in a dry run, and "" otherwise.
func (c *Command) Would(text string) string {
	if c.Cluster.Waits() {
		return ""
	}
	return text
}

// Passed reports whether a time has passed. A dry run assumes so.
func (c *Command) Passed(t time.Time) bool { return !t.After(c.Cluster.Now()) || !c.Cluster.Waits() }
