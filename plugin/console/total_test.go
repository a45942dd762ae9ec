package console

import (
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/report"
)

// The total names what there is of each, and counts each lease once.
func TestTotal(t *testing.T) {
	stays, nothing := report.Rest{Stays: true}, report.Rest{}
	live := func(n int) (states []string) {
		for range n {
			states = append(states, "live")
		}
		return states
	}
	for want, tt := range map[string]struct {
		leases   int
		states   []string
		stop     stop
		readOnly bool
	}{
		"200 leases: 199 live, 1 failed, 6.1s":                       {200, live(199), stop{failed: 1}, false},
		"2 leases: 1 applied, 1 live, 6.1s":                          {2, []string{"live", "applied"}, stop{}, false},
		"6 leases: 2 live, 1 failed, 1 begun, 2 not processed, 6.1s": {6, live(2), stop{failed: 4, rests: []report.Rest{stays, nothing, nothing}}, false},
		"3 leases: 1 done, 2 not processed, 6.1s":                    {3, nil, stop{failed: 2, rests: []report.Rest{stays, nothing}}, true},
		"2 leases: 2 failed, 6.1s":                                   {2, live(1), stop{failed: 2}, false},
	} {
		if got := totalOf(tt.leases, tt.states, tt.stop, tt.readOnly, 6100*time.Millisecond).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
