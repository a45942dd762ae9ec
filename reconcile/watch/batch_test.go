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
)

// What becomes due while a batch is worked on is the next one: nobody waits for more than that, and each gets its own answer.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := func(n int) lease.Group { return lease.Group{Owner: "akash1a", DSeq: uint64(n), GSeq: 1} }
		var sizes []int
		goOn, failed := make(chan struct{}), errors.New("failed")
		b := newBatches(1, 40, func(_ context.Context, groups []lease.Group) map[lease.Group]error {
			sizes = append(sizes, len(groups))
			<-goOn
			errs := map[lease.Group]error{}
			for _, g := range groups {
				if g.DSeq%2 == 0 {
					errs[g] = fmt.Errorf("%w: %d", failed, g.DSeq)
				}
			}
			return errs
		})
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
