package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// A wildcard and a host below it are two objects, and of two owners only one may win. One side has
// to yield: the wildcard is made pending, then the hosts below it are listed, and it withdraws if
// another owner has one; a host is made, then the wildcard above it is read, and it withdraws if
// that is bound, or waits while it is pending. (Were both to withdraw at sight, both could lose.) A
// wildcard looks again before it withdraws while the host's run is under way, but not for as long as
// the host waits.

// pendingFor is how long a wildcard may be pending. After that anybody may remove it: whoever made
// it has crashed.
const pendingFor = time.Minute

// PendingUntil is until when a wildcard that is taken now may be pending, as RFC 3339.
func (r *Claims) PendingUntil() string {
	return r.Cluster.Now().Add(pendingFor).UTC().Format(time.RFC3339)
}

// CheckWildcards completes the claims on hosts and wildcards that this run has taken.
func (r *Claims) CheckWildcards(ctx context.Context) error {
	if err := r.bindAll(ctx); err != nil {
		return err
	}
	hosts := r.hostsAnew()
	if err := r.below(ctx, hosts); err != nil {
		return err
	}
	for _, h := range hosts {
		h.Anew = false
	}
	return nil
}

// bindAll binds the wildcards that are pending.
func (r *Claims) bindAll(ctx context.Context) error {
	for _, h := range r.SortedHolds() {
		if h.Want.Kind == state.Wildcard && !protocol.IsBound(h.Claim, r.Group) {
			if err := r.bind(ctx, h); err != nil {
				return err
			}
		}
	}
	return nil
}

// hostsAnew are the hosts that have yet to be compared with the wildcards above them.
func (r *Claims) hostsAnew() (hosts []*Held) {
	for _, h := range r.SortedHolds() {
		if h.Want.Kind == state.Host && h.Anew {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// LookAbove lists the wildcards once for all leases that have taken hosts, after the last of these was written.
func LookAbove(ctx context.Context, of ledger.Ledger, all []*Claims) {
	var looking []*Claims
	for _, r := range all {
		if len(r.hostsAnew()) > 0 {
			looking = append(looking, r)
		}
	}
	if len(looking) < 2 {
		return
	}
	listed, err := of.List(ctx, state.Wildcard)
	if err != nil {
		return // each lease looks for itself, and meets what is wrong
	}
	for _, r := range looking {
		r.above = &listed
	}
}

// looks is how often a wildcard looks again while runs under way have hosts below it: they may fail, and
// give them back. Such a run may itself wait for this wildcard, or have a wildcard pending over a host
// of this run. So a wildcard looks for less time than a host waits (patience), and of two owners the
// one that comes first in order withdraws first: then not both lose.
func (r *Claims) looks(below *report.HeldError) int {
	first := !slices.ContainsFunc(below.Held, func(h report.HeldThing) bool { return h.By.Owner < r.Group.Owner })
	if first {
		return r.Patience.Steps / 2
	}
	return r.Patience.Steps * 3 / 4
}

// bind makes a pending wildcard bound, or says which hosts of other owners stand below it. While those
// are held by runs under way it looks again for a while.
func (r *Claims) bind(ctx context.Context, h *Held) error {
	pause := r.Patience
	for tries := 0; ; tries++ {
		err := r.bindOnce(ctx, h)
		below, ok := errors.AsType[*report.HeldError](err)
		if !ok || !r.AllTransient(err) || tries >= r.looks(below) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause.Step()):
		}
	}
}

func (r *Claims) bindOnce(ctx context.Context, h *Held) error {
	var why error
	err := r.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		var claims []*state.Claim
		if claims, why = r.Ledger.List(ctx, state.Host); why != nil {
			return ledger.Retry(why)
		}
		if refused := r.hostsBelow(h.Want, claims); refused != nil {
			return false, refused
		}
		stand, ended := protocol.Below(r.Group, r.Cluster.Now(), h.Want.Thing, claims)
		next, parts := protocol.Bind(h.Want, h.Claim, r.Group, stand, ended)
		if next == protocol.Evict {
			for _, c := range ended {
				if why = r.evict(ctx, c); why != nil {
					return ledger.Retry(why)
				}
			}
			return false, nil // another look: the holder may have renewed its hold meanwhile
		}
		var claim *state.Claim
		if claim, why = r.Ledger.Put(ctx, h.Claim, r.Group, parts); why == nil {
			h.Claim = claim
			return true, nil
		}
		if done, err := ledger.Retry(why); err != nil || done {
			return done, err
		}
		if claim, why = r.Ledger.Get(ctx, h.Want.Name()); why != nil {
			return ledger.Retry(why)
		}
		next = protocol.Rebind(h.Want, h.Claim, claim, r.Group)
		if next == protocol.Yield {
			return false, r.Overtaken(h)
		}
		h.Claim = claim
		return next == protocol.Rest, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("wildcard %s could not be bound: %w", h.Want.Thing, cmp.Or(why, ledger.ErrAgain))
	}
	return err
}

// hostsBelow says which hosts of other owners stand one label below a wildcard, by the claims and
// by what was seen to be served without one; nil where there are none.
func (r *Claims) hostsBelow(want state.Hold, claims []*state.Claim) error {
	refused := &report.HeldError{Lease: r.Request.Lease}
	add := func(host string, by state.Holder) {
		refused.Held = append(refused.Held, report.HeldThing{Kind: state.Host, Thing: host, By: by, At: want.At})
	}
	stand, _ := protocol.Below(r.Group, r.Cluster.Now(), want.Thing, claims)
	for _, c := range stand {
		add(c.Thing, c.HeldBy())
	}
	for host, uses := range r.Snapshot.HostUses {
		if state.WildcardOver(host) != want.Thing || r.Snapshot.Claims[host] != nil {
			continue
		}
		if f := r.judge().Decide(state.Hold{}, "", nil, uses); f.Verdict == state.Held {
			add(host, f.By)
		}
	}
	if len(refused.Held) == 0 {
		return nil
	}
	slices.SortFunc(refused.Held, func(a, b report.HeldThing) int { return strings.Compare(a.Thing, b.Thing) })
	return refused
}

// wildcardAbove says that a host stands below another owner's bound wildcard, as far as the
// snapshot tells; nil where it does not.
func (r *Claims) wildcardAbove(want state.Hold) *report.HeldThing {
	over := state.WildcardOver(want.Thing)
	if over == "" {
		return nil
	}
	c := r.Snapshot.Claims[state.HostName(over)]
	if protocol.Above(r.Group, r.Cluster.Now(), c) != protocol.Yield {
		return nil
	}
	return &report.HeldThing{Kind: state.Wildcard, Thing: c.Thing, By: c.HeldBy(), At: want.At}
}

// below says that hosts stand below the bound wildcard of another owner, and waits where one is
// pending. One wildcard is read by its name, more of them with one LIST.
func (r *Claims) below(ctx context.Context, hosts []*Held) error {
	over := map[string][]*Held{}
	for _, h := range hosts {
		if w := state.WildcardOver(h.Want.Thing); w != "" {
			over[w] = append(over[w], h)
		}
	}
	if len(over) == 0 {
		return nil
	}
	var pending error
	err := wait.ExponentialBackoffWithContext(ctx, r.Patience, func(ctx context.Context) (bool, error) {
		claims, err := r.wildcards(ctx, over)
		if err != nil {
			return ledger.Retry(err)
		}
		pending = nil
		for _, c := range claims {
			hosts := over[c.Thing]
			if len(hosts) == 0 {
				continue
			}
			refused := &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{{Kind: state.Wildcard, Thing: c.Thing, By: c.HeldBy(), At: hosts[0].Want.At}}}
			switch protocol.Above(r.Group, r.Cluster.Now(), c) {
			case protocol.Yield:
				return false, refused
			case protocol.Read:
				pending = refused
			case protocol.Evict:
				if err := r.evict(ctx, c); err != nil {
					return ledger.Retry(err)
				}
				return false, nil
			}
		}
		return pending == nil, nil
	})
	if wait.Interrupted(err) && pending != nil && ctx.Err() == nil {
		return pending
	}
	return err
}

// wildcards are those above hosts: as they were listed for all leases, at the first look, or as they are now.
func (r *Claims) wildcards(ctx context.Context, over map[string][]*Held) ([]*state.Claim, error) {
	if listed := r.above; listed != nil {
		r.above = nil
		return *listed, nil
	}
	if len(over) > 1 {
		return r.Ledger.List(ctx, state.Wildcard)
	}
	for w := range over {
		c, err := r.Ledger.Get(ctx, state.HostName(w))
		if c == nil || err != nil {
			return nil, err
		}
		return []*state.Claim{c}, nil
	}
	return nil, nil
}
