package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// commitTime bounds how long Commit may take.
const commitTime = 30 * time.Second

// Undo announces that the command is about to undo its work. An error means that another command has declared this one
// crashed; then it must not undo anything.
func (t *Turn) Undo(ctx context.Context) error {
	var announced bool
	t.locked(func() { announced = t.lost == nil && t.own != nil && t.own.Phase == state.Undoing && !t.isDoubtful() })
	if announced { // by another lease of the command; what is undone asks the turn before each write
		return nil
	}
	return t.update(context.WithoutCancel(ctx), func(a *state.Announcement) {
		if a.Phase == state.Active {
			a.Phase = state.Undoing
		}
	})
}

// Leave records groups whose work is unfinished.
func (t *Turn) Leave(groups ...lease.Group) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range groups {
		if !slices.Contains(t.unfinished, g) {
			t.unfinished = append(t.unfinished, g)
		}
	}
}

// Commit ends the turn. If groups are unfinished it leaves a fenced announcement of them, for which no later command
// has to wait. An error means that another command has declared this one crashed, or that the API server did not store
// the end of the turn.
func (t *Turn) Commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(cluster.WithGate(context.WithoutCancel(ctx), nil), commitTime)
	defer cancel()
	err := t.commit(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !cluster.IsAway(err) {
		return fmt.Errorf("the API server did not store the end of the command within %s; others take it for crashed soon, and the same command continues", commitTime)
	}
	return err
}

func (t *Turn) commit(ctx context.Context) error {
	if err := t.opening.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.opening.Release(1)
	var stop func()
	if t.locked(func() { stop = t.stop }); stop != nil {
		stop()
	}
	if err := t.writing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.writing.Release(1)
	var own *state.Announcement
	var lost error
	var unfinished []lease.Group
	t.locked(func() { own, lost, unfinished = t.own, t.lost, slices.Clone(t.unfinished) })
	if lost != nil || own == nil {
		return lost
	}
	if err := t.removeFenced(ctx, unfinished); err != nil {
		return err
	}
	if len(unfinished) == 0 {
		err := t.remove(ctx)
		t.locked(func() { t.open = false })
		return err
	}
	want := *own
	want.Groups, want.Phase, want.FencedBy, want.Renewed = unfinished, state.Fenced, t.nonce, t.cluster.Now()
	err := t.put(ctx, &want)
	t.locked(func() { t.own, t.open = nil, false })
	return err
}

// removeFenced removes the groups that this command has finished from the announcements of the crashed commands that it
// succeeds, unless claims still carry their marks. It deletes announcements without groups.
func (t *Turn) removeFenced(ctx context.Context, unfinished []lease.Group) error {
	var fenced []*state.Announcement
	t.locked(func() { fenced = t.fenced })
	for _, dead := range fenced {
		left, err := t.marked(ctx, dead)
		if err != nil {
			return err
		}
		done := slices.DeleteFunc(slices.Clone(t.groups), func(g lease.Group) bool {
			return slices.Contains(unfinished, g) || slices.Contains(left, g)
		})
		remaining := protocol.Remaining(dead, done)
		if len(remaining) == len(dead.Groups) {
			continue
		}
		if len(remaining) == 0 {
			err = t.ledger.Unannounce(ctx, dead)
		} else {
			fewer := *dead
			fewer.Groups = remaining
			_, err = t.ledger.Announce(ctx, &fewer)
		}
		if err != nil && !errors.Is(err, ledger.ErrAgain) {
			return err
		}
	}
	return nil
}

// marked returns those of the command's groups whose claims still carry the mark of a crashed command.
func (t *Turn) marked(ctx context.Context, dead *state.Announcement) (groups []lease.Group, err error) {
	owners := map[string]bool{}
	for _, g := range dead.Groups {
		if !slices.Contains(t.groups, g) || owners[g.Owner] {
			continue
		}
		owners[g.Owner] = true
		var claims []*state.Claim
		err := t.ledger.Until(ctx, func(ctx context.Context) (err error) {
			claims, err = t.ledger.ListOwner(ctx, g.Owner)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, c := range claims {
			for _, p := range c.Parts {
				if p.Run != "" && state.NonceOf(p.Run) == dead.Nonce {
					groups = append(groups, p.Lease.Group())
				}
			}
		}
	}
	return groups, nil
}
