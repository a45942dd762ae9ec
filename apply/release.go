package apply

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Release gives up what deployment groups hold, all of it or the named things: what serves traffic
// goes first, the claims last, so that no name is free while it is still served. What Akash's
// provider wrote is left. To release what is not held does nothing and says so.
func (a *Applier) Release(ctx context.Context, groups []lease.Group, things ...string) error {
	snapshot, err := a.read(ctx, a.opts.Config.IP.Mode == config.ModeDedicated)
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
			if errs[i] = r.unfinished(r.release(ctx, newChoice(things))); errs[i] != nil {
				r.fail(errs[i])
			}
			return nil
		})
	}
	_ = work.Wait() // the errors are in errs
	return failures(errs)
}

// choice is what of a lease is released.
type choice struct {
	all    bool
	things map[string]bool
}

func newChoice(things []string) choice {
	c := choice{all: len(things) == 0, things: map[string]bool{}}
	for _, thing := range things {
		if a, err := netip.ParseAddr(thing); err == nil {
			thing = a.String()
		}
		c.things[strings.ToLower(thing)] = true
	}
	return c
}

// claim is true for a claim that is chosen.
func (c choice) claim(claim *state.Claim) bool { return c.all || c.things[claim.Thing] }

// object is true for an object that serves what is chosen. A ProviderLeasedIP does when it is for
// the endpoint of a chosen address.
func (c choice) object(o owned, claims []*state.Claim) bool {
	if c.all {
		return true
	}
	if o.kind == render.ProviderLeasedIP {
		return slices.ContainsFunc(claims, func(claim *state.Claim) bool {
			return claim.Kind == state.Address && c.claim(claim) && strings.HasPrefix(o.live.GetName(), claim.SharingKey+"-")
		})
	}
	if host := o.recordOf(); host != "" {
		return c.things[host]
	}
	uses := append(state.HostUses(o.live), state.AddressUses(o.live)...)
	return slices.ContainsFunc(uses, func(u state.Use) bool {
		return c.things[u.Host] || u.Address.IsValid() && c.things[u.Address.String()]
	})
}

func (r *run) release(ctx context.Context, chosen choice) error {
	objects := slices.DeleteFunc(slices.Clone(r.snapshot.written[r.group]), func(o owned) bool { return !chosen.object(o, r.snapshot.list()) })
	objects, err := r.keepForOthers(ctx, objects)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := r.remove(ctx, o, Deleted); err != nil {
			return err
		}
	}
	if err := r.removeFormer(ctx, func(c *state.Claim, _ state.Part) bool { return chosen.claim(c) }, Deleted); err != nil {
		return err
	}
	if err := r.awaitGone(ctx, objects); err != nil {
		return err
	}
	if err := r.awaitUnserved(ctx, r.snapshot, func(c *state.Claim, _ state.Part) bool { return chosen.claim(c) }); err != nil {
		return err
	}
	if err := r.leaveClaims(ctx, func(c *state.Claim, _ state.Part) bool { return chosen.claim(c) }, Released); err != nil {
		return err
	}
	if len(r.kept) > 0 {
		return &KeptError{Group: r.group, Kept: r.kept}
	}
	switch theirs := r.snapshot.writtenByOthers(r.group); {
	case theirs > 0 && chosen.all:
		r.event(Left, "lease", "", r.group.String(), fmt.Sprintf("%d objects that Akash's provider wrote stay", theirs))
	case !r.changed && chosen.all:
		r.event(Left, "lease", "", r.group.String(), "holds nothing")
	case !r.changed:
		r.event(Left, "lease", "", r.group.String(), "holds nothing of that name")
	}
	return nil
}

// writtenByOthers counts the objects of a deployment group that this program did not write.
func (s *snapshot) writtenByOthers(group lease.Group) int {
	n := 0
	for _, objects := range s.live {
		for _, o := range objects {
			if whose := s.ownership(o); whose.Labelled && whose.Lease.Group() == group && !whose.Ours {
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
			now, err := r.cluster.Get(ctx, o.kind, o.live.GetNamespace(), o.live.GetName())
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
