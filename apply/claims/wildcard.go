package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// A wildcard and a host below it are two claims, but only one owner may have both names. The protocol decides who
// yields: a run creates the wildcard as pending, lists the hosts below it, and withdraws if another owner has one. A
// run that takes a host creates its claim, reads the wildcard above it, and withdraws if the wildcard is bound; it
// waits while the wildcard is pending. (If both withdrew at once, both could lose.) While the run of the host is
// unfinished, the wildcard lists the hosts again before it withdraws, but for less time than the host waits.

// pendingFor limits how long a wildcard may be pending. After that anybody may delete it, because its run has crashed.
const pendingFor = time.Minute

// PendingUntil returns when a wildcard that is taken now stops being pending, as RFC 3339.
func (r *Claims) PendingUntil() string {
	return r.Cluster.Now().Add(pendingFor).UTC().Format(time.RFC3339)
}

// CheckWildcards binds the wildcards that the run has taken, and checks its new hosts against the wildcards above them.
func (r *Claims) CheckWildcards(ctx context.Context) error {
	if err := r.bindAll(ctx); err != nil {
		return err
	}
	hosts := r.hostsAnew()
	if err := r.checkAbove(ctx, hosts); err != nil {
		return err
	}
	for _, h := range hosts {
		h.Anew = false
	}
	return nil
}

// bindAll binds the run's pending wildcards.
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

// hostsAnew returns the hosts that must still be checked against the wildcards above them.
func (r *Claims) hostsAnew() (hosts []*Held) {
	for _, h := range r.SortedHolds() {
		if h.Want.Kind == state.Host && h.Anew {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// bindTries returns how often a wildcard of an owner is tried again while unfinished runs have hosts below it: they may
// fail and release them. Such a run may wait for this wildcard, or have a pending wildcard above a host of this run. So
// a wildcard is tried for less time than a host waits (patience steps), and the smaller of two owners withdraws first:
// then not both lose.
func bindTries(patience int, owner string, below []report.HeldThing) int {
	if slices.ContainsFunc(below, func(h report.HeldThing) bool { return h.By.Owner < owner }) {
		return patience * 3 / 4
	}
	return patience / 2
}

// bind binds a pending wildcard. It returns a HeldError with the hosts of other owners below it; while only unfinished
// runs hold those, it tries again first.
func (r *Claims) bind(ctx context.Context, h *Held) error {
	pause := r.Patience
	for tries := 0; ; tries++ {
		err := r.bindOnce(ctx, h)
		below, ok := errors.AsType[*report.HeldError](err)
		if !ok || !AllTransient(err) || tries >= bindTries(r.Patience.Steps, r.Group.Owner, below.Held) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause.Step()):
		}
	}
}

// bindOnce binds a wildcard unless hosts of other owners are below it; it removes expired ones.
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
		hosts, ended := protocol.Below(r.Group, r.Cluster.Now(), h.Want.Thing, claims)
		next, parts := protocol.Bind(h.Want, h.Claim, r.Group, hosts, ended)
		if next == protocol.Evict {
			for _, c := range ended {
				if why = r.evict(ctx, c); why != nil {
					return ledger.Retry(why)
				}
			}
			return false, nil // list again: a holder may have renewed its hold meanwhile
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

// hostsBelow returns a HeldError with the hosts of other owners one label below a wildcard, claimed or served without a
// claim; nil if there are none.
func (r *Claims) hostsBelow(want state.Hold, claims []*state.Claim) error {
	refused := &report.HeldError{Lease: r.Request.Lease}
	add := func(host string, by state.Holder) {
		refused.Held = append(refused.Held, report.HeldThing{Kind: state.Host, Thing: host, By: by, At: want.At})
	}
	hosts, _ := protocol.Below(r.Group, r.Cluster.Now(), want.Thing, claims)
	for _, c := range hosts {
		add(c.Thing, c.HeldBy())
	}
	for host, uses := range r.Snapshot.HostUses {
		if state.WildcardOver(host) != want.Thing || r.Snapshot.Claim(host) != nil {
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

// checkAbove returns a HeldError if a host is below the bound wildcard of another owner, and waits while such a
// wildcard is pending.
func (r *Claims) checkAbove(ctx context.Context, hosts []*Held) error {
	over := map[string][]*Held{}
	for _, h := range hosts {
		if w := state.WildcardOver(h.Want.Thing); w != "" {
			over[w] = append(over[w], h)
		}
	}
	if len(over) == 0 {
		return nil
	}
	var pending, why error
	err := wait.ExponentialBackoffWithContext(ctx, r.Patience, func(ctx context.Context) (bool, error) {
		var claims []*state.Claim
		if claims, why = r.wildcards(ctx, over); why != nil {
			return ledger.Retry(why)
		}
		pending = nil
		for _, c := range claims {
			hosts := over[c.Thing]
			if len(hosts) == 0 {
				continue
			}
			refused := &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{
				{Kind: state.Wildcard, Thing: c.Thing, By: c.HeldBy(), At: hosts[0].Want.At},
			}}
			switch protocol.Above(r.Group, r.Cluster.Now(), c) {
			case protocol.Yield:
				return false, refused
			case protocol.Read:
				pending = refused
			case protocol.Evict:
				if why = r.evict(ctx, c); why != nil {
					return ledger.Retry(why)
				}
				return false, nil
			}
		}
		return pending == nil, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		names := strings.Join(slices.Sorted(maps.Keys(over)), ", ")
		return cmp.Or(pending, fmt.Errorf("its hosts could not be compared with the wildcards above them (%s): %w", names, cmp.Or(why, ledger.ErrAgain)))
	}
	return err
}

// wildcards returns the wildcards above hosts. It reads one by name, or several with one LIST.
func (r *Claims) wildcards(ctx context.Context, over map[string][]*Held) ([]*state.Claim, error) {
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
