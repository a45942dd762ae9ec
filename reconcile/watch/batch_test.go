package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// What becomes due while a batch is worked on is the next one: nobody waits for more than that, and each gets its own answer.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
		var sizes []int
		goOn, failed := make(chan struct{}), errors.New("failed")
		b := newBatches(1, 40, func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
			sizes = append(sizes, len(groups))
			<-goOn
			errs := map[lease.Group]error{}
			for _, g := range groups {
				if g.DSeq%2 == 0 {
					errs[g] = fmt.Errorf("%w: %d", failed, g.DSeq)
				}
			}
			return errs, nil
		}, func(error) {})
		var all sync.WaitGroup
		for n := range 101 {
			all.Go(func() {
				err := b.do(t.Context(), group(n))
				if even := n%2 == 0; even != errors.Is(err, failed) || even && err.Error() != fmt.Sprint("failed: ", n) {
					t.Errorf("%d: %v", n, err)
				}
			})
			synctest.Wait()
		}
		close(goOn)
		all.Wait()
		if !slices.Equal(sizes, []int{1, 40, 40, 20}) {
			t.Errorf("batches of %v", sizes)
		}
	})
}

// A panic is the error of each group of its batch, and the next batches are worked on as before.
func TestBatchesAfterPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
		goOn, said := make(chan struct{}), []error(nil)
		b := newBatches(1, 40, func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
			if len(groups) == 1 {
				<-goOn
			} else {
				panic("a fault")
			}
			return nil, nil
		}, new(complaints{complain: func(err error) { said = append(said, err) }}).note)
		var all sync.WaitGroup
		for n := range 10 {
			all.Go(func() {
				_, fault := errors.AsType[*parallel.FaultError](b.do(t.Context(), group(n)))
				if first := n == 0; fault == first {
					t.Errorf("%d: %v", n, fault)
				}
			})
			synctest.Wait()
		}
		close(goOn)
		all.Wait()
		if err := b.do(t.Context(), group(1)); err != nil {
			t.Error(err)
		}
		if len(said) != 1 {
			t.Errorf("it is said %d times: %v", len(said), said)
		}
	})
}

// What concerns no lease alone is complained of once, and again if it was over meanwhile. That the reconciler is stopped is no complaint.
func TestComplaints(t *testing.T) {
	said := 0
	c := complaints{complain: func(error) { said++ }}
	away := errors.New("away")
	for i, tt := range []struct {
		err  error
		want int
	}{{nil, 0}, {away, 1}, {away, 1}, {context.Canceled, 1}, {away, 1}, {errors.New("forbidden"), 2}, {nil, 2}, {away, 3}} {
		if c.note(tt.err); said != tt.want {
			t.Errorf("%d: after %v it has complained %d times, want %d", i, tt.err, said, tt.want)
		}
	}
}
