package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
	"github.com/akash-net/kubectl-akash-net/state"
)

// What becomes due while a batch is worked on is the next one: nobody waits for more than that, and each gets its own answer. A panic is the
// error of each group of its batch, and the next batches are worked on as before.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		var said []error
		goOn, failed := make(chan struct{}), errors.New("failed")
		b := newBatches(1, 40, func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
			sizes = append(sizes, len(groups))
			<-goOn
			if len(groups) == 20 {
				panic("a fault")
			}
			errs := map[lease.Group]error{}
			for _, g := range groups {
				if g.DSeq%2 == 0 {
					errs[g] = fmt.Errorf("%w: %d", failed, g.DSeq)
				}
			}
			return errs, nil
		}, new(complaints{complain: func(err error) { said = append(said, err) }}).note)
		var all sync.WaitGroup
		for n := range 101 {
			all.Go(func() {
				err := b.do(t.Context(), group(n), "")
				_, fault := errors.AsType[*parallel.FaultError](err)
				if even := n%2 == 0; fault != (n > 80) || !fault && (even != errors.Is(err, failed) || even && err.Error() != fmt.Sprint("failed: ", n)) {
					t.Errorf("%d: %v", n, err)
				}
			})
			synctest.Wait()
		}
		close(goOn)
		all.Wait()
		if err := b.do(t.Context(), group(1), ""); err != nil || !slices.Equal(sizes, []int{1, 40, 40, 20, 1}) || len(said) != 1 {
			t.Errorf("%v, batches of %v, and it is said: %v", err, sizes, said)
		}
	})
}

// After a command that has crashed a few commands work on all leases for which it was announced, and not one on each; so after many commands.
// What waits for one does not wait for another.
func TestAfterOthers(t *testing.T) {
	for name, nonce := range map[string]func(n uint64) string{
		"one":  func(uint64) string { return "crashed" },
		"many": func(n uint64) string { return strconv.FormatUint(n, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				commands, running := 0, 0
				goOn := make(chan struct{})
				to, err := cluster.Connect(&rest.Config{Host: "http://nobody"}, 1)
				if err != nil {
					t.Fatal(err)
				}
				r := &reconciler{opts: reconcile.Watching{Cluster: to}}
				r.batches = newBatches(batchesAtOnce, state.MaxAnnounced, func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
					busy := map[lease.Group]error{}
					for _, g := range groups {
						busy[g] = &busyError{&state.Announcement{Nonce: nonce(g.DSeq)}}
					}
					return busy, nil
				}, r.whole.note)
				r.after = newBatches(aftersAtOnce, state.MaxAnnounced, func(_ context.Context, groups []lease.Group) (map[lease.Group]error, error) {
					mu.Lock()
					commands++
					if running++; running > aftersAtOnce {
						t.Errorf("%d commands run at once", running)
					}
					mu.Unlock()
					<-goOn
					mu.Lock()
					defer mu.Unlock()
					for _, g := range groups {
						if nonce(g.DSeq) != nonce(groups[0].DSeq) {
							t.Errorf("%s and %s are in one command", g, groups[0])
						}
					}
					running--
					return nil, nil
				}, r.whole.note)
				var all sync.WaitGroup
				for n := range 500 {
					all.Go(func() {
						if _, err := r.Reconcile(t.Context(), group(n)); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				close(goOn)
				all.Wait()
				if most := 2 * aftersAtOnce; name == "one" && commands > most || name == "many" && commands != 500 {
					t.Errorf("%d commands", commands)
				}
			})
		})
	}
}
