package watch

import (
	"context"
	"sync"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/reconcile"
)

// batches joins the deployment groups that become due while others are worked on, so that one command, with one announcement and one
// reading, does for many what it does for one.
type batches struct {
	// work does what is due for some groups, and returns what has failed, or why nothing was done. ended is told of the latter, and with
	// nil that something was.
	work  func(context.Context, []lease.Group) (map[lease.Group]error, error)
	ended func(error)
	// most is how many groups are in a batch at most.
	most int

	mu      sync.Mutex
	waiting []due
	// free are the workers that wait for groups.
	free chan struct{}
}

// due is a deployment group, and where its answer goes.
type due struct {
	group lease.Group
	done  chan error
}

// newBatches returns batches of which so many are worked on at a time.
func newBatches(workers, most int, work func(context.Context, []lease.Group) (map[lease.Group]error, error), ended func(error)) *batches {
	b := &batches{work: work, ended: ended, most: most, free: make(chan struct{}, workers)}
	for range workers {
		b.free <- struct{}{}
	}
	return b
}

// do does what is due for a group, with others that are due.
func (b *batches) do(ctx context.Context, g lease.Group) error {
	one := due{g, make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, one)
	b.mu.Unlock()
	for {
		select {
		case err := <-one.done:
			return err
		case <-b.free:
		}
		worked := b.next(ctx)
		b.free <- struct{}{}
		if !worked { // another worker has taken it
			return <-one.done
		}
	}
}

// next works on the groups that wait. It reports whether there were any. A panic is the error of each of them.
func (b *batches) next(ctx context.Context) bool {
	b.mu.Lock()
	n := min(len(b.waiting), b.most)
	taken := b.waiting[:n:n]
	b.waiting = b.waiting[n:]
	b.mu.Unlock()
	if n == 0 {
		return false
	}
	groups := make([]lease.Group, n)
	for i, one := range taken {
		groups[i] = one.group
	}
	var failed map[lease.Group]error
	err := parallel.Guard(func() (err error) {
		failed, err = b.work(ctx, groups)
		return err
	})
	if b.ended(err); err != nil {
		failed = reconcile.FailAll(groups, err)
	}
	for _, one := range taken {
		one.done <- failed[one.group]
	}
	return true
}
