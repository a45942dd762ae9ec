package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Transfer hands hosts and addresses from the deployment groups of an owner to a lease of the same
// owner: all of them or none. The name is never free meanwhile: each claim changes hands in one
// forced write that is pinned to what was read. Things that nobody holds are left out, as Akash
// does; things of another owner are an error.
//
// What the lease is known to wait for is routed at once, with the options that it asked for; a
// definition (def, may be nil) is applied instead where one is given. Otherwise the old routes
// stay until the lease's next apply.
func (a *Applier) Transfer(ctx context.Context, to lease.ID, things []string, def *lease.Definition) error {
	snapshot, err := a.read(ctx, true)
	if err != nil {
		return err
	}
	r := a.newRun(nil, state.Request{Lease: to})
	r.snapshot, r.pools = snapshot, newPools(a, snapshot)
	moves, err := r.moves(things)
	if err == nil {
		err = r.moveAll(ctx, moves)
	}
	if err == nil {
		err = r.follow(ctx, slices.DeleteFunc(moves, func(m *move) bool { return m.gone }), def)
	}
	if err != nil {
		r.fail(r.unfinished(err))
	}
	return err
}

// move is a claim that changes hands.
type move struct {
	claim *state.Claim
	// from are the groups that hold parts which the new lease is to hold.
	from []lease.Group
	// old are the parts as they were, new as they are to be.
	old, new []state.Part
	// taken is true when the new lease has them by this run, done when it had not had them before, gone
	// when nobody has the claim any more.
	taken, done, gone bool
}

// moves decides on everything before anything is written.
func (r *run) moves(things []string) ([]*move, error) {
	refused := &HeldError{Lease: r.req.Lease}
	var moves []*move
	for _, claim := range r.named(things) {
		m, held := r.move(claim)
		if held != nil {
			refused.Held = append(refused.Held, *held)
			continue
		}
		moves = append(moves, m)
	}
	if len(refused.Held) > 0 {
		return nil, refused
	}
	slices.SortFunc(moves, func(a, b *move) int { return stateCompare(a.claim, b.claim) })
	return moves, nil
}

// move decides on one claim, as it was read.
func (r *run) move(claim *state.Claim) (*move, *HeldThing) {
	if claim.Owner != r.group.Owner || claim.Unreadable != "" {
		return nil, &HeldThing{Kind: claim.Kind, Thing: claim.Thing, By: claim.HeldBy()}
	}
	m := &move{claim: claim}
	for _, p := range claim.Parts {
		g := p.Lease.Group()
		if g == r.group {
			if p.Run != "" { // a run that took it has not ended: this one completes it
				m.new = append(m.new, r.taken(claim, p))
			}
			continue
		}
		if !slices.Contains(m.from, g) {
			m.from = append(m.from, g)
		}
		m.old, m.new = append(m.old, p), append(m.new, r.taken(claim, p))
	}
	return m, nil
}

// named are the claims on the things: hosts, addresses, or IP endpoints of the owner by name.
func (r *run) named(things []string) []*state.Claim {
	var out []*state.Claim
	for _, thing := range things {
		name := strings.ToLower(thing)
		if a, err := netip.ParseAddr(name); err == nil {
			name = a.String()
		}
		found := false
		for _, c := range r.snapshot.list() {
			endpoint := c.Kind == state.Address && c.SharingKey == lease.SharingKey(r.group.Owner, thing)
			if (c.Thing == name || endpoint) && !c.Deleting && len(c.Parts) > 0 {
				found = true
				if !slices.Contains(out, c) {
					out = append(out, c)
				}
			}
		}
		if !found {
			r.event(Left, "thing", "", thing, "nobody holds it; reserve it or apply a definition that names it")
		}
	}
	return out
}

// taken is a part as the new lease holds it: with the backend that it asked for, if it did.
func (r *run) taken(claim *state.Claim, p state.Part) state.Part {
	out := p
	out.Lease, out.Run = r.req.Lease, r.nonce
	if claim.Kind != state.Wildcard || p.Bound { // one that is pending still has to end
		out.Expires = ""
	}
	for _, w := range claim.Waits {
		if w.For == p.Key && w.Lease.Group() == r.group {
			out.Service, out.Port, out.HTTP, out.Definition = w.Service, w.Port, w.HTTP, w.Definition
			out.Lease = w.Lease
		}
	}
	return out
}

// moveAll takes the claims over in the one order in which claims are taken; if one cannot be had,
// those that were are handed back.
func (r *run) moveAll(ctx context.Context, moves []*move) error {
	if r.opts.DryRun != "" {
		for _, m := range moves {
			r.event(Transferred, string(m.claim.Kind), "", m.claim.Thing, "")
		}
		return nil
	}
	for _, m := range moves {
		if err := r.moveOne(ctx, m); err != nil {
			return r.moveAllBack(ctx, moves, err)
		}
	}
	return nil
}

// moveAllBack gives the claims that were taken over back to those who held them, the last one first.
func (r *run) moveAllBack(ctx context.Context, moves []*move, why error) error {
	if isAway(why) {
		return why
	}
	var left []error
	for _, m := range slices.Backward(moves) {
		if m.done {
			left = append(left, r.moveBack(context.WithoutCancel(ctx), m))
		}
	}
	if err := errors.Join(left...); err != nil {
		return &HalfError{Lease: r.req.Lease, Why: why, Left: err}
	}
	return why
}

// moveOne takes one claim over. Where a write loses a race, or gets no answer, the claim is read again
// and decided on anew.
func (r *run) moveOne(ctx context.Context, m *move) error {
	kind, thing := m.claim.Kind, m.claim.Thing
	var why error
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		if len(m.new) == 0 || m.taken {
			return true, nil // it is the lease's already, or nobody's any more
		}
		var claim *state.Claim
		if claim, why = r.ledger.seize(ctx, m.claim, r.group, withEntries(m.new, m.claim.Entries(r.group))); why == nil {
			m.claim, m.taken = claim, true
			return true, nil
		}
		if _, err := retry(why); err != nil {
			return false, err
		}
		return false, r.moveAnew(ctx, m)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = cmp.Or(why, err)
	}
	if err != nil {
		return fmt.Errorf("%s %s could not be transferred: %w", kind, thing, err)
	}
	if !m.taken {
		return nil
	}
	m.done = len(m.from) > 0
	if m.done {
		r.event(Transferred, string(kind), "", thing, "from "+groupsText(m.from))
	} else if m.from, err = r.ledger.formerHolders(ctx, m.claim); err != nil {
		return err
	}
	return r.disown(ctx, m)
}

// moveAnew reads a claim again and decides anew. One that has gone meanwhile is left out, as one that
// nobody ever held.
func (r *run) moveAnew(ctx context.Context, m *move) error {
	now, err := r.ledger.get(ctx, m.claim.Name())
	if err != nil {
		_, err = retry(err)
		return err
	}
	if now == nil || now.Deleting {
		r.event(Left, string(m.claim.Kind), "", m.claim.Thing, "nobody holds it any more")
		m.new, m.gone = nil, true
		return nil
	}
	if r.holdsAll(now, m.new) { // the write has taken effect although no answer came
		m.claim, m.taken = now, true
		return nil
	}
	again, held := r.move(now)
	if held != nil {
		return &HeldError{Lease: r.req.Lease, Held: []HeldThing{*held}}
	}
	*m = *again
	return nil
}

// withEntries are parts, with those of the entries that are not for the same thing.
func withEntries(parts, entries []state.Part) []state.Part {
	parts = slices.Clone(parts)
	for _, own := range entries {
		if !slices.ContainsFunc(parts, func(p state.Part) bool { return p.Key == own.Key || p.Key == own.For }) {
			parts = append(parts, own)
		}
	}
	return parts
}

func (r *run) holdsAll(claim *state.Claim, parts []state.Part) bool {
	return claim != nil && !slices.ContainsFunc(parts, func(p state.Part) bool {
		own := claim.Part(p.Key)
		return own == nil || own.Run != r.nonce
	})
}

// disown makes the old holders own no field of what they no longer hold. Their managers would
// otherwise keep the claim's shared fields alive.
func (r *run) disown(ctx context.Context, m *move) error {
	for _, g := range m.from {
		err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
			keep := m.claim.Entries(g)
			var claim *state.Claim
			var err error
			if len(keep) > 0 {
				claim, err = r.ledger.put(ctx, m.claim, g, keep)
			} else {
				claim, err = r.ledger.patch(ctx, m.claim, g, m.claim.Withdrawal(r.ledger.namespace), false)
			}
			if err == nil {
				m.claim = claim
				return true, nil
			}
			if done, err := retry(err); done || err != nil {
				return done, err
			}
			if claim, err = r.ledger.get(ctx, m.claim.Name()); err == nil && claim == nil {
				return false, r.overtaken(&held{want: state.Hold{Kind: m.claim.Kind, Thing: m.claim.Thing}})
			}
			if claim != nil {
				m.claim = claim
			}
			_, err = retry(err)
			return false, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveBack gives a claim back to those who held it: what still carries the run's mark.
func (r *run) moveBack(ctx context.Context, m *move) error {
	for _, g := range m.from {
		err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
			parts := slices.DeleteFunc(slices.Clone(m.old), func(p state.Part) bool {
				own := m.claim.Part(p.Key)
				return p.Lease.Group() != g || own == nil || own.Run != r.nonce
			})
			if len(parts) == 0 {
				return true, nil
			}
			claim, err := r.ledger.seize(ctx, m.claim, g, withEntries(parts, m.claim.Entries(g)))
			if err == nil {
				m.claim = claim
				return true, nil
			}
			if _, err := retry(err); err != nil {
				return false, err
			}
			if claim, err = r.ledger.get(ctx, m.claim.Name()); claim != nil {
				m.claim = claim
			}
			done, err := retry(err)
			return done && claim == nil, err
		})
		if err != nil {
			return fmt.Errorf("%s %s could not be handed back: %w", m.claim.Kind, m.claim.Thing, err)
		}
	}
	m.from = []lease.Group{r.group}
	r.event(Transferred, string(m.claim.Kind), "", m.claim.Thing, "back")
	return r.disown(ctx, m)
}

func groupsText(groups []lease.Group) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}
