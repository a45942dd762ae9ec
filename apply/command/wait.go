package command

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/report"
)

// WaitUntil asks until it is done, for so long, and at least once. A dry run asks once: nothing comes of what is
// not written, and what it would wait for counts as come.
func (c *Command) WaitUntil(ctx context.Context, long time.Duration, done wait.ConditionWithContextFunc) error {
	return c.WaitEvery(ctx, 200*time.Millisecond, long, done)
}

// WaitEvery is WaitUntil with another time between two questions.
func (c *Command) WaitEvery(ctx context.Context, every, long time.Duration, done wait.ConditionWithContextFunc) error {
	if long == 0 || !c.Cluster.Waits() {
		ok, err := done(ctx)
		if err == nil && !ok && c.Cluster.Waits() {
			return report.ErrTimedOut
		}
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, every, long, true, done)
	if wait.Interrupted(err) && ctx.Err() == nil {
		return report.ErrTimedOut
	}
	return err
}

// Pause lets time pass, unless the context ends.
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

// See looks at what came of what was written. Nothing comes of a dry run.
func (c *Command) See(look func() error) error {
	if !c.Cluster.Waits() {
		return nil
	}
	return look()
}

// Would is a text that is told only of what would be done.
func (c *Command) Would(text string) string {
	if c.Cluster.Waits() {
		return ""
	}
	return text
}

// Passed is true for a time that is over, or that a dry run would wait for.
func (c *Command) Passed(t time.Time) bool { return !t.After(c.Cluster.Now()) || !c.Cluster.Waits() }
