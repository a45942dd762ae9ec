package running

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// pollInterval is the time between two checks of the rollout, each of which sends several LISTs.
const pollInterval = time.Second

// Await waits until what the lease runs is rolled out, and reports changes of its progress.
func (w *Running) Await(ctx context.Context) error {
	if w == nil {
		return nil
	}
	reported := map[string]string{}
	var now rollout.Rollout
	err := w.WaitEvery(ctx, pollInterval, w.Left(), func(ctx context.Context) (bool, error) {
		seen, err := w.work.Rollout(ctx)
		if err != nil { // after the deadline, too: keep the last complete result
			return false, err
		}
		now = seen
		for _, s := range now.Services {
			w.reportProgress(s, reported)
		}
		return now.State == rollout.Complete, nil
	})
	if !errors.Is(err, report.ErrTimedOut) {
		return err
	}
	timeout := &report.TimeoutError{After: w.Options.Wait.Round(time.Millisecond)}
	for _, s := range now.Services {
		if s.State != rollout.Complete {
			waiting := fmt.Sprintf("service %s of namespace %s: %s", s.Name, w.Request.Lease.Namespace(), s.Reason)
			timeout.Waiting = append(timeout.Waiting, waiting)
		}
	}
	if len(timeout.Waiting) == 0 {
		timeout.Waiting = []string{"what the lease runs, at which there was no time to look"}
	}
	return timeout
}

// reportProgress reports the progress of a service if it has changed. It does not report a service that ran from the
// start in a run that has changed nothing.
func (w *Running) reportProgress(s rollout.Service, reported map[string]string) {
	text, action := s.Reason, report.Rolling
	if s.State == rollout.Complete {
		text, action = fmt.Sprintf("%d of %d", s.Ready, s.Total), report.Ready
	}
	before, known := reported[s.Name]
	if reported[s.Name] = text; known && before == text || !known && action == report.Ready && !w.Changed() {
		return
	}
	w.Event(action, w.work.KindOf(s.Name).Singular, w.Request.Lease.Namespace(), s.Name, text)
}
