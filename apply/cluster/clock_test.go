package cluster

import (
	"testing"
	"time"
)

// The API server's time follows the answers: also after its clock was set, forward or back, and with several API servers whose clocks
// differ. What the client's own clock says does not matter.
func TestServerClock(t *testing.T) {
	type answer struct{ at, says time.Duration }
	minutes := func(from, to int, ahead time.Duration) (all []answer) {
		for s := 60 * from; s < 60*to; s += 10 {
			all = append(all, answer{time.Duration(s) * time.Second, time.Duration(s)*time.Second + ahead})
		}
		return all
	}
	server := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		answers []answer
		want    time.Duration
	}{
		"one answer":                             {minutes(0, 1, time.Hour)[:1], time.Hour},
		"an answer that is late":                 {append(minutes(0, 3, 0), answer{181 * time.Second, 120 * time.Second}), 0},
		"the clock was set forward":              {append(minutes(0, 3, 0), minutes(3, 4, time.Hour)...), time.Hour},
		"it was set back a moment ago":           {append(minutes(0, 3, time.Hour), minutes(3, 4, 0)...), time.Hour},
		"it was set back":                        {append(minutes(0, 3, time.Hour), minutes(3, 5, 0)...), 0},
		"it was set back, nobody asked for long": {append(minutes(0, 3, time.Hour), minutes(600, 601, 0)...), 0},
		"the other API server is behind": {func() (all []answer) {
			for i, a := range minutes(0, 10, 0) {
				if i%2 == 1 {
					a.says -= time.Hour
				}
				all = append(all, a)
			}
			return all
		}(), 0},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			var c clock
			var last time.Time
			for _, a := range tt.answers {
				last = began.Add(a.at)
				c.see(server.Add(a.says), last, last)
			}
			now := c.server.Add(last.Sub(c.seen))
			if off := now.Sub(server.Add(last.Sub(began) + tt.want)).Round(time.Second); off != 0 {
				t.Errorf("the time is off by %s", off)
			}
		})
	}
}

// The server wrote the date, in whole seconds, between request and answer: only that is known of the difference between the clocks.
func TestBehind(t *testing.T) {
	c := &Cluster{clock: &clock{}}
	if _, _, ok := c.Behind(); ok {
		t.Error("before an answer the difference is known")
	}
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	c.clock.see(now.Add(time.Minute), now.Add(-2*time.Second), now)
	least, most, ok := c.Behind()
	if !ok || least != time.Minute || most != time.Minute+3*time.Second {
		t.Errorf("this clock is %s to %s behind (%v), want 1m0s to 1m3s", least, most, ok)
	}
}
