package running

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// lookEvery is how often a run looks how far what its lease runs is: each look is some LISTs.
const lookEvery = time.Second

// Await waits until what the lease runs is rolled out, and tells how far it is when that changes.
func (w *Running) Await(ctx context.Context) error {
	if w == nil {
		return nil
	}
	r := w
	told := map[string]string{}
	var now rollout.Rollout
	err := r.WaitEvery(ctx, lookEvery, r.Left(), func(ctx context.Context) (bool, error) {
		seen, err := w.work.Rollout(ctx)
		if err != nil { // also when the time is over amid a look: what was seen before counts
			return false, err
		}
		now = seen
		for _, s := range now.Services {
			w.tell(s, told)
		}
		return now.State == rollout.Complete, nil
	})
	if !errors.Is(err, report.ErrTimedOut) {
		return err
	}
	timeout := &report.TimeoutError{After: r.Options.Wait.Round(time.Millisecond)}
	for _, s := range now.Services {
		if s.State != rollout.Complete {
			timeout.Waiting = append(timeout.Waiting, fmt.Sprintf("service %s of namespace %s: %s", s.Name, r.Request.Lease.Namespace(), s.Reason))
		}
	}
	if len(timeout.Waiting) == 0 {
		timeout.Waiting = []string{"what the lease runs, at which there was no time to look"}
	}
	return timeout
}

// tell tells how far a service is, where that is news. One that ran when it was looked at first, in a run that has
// changed nothing, is none.
func (w *Running) tell(s rollout.Service, told map[string]string) {
	text, action := s.Reason, report.Rolling
	if s.State == rollout.Complete {
		text, action = fmt.Sprintf("%d of %d", s.Ready, s.Total), report.Ready
	}
	before, known := told[s.Name]
	if told[s.Name] = text; known && before == text || !known && action == report.Ready && !w.Changed {
		return
	}
	w.Event(action, w.work.KindOf(s.Name).Singular, w.Request.Lease.Namespace(), s.Name, text)
}
