package commands

import (
	"context"
	"hash/crc32"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// dies calls try with the number of a write at which a command is to be killed: with each, until try says that the command had fewer, in the
// long run; else with two of the first, drawn anew each day.
func dies(t *testing.T, most int32, try func(nth int32) (died bool)) {
	t.Helper()
	if harness.Long() {
		for nth := int32(1); try(nth); {
			nth++
		}
		return
	}
	drawn := drawnToday(t)
	for range 2 {
		try(1 + drawn.Int32N(most))
	}
}

// drawnToday draws what a test tries today of all that it could try.
func drawnToday(t *testing.T) *rand.Rand {
	t.Helper()
	day := uint64(time.Now().UTC().YearDay())
	t.Logf("drawn by the day of the year: %d", day)
	return rand.New(rand.NewPCG(day, uint64(crc32.ChecksumIEEE([]byte(t.Name())))))
}

// killAt runs the program and kills it when its nth write arrives, which is carried out. It is false
// where the run ended before.
func killAt(t *testing.T, r *recorder, nth int32, args []string) bool {
	t.Helper()
	reached, killed, carriedOut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var seen, done atomic.Int32
	var held string
	r.hold(func(ctx context.Context, q request) {
		if q.writes() && seen.Add(1) == nth {
			held = q.String()
			close(reached)
			await(t.Context(), t, killed)
		}
	}, func(_ context.Context, q request) {
		if q.writes() && seen.Load() >= nth && q.String() == held && done.Add(1) == 1 {
			close(carriedOut)
		}
	})
	cmd := r.command(t.Context(), args...)
	ended := make(chan struct{})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(ended)
		_ = cmd.Wait() // killed
	}()
	select {
	case <-reached:
	case <-ended:
		r.hold(nil, nil)
		return false
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	close(killed)
	arrives(t, held+" is carried out", carriedOut)
	r.hold(nil, nil)
	return true
}
