package execute

import (
	"cmp"
	"context"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// conclude begins what follows the work on a lease, while the command works on others.
func (l *loop) conclude(ctx context.Context, one *Lease) {
	one.concluded = make(chan struct{})
	err := parallel.Guard(func() error { l.work.Ended(ctx, []*Lease{one}); return nil })
	go func() {
		defer close(one.concluded)
		l.done(ctx, one, err)
	}()
}

// finish does what follows the commit for all leases, which wait side by side. ended is why the turn has not ended as it should.
func (l *loop) finish(ctx context.Context, leases []*Lease, ended error) {
	group := parallel.New(len(leases))
	for _, one := range leases {
		group.Go(func() error {
			concluded := one.concluded != nil
			if concluded {
				<-one.concluded
			}
			fails := ended != nil && one.err == nil && (one.Outcome == nil || one.X.Changed())
			switch {
			case fails:
				l.done(ctx, one, ended)
			case !concluded:
				l.done(ctx, one, nil)
			}
			return nil
		})
	}
	_ = group.Wait() // the leases keep their errors
}

// done does what follows the work on a lease, unless it has failed.
func (l *loop) done(ctx context.Context, one *Lease, failed error) {
	one.err = cmp.Or(one.err, failed)
	if one.err == nil && l.work.Done != nil {
		one.err = parallel.Guard(func() error { return l.work.Done(ctx, one) })
	}
	one.err = one.X.Failed(l.command.Options.AsPlanned(one.X.Request.Lease, one.err))
}
