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

// due is a deployment group, and where its answer goes. Only those of one kind are in a batch.
type due struct {
	group lease.Group
	kind  string
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

// do does what is due for a group, with others of its kind that are due.
func (b *batches) do(ctx context.Context, g lease.Group, kind string) error {
	one := due{g, kind, make(chan error, 1)}
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

// take takes a batch of those that wait: the first, and others of its kind.
func (b *batches) take() (taken []due) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var rest []due
	for _, one := range b.waiting {
		if len(taken) < b.most && one.kind == b.waiting[0].kind {
			taken = append(taken, one)
		} else {
			rest = append(rest, one)
		}
	}
	b.waiting = rest
	return taken
}

// next works on the groups that wait. It reports whether there were any. A panic is the error of each of them.
func (b *batches) next(ctx context.Context) bool {
	taken := b.take()
	if len(taken) == 0 {
		return false
	}
	groups := make([]lease.Group, len(taken))
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
