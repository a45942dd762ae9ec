package parallel_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// A panic in a goroutine is an error that carries its trace; it ends the others' context.
func TestPanicIsAnError(t *testing.T) {
	group, ctx := parallel.WithContext(t.Context())
	group.Go(func() error { panic("broken") })
	var ended atomic.Bool
	group.Go(func() error {
		<-ctx.Done()
		ended.Store(errors.Is(ctx.Err(), context.Canceled))
		return ctx.Err()
	})
	err := group.Wait()
	fault, ok := errors.AsType[*parallel.FaultError](err)
	if !ok || fault.Value != "broken" || !strings.Contains(string(fault.Trace), "parallel_test.go") || !ended.Load() {
		t.Errorf("got %v, ended %v", err, ended.Load())
	}
}

// Without a context the other functions go on, at most so many at a time.
func TestOthersGoOn(t *testing.T) {
	group := parallel.New(0)
	var running, done atomic.Int32
	for i := range 9 {
		group.Go(func() error {
			if running.Add(1) > 1 {
				t.Error("two at a time")
			}
			defer running.Add(-1)
			if i == 0 {
				panic(i)
			}
			done.Add(1)
			return nil
		})
	}
	if err := group.Wait(); err == nil || done.Load() != 8 {
		t.Errorf("%d done, error %v", done.Load(), err)
	}
}

// Work that is guarded has an error for its panic, whatever the panic was with.
func TestGuard(t *testing.T) {
	if err := parallel.Guard(func() error { return nil }); err != nil {
		t.Error(err)
	}
	if err := parallel.Guard(func() error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	err := parallel.Guard(func() error { panic(errors.New("broken")) })
	if err == nil || err.Error() != "a fault of the program: broken" {
		t.Errorf("a panic is %v", err)
	}
}

// At most so many run at a time, and as many do.
func TestLimit(t *testing.T) {
	const limit = 2
	group, full := parallel.New(limit), make(chan struct{})
	var running, most atomic.Int32
	for range 9 {
		group.Go(func() error {
			if n := running.Add(1); n == limit && most.Swap(n) < n {
				close(full)
			} else if n > limit {
				t.Errorf("%d at a time", n)
			}
			<-full
			running.Add(-1)
			return nil
		})
	}
	if err := group.Wait(); err != nil || most.Load() != limit {
		t.Errorf("%d at a time, error %v", most.Load(), err)
	}
}
