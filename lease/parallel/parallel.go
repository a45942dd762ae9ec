// Package parallel runs functions concurrently. A panic in one of them becomes an error instead of ending the process,
// so the caller can still release what it has claimed.
package parallel

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"
)

// FaultError is a panic, which is a bug in the program whatever its input.
type FaultError struct {
	// Value is the value of the panic, Trace the stack.
	Value any
	Trace []byte
}

func (e *FaultError) Error() string { return fmt.Sprintf("a fault of the program: %v", e.Value) }

// Guard calls the function. It returns a panic as a *FaultError.
func Guard(work func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &FaultError{r, debug.Stack()}
		}
	}()
	return work()
}

// Group is an errgroup.Group that guards its functions.
type Group struct{ group *errgroup.Group }

// New returns a group that runs at most limit functions at a time; a limit below 1 means 1.
func New(limit int) *Group {
	g := &Group{&errgroup.Group{}}
	g.group.SetLimit(max(limit, 1))
	return g
}

// WithContext returns a group without a limit, and a context that is cancelled by the first error or panic, or when
// Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	group, ctx := errgroup.WithContext(ctx)
	return &Group{group}, ctx
}

// Go runs the function in a goroutine, once fewer functions than the limit are running.
func (g *Group) Go(work func() error) {
	g.group.Go(func() error { return Guard(work) })
}

// Wait waits for all functions and returns the first error. A panic is a *FaultError.
func (g *Group) Wait() error { return g.group.Wait() }

// Once returns a function that calls read once, and returns its result each time. Whoever calls it first lends it the context.
func Once[T any](read func(context.Context) (T, error)) func(context.Context) (T, error) {
	var first sync.Once
	var out T
	var err error
	done := make(chan struct{})
	return func(ctx context.Context) (T, error) {
		first.Do(func() {
			go func() {
				defer close(done)
				err = Guard(func() (err error) {
					out, err = read(ctx)
					return err
				})
			}()
		})
		<-done
		return out, err
	}
}

// Ordered calls work for the inputs of the source, several at a time, and passes the results to next, one by one in the
// order of the source. It returns the first error of the context, the source or next; a panic in work or in the source
// is a *FaultError. It does not wait for calls that are still running when the context ends.
func Ordered[T, R any](ctx context.Context, source iter.Seq2[T, error], work func(T) R, next func(R) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		value R
		err   error
	}
	queue := make(chan chan result, 2*runtime.GOMAXPROCS(0))
	enqueue := func(r chan result) bool {
		select {
		case queue <- r:
			return true
		case <-ctx.Done():
			return false
		}
	}
	go func() {
		defer close(queue)
		err := Guard(func() error {
			for input, err := range source {
				r := make(chan result, 1)
				if err != nil || !enqueue(r) {
					return err
				}
				go func() {
					var out result
					out.err = Guard(func() error { out.value = work(input); return nil })
					r <- out
				}()
			}
			return nil
		})
		if err != nil {
			r := make(chan result, 1)
			r <- result{err: err}
			enqueue(r)
		}
	}()
	for r := range queue {
		select {
		case out := <-r:
			if out.err != nil {
				return out.err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := next(out.value); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// Abandonable runs work that cannot be interrupted, such as parsing a large document. When the context ends, it returns
// the context's error and leaves the work running. It repeats a panic of the work in the caller's goroutine.
func Abandonable[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
		// fault is a panic of the work.
		fault error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.fault = Guard(func() error {
			o.value, o.err = work()
			return nil
		})
		done <- o
	}()
	select {
	case o := <-done:
		if o.fault != nil {
			panic(o.fault)
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
