package parallel

import (
	"context"
	"iter"
	"runtime"
)

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
