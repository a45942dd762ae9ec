package input

import (
	"context"
	"iter"
	"runtime"

	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// batchSize is how much text is parsed at a time: enough to outweigh the handing over.
const batchSize = 32 << 10

// readError is an error of the reader.
type readError struct{ error }

// batches gathers texts until they are worth handing over.
func batches(texts iter.Seq2[document.Text, error]) iter.Seq2[[]document.Text, error] {
	return func(yield func([]document.Text, error) bool) {
		var batch []document.Text
		size := 0
		for text, err := range texts {
			if err != nil {
				if len(batch) == 0 || yield(batch, nil) {
					yield(nil, err)
				}
				return
			}
			batch = append(batch, text)
			if size += text.Size(); size >= batchSize {
				if !yield(batch, nil) {
					return
				}
				batch, size = nil, 0
			}
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// task is one input and its result, or the panic of the work on it.
type task[T, R any] struct {
	input  T
	result chan R
	fault  chan error
}

func (t *task[T, R]) run(work func(T) R) {
	if err := parallel.Guard(func() error { t.result <- work(t.input); return nil }); err != nil {
		t.fault <- err
	}
}

// wait is the result, or the end of the context. A panic of the work is a *parallel.FaultError.
func (t *task[T, R]) wait(ctx context.Context) (result R, err error) {
	select {
	case result = <-t.result:
		return result, ctx.Err()
	case err = <-t.fault:
		return result, err
	case <-ctx.Done():
		return result, ctx.Err()
	}
}

// orderedParallel does the work on all processors and hands over the results one at a time, in the order
// of the source. It ends with the first error, of the context, of the source (a *readError) or of next.
// What is under way when the context ends is not waited for.
func orderedParallel[T, R any](ctx context.Context, source iter.Seq2[T, error], work func(T) R, next func(R) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan *task[T, R])
	queue := make(chan *task[T, R], 2*workers)
	for range workers {
		go func() {
			for t := range todo {
				t.run(work)
			}
		}()
	}
	ended := make(chan error, 1)
	go func() {
		defer close(queue)
		defer close(todo)
		ended <- parallel.Guard(func() error { return feed(ctx, source, queue, todo) })
	}()
	for {
		select {
		case t, more := <-queue:
			if !more {
				return <-ended
			}
			result, err := t.wait(ctx)
			if err == nil {
				err = next(result)
			}
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// feed hands the inputs over, in their order, to those who wait for results and to those who work.
func feed[T, R any](ctx context.Context, source iter.Seq2[T, error], queue, todo chan<- *task[T, R]) error {
	for input, err := range source {
		if err != nil {
			return &readError{err}
		}
		t := &task[T, R]{input: input, result: make(chan R, 1), fault: make(chan error, 1)}
		for _, to := range []chan<- *task[T, R]{queue, todo} {
			select {
			case to <- t:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}
