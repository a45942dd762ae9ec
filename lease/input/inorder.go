package input

import (
	"iter"
	"runtime"

	"github.com/akash-net/kubectl-akash-net/lease/document"
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

// inOrder does the work on all processors and hands over the results one at a time, in the order
// of the source. It ends with the first error, of the source (a *readError) or of next; no
// goroutine outlives it.
func inOrder[T, R any](source iter.Seq2[T, error], work func(T) R, next func(R) error) error {
	type task struct {
		input  T
		result chan R
	}
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan *task)
	queue := make(chan *task, 2*workers)
	stop := make(chan struct{})
	ended := make(chan error, 1)
	for range workers {
		go func() {
			for t := range todo {
				t.result <- work(t.input)
			}
		}()
	}
	go func() {
		defer close(queue)
		defer close(todo)
		for input, err := range source {
			if err != nil {
				ended <- &readError{err}
				return
			}
			t := &task{input: input, result: make(chan R, 1)}
			select {
			case queue <- t:
			case <-stop:
				ended <- nil
				return
			}
			todo <- t
		}
		ended <- nil
	}()
	var failed error
	for t := range queue {
		if failed != nil {
			continue
		}
		if failed = next(<-t.result); failed != nil {
			close(stop)
		}
	}
	if err := <-ended; failed == nil {
		failed = err
	}
	return failed
}
