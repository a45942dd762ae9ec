package terminal

import (
	"testing"
	"testing/synctest"
	"time"
)

// The progress has the number of items done, their rate, and the time left.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		for _, step := range []struct {
			passed    time.Duration
			done, all int
			want      string
		}{
			{0, 0, 120, "0 of 120 leases"},
			{0, 1, 120, "1 of 120 leases"},
			{10 * time.Second, 40, 120, "40 of 120 leases, 4.0/s, 20s left"},
			{50 * time.Second, 30, 120, "30 of 120 leases, 30.0/min, 3m0s left"},
			{time.Hour, 0, 8, "0 of 8 leases"}, // the next step
			{4 * time.Second, 8, 8, "8 of 8 leases, 2.0/s, 0s left"},
		} {
			time.Sleep(step.passed) // of the bubble's clock
			if got := p.Text("leases", step.done, step.all); got != step.want {
				t.Errorf("%q, want %q", got, step.want)
			}
		}
	})
}
