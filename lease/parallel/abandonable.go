package parallel

import "context"

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
