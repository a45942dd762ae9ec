package live

import (
	"context"
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/rollout"
)

// pollInterval is the time between two checks of the rollout, each of which sends several LISTs.
const pollInterval = time.Second

// RolledOut waits until what the lease runs is rolled out, and reports changes of its progress.
func (l *Lease) RolledOut(ctx context.Context) error {
	if l.Work == nil {
		return nil
	}
	defer l.X.Waits("what the lease runs to be rolled out")()
	reported := map[string]string{}
	var now rollout.Rollout
	err := l.X.Command.WaitEvery(ctx, pollInterval, l.X.Left(), func(ctx context.Context) (bool, error) {
		seen, err := l.Work.Rollout(ctx)
		if err != nil { // after the deadline, too: keep the last complete result
			return false, err
		}
		now = seen
		for _, s := range now.Services {
			l.reportProgress(s, reported)
		}
		return now.State == rollout.Complete, nil
	})
	var waiting []string
	for _, s := range now.Services {
		if s.State != rollout.Complete {
			waiting = append(waiting, fmt.Sprintf("service %s of namespace %s: %s", s.Name, l.X.Request.Lease.Namespace(), s.Reason))
		}
	}
	if len(waiting) == 0 {
		waiting = []string{"what the lease runs, at which there was no time to look"}
	}
	return l.X.TimedOut(err, waiting...)
}

// reportProgress reports the progress of a service if it has changed. It does not report a service that ran from the
// start in a run that has changed nothing.
func (l *Lease) reportProgress(s rollout.Service, reported map[string]string) {
	text, action := s.Reason, report.Rolling
	if s.State == rollout.Complete {
		text, action = fmt.Sprintf("%d of %d", s.Ready, s.Total), report.Ready
	}
	before, known := reported[s.Name]
	if reported[s.Name] = text; known && before == text || !known && action == report.Ready && !l.X.Changed() {
		return
	}
	l.X.Event(action, l.Work.KindOf(s.Name).Singular, l.X.Request.Lease.Namespace(), s.Name, text)
}
