package executor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A wait that is not over soon is told once: for what, since when and until when, which is the end of all waits of the run.
func TestWaitsAreTold(t *testing.T) {
	id := lease.ID{Owner: "akash1owner", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	for name, tt := range map[string]struct {
		wait, before, takes time.Duration
		want                []string
	}{
		"over soon":               {time.Minute, 0, time.Second, nil},
		"it lasts":                {time.Minute, 0, 10 * time.Second, []string{"akash1owner/7/1 waiting for a: 0s 1m0s"}},
		"others have waited":      {time.Minute, 50 * time.Second, 5 * time.Second, []string{"akash1owner/7/1 waiting for a: 50s 1m0s"}},
		"the time is over soon":   {time.Minute, 59 * time.Second, 5 * time.Second, nil},
		"it is not waited at all": {0, 0, 10 * time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var got []string
				x := New(&command.Command{Cluster: &cluster.Cluster{}, Options: command.Options{Wait: tt.wait, Report: func(e report.Event) {
					got = append(got, e.Name+" "+string(e.Action)+" "+e.Message+": "+e.Since.Sub(begin).String()+" "+e.Until.Sub(begin).String())
				}}}, state.Request{Lease: id})
				x.Left()
				time.Sleep(tt.before)
				since := time.Now()
				_ = x.Poll(t.Context(), "a", func(context.Context) (bool, error) { return time.Since(since) >= tt.takes, nil })
				time.Sleep(time.Hour)
				if diff := cmp.Diff(tt.want, got); diff != "" || x.Changed() {
					t.Errorf("told is (-want +got):\n%schanged: %v", diff, x.Changed())
				}
			})
		})
	}
}
