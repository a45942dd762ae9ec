package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// waitUntil asks until it is done, for so long, and at least once. A dry run asks once: nothing comes of what is
// not written, and what it would wait for counts as come.
func (a *Command) waitUntil(ctx context.Context, long time.Duration, done wait.ConditionWithContextFunc) error {
	return a.waitEvery(ctx, 200*time.Millisecond, long, done)
}

// waitEvery is waitUntil with another time between two questions.
func (a *Command) waitEvery(ctx context.Context, every, long time.Duration, done wait.ConditionWithContextFunc) error {
	if long == 0 || !a.cluster.Waits() {
		ok, err := done(ctx)
		if err == nil && !ok && a.cluster.Waits() {
			return errTimedOut
		}
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, every, long, true, done)
	if wait.Interrupted(err) && ctx.Err() == nil {
		return errTimedOut
	}
	return err
}

// pause lets time pass, unless the context ends.
func (a *Command) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 || !a.cluster.Waits() {
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

// see looks at what came of what was written. Nothing comes of a dry run.
func (a *Command) see(look func() error) error {
	if !a.cluster.Waits() {
		return nil
	}
	return look()
}

// would is a text that is told only of what would be done.
func (a *Command) would(text string) string {
	if a.cluster.Waits() {
		return ""
	}
	return text
}

// passed is true for a time that is over, or that a dry run would wait for.
func (a *Command) passed(t time.Time) bool { return !t.After(a.cluster.Now()) || !a.cluster.Waits() }
