package parallel_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

var errBroken = errors.New("broken")

// numbers yields 0 to n-1, then the error if there is one.
func numbers(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

func square(n int) int { return n * n }

func TestResultsComeInTheOrderOfTheSource(t *testing.T) {
	var done [20]chan struct{}
	for i := range done {
		done[i] = make(chan struct{})
	}
	evenAfterOdd := func(n int) int {
		if n%2 == 0 {
			<-done[n+1]
		}
		close(done[n])
		return square(n)
	}
	var got []int
	err := parallel.Ordered(t.Context(), numbers(20, nil), evenAfterOdd, func(n int) error { got = append(got, n); return nil })
	if err != nil || len(got) != 20 || !slices.IsSorted(got) || got[19] != 361 {
		t.Error(err, got)
	}
}

func TestOrderedEndsWithTheFirstError(t *testing.T) {
	panics := func(n int) int {
		if n == 3 {
			panic("three")
		}
		return n
	}
	faulty := func(yield func(int, error) bool) {
		yield(0, nil)
		panic("source")
	}
	stopAt := func(limit int) func(int) error {
		return func(n int) error {
			if n >= limit {
				return errBroken
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		source iter.Seq2[int, error]
		work   func(int) int
		next   func(int) error
		fault  bool
		passed int
	}{
		"of the source, after the results before it": {numbers(5, errBroken), square, nil, false, 5},
		"of next, without later results":             {numbers(1000, nil), square, stopAt(4), false, 2},
		"a panic in work":                            {numbers(1000, nil), panics, nil, true, 3},
		"a panic in the source":                      {faulty, square, nil, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			passed := 0
			err := parallel.Ordered(t.Context(), c.source, c.work, func(n int) error {
				if c.next != nil {
					if err := c.next(n); err != nil {
						return err
					}
				}
				passed++
				return nil
			})
			_, fault := errors.AsType[*parallel.FaultError](err)
			if fault != c.fault || !fault && !errors.Is(err, errBroken) {
				t.Errorf("error %v", err)
			}
			if passed != c.passed {
				t.Errorf("%d results passed on, want %d", passed, c.passed)
			}
		})
	}
}

// A parser cannot be interrupted: Ordered leaves it alone when the context ends.
func TestOrderedDoesNotWaitForWorkWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	blocked := func(n int) int {
		cancel()
		<-release
		return n
	}
	err := parallel.Ordered(ctx, numbers(1000, nil), blocked, func(int) error { t.Error("a result came"); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
