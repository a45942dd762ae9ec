package apply

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Release gives up all that deployment groups hold: what serves traffic goes first, the claims
// last, so that no name is free while it is still served. What Akash's provider wrote is left. To
// release what is not held does nothing and says so.
func (a *Applier) Release(ctx context.Context, groups []lease.Group) error {
	snapshot, err := read(ctx, a.cluster, a.ledger, a.opts.Config.IP.Mode == config.ModeDedicated)
	if err != nil {
		return err
	}
	pools := newPools(a, snapshot)
	errs := make([]error, len(groups))
	var work errgroup.Group
	work.SetLimit(max(a.opts.Concurrency, 1))
	for i, g := range groups {
		work.Go(func() error {
			r := a.newRun(nil, state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}})
			r.snapshot, r.pools = snapshot, pools
			if errs[i] = r.release(ctx); errs[i] != nil {
				r.fail(errs[i])
			}
			return nil
		})
	}
	_ = work.Wait() // the errors are in errs
	return failures(errs)
}

func (r *run) release(ctx context.Context) error {
	objects := r.snapshot.ownedBy(r.group)
	for _, o := range objects {
		if err := r.remove(ctx, o, Deleted); err != nil {
			return err
		}
	}
	if err := r.awaitGone(ctx, objects); err != nil {
		return err
	}
	if err := r.leaveClaims(ctx, func(*state.Claim, state.Part) bool { return true }, Released); err != nil {
		return err
	}
	switch theirs := r.snapshot.writtenByOthers(r.group); {
	case theirs > 0:
		r.event(Left, "lease", "", r.group.String(), fmt.Sprintf("%d objects that Akash's provider wrote stay", theirs))
	case !r.changed:
		r.event(Left, "lease", "", r.group.String(), "holds nothing")
	}
	return nil
}

// writtenByOthers counts the objects of a deployment group that this program did not write.
func (s *snapshot) writtenByOthers(group lease.Group) int {
	n := 0
	for _, objects := range s.live {
		for _, o := range objects {
			if id, ok := lease.IDFromLabels(o.GetLabels()); ok && id.Group() == group && o.GetAnnotations()[lease.AnnotationDefinition] == "" {
				n++
			}
		}
	}
	return n
}

// awaitGone waits for objects that others hold back with a finalizer: as long as they are there
// they may serve.
func (r *run) awaitGone(ctx context.Context, objects []owned) error {
	if r.opts.DryRun != "" || r.opts.Wait == 0 {
		return nil
	}
	for _, o := range objects {
		if len(o.live.GetFinalizers()) == 0 {
			continue
		}
		err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, r.opts.Wait, true, func(ctx context.Context) (bool, error) {
			now, err := r.cluster.get(ctx, o.kind, o.live.GetNamespace(), o.live.GetName())
			return now == nil || now.GetUID() != o.live.GetUID(), err
		})
		if wait.Interrupted(err) && ctx.Err() == nil {
			return &TimeoutError{After: r.opts.Wait, Waiting: []string{
				fmt.Sprintf("%s %s/%s to be gone (finalizers %v); its claim is kept until then", o.kind.Singular, o.live.GetNamespace(), o.live.GetName(), o.live.GetFinalizers()),
			}}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
