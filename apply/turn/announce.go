package turn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// announced returns the command's own announcement, or nil if there is none.
func (t *Turn) announced() *state.Announcement {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own
}

// announce writes the announcement unless it exists, and starts to renew it.
func (t *Turn) announce(ctx context.Context) error {
	if err := t.writing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.writing.Release(1)
	if t.announced() != nil {
		return nil
	}
	now := t.cluster.Now()
	want := &state.Announcement{
		Nonce: t.nonce, Groups: t.groups, By: t.opts.By, Version: t.opts.Version,
		Begun: now, Renewed: now, Lasts: t.opts.Lasts, Phase: state.Active,
	}
	if err := t.put(ctx, want); err != nil {
		return fmt.Errorf("the command could not be announced: %w", err)
	}
	stop := t.keepRenewing(ctx)
	t.locked(func() { t.stop = stop })
	return nil
}

// put writes the own announcement, even if the answer to an earlier write was lost. It does not count against the bound
// on concurrent requests: slow requests must not make the command look dead. The caller holds writing.
func (t *Turn) put(ctx context.Context, want *state.Announcement) error {
	sent, ctx := time.Now(), cluster.Apart(ctx)
	var answer *apierrors.StatusError
	err := t.cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		conflicts := t.cluster.Conflicts()
		now, err := t.ledger.Announcements.Put(ctx, want)
		if errors.Is(err, ledger.ErrAgain) {
			answer, _ = errors.AsType[*apierrors.StatusError](err)
			there, unread := t.ledger.Announcements.Get(ctx, t.nonce)
			switch {
			case unread != nil:
				return ledger.Retry(unread)
			case there == nil && want.UID == "":
				return false, nil
			case isWritten(there, want): // the answer was lost
				now, err = there, nil
			case protocol.Lost(there):
				return false, t.lose(there)
			default:
				want.UID, want.ResourceVersion = there.UID, there.ResourceVersion
				return false, nil
			}
		}
		if err != nil {
			return false, err
		}
		t.locked(func() {
			t.own, t.renewed, t.renewedAt, t.confirmed, t.conflicts = now, sent, sent.Round(0), sent, conflicts
		})
		return true, nil
	})
	if errors.Is(err, cluster.ErrMoving) && answer != nil {
		err = fmt.Errorf("%w; the last answer: %w", err, answer)
	}
	return err
}

// isWritten reports whether the announcement that was read is the one that was to be written.
func isWritten(there, want *state.Announcement) bool {
	return there != nil && there.Phase == want.Phase && there.FencedBy == want.FencedBy &&
		there.Renewed.Equal(want.Renewed.Truncate(time.Microsecond))
}

// renew renews the own announcement.
func (t *Turn) renew(ctx context.Context) error {
	return t.update(ctx, func(*state.Announcement) {})
}

// update changes and renews the own announcement. It does nothing if there is none.
func (t *Turn) update(ctx context.Context, change func(*state.Announcement)) error {
	if err := t.writing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.writing.Release(1)
	var own *state.Announcement
	var lost error
	t.locked(func() { own, lost = t.own, t.lost })
	if lost != nil || own == nil {
		return lost
	}
	want := *own
	want.Renewed = t.cluster.Now()
	change(&want)
	return t.put(cluster.WithGate(ctx, nil), &want)
}

// keepRenewing renews the announcement until stop is called. The next renewal retries one that failed.
func (t *Turn) keepRenewing(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(t.opts.Lasts / 3)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = parallel.Guard(func() error { return t.renew(ctx) })
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// stoodStill reports whether the announcement has not been renewed while it was valid. The caller holds mu.
func (t *Turn) stoodStill() bool {
	return time.Since(t.renewed) >= t.opts.Lasts || time.Since(t.renewedAt) >= t.opts.Lasts
}

// isDoubtful reports whether other commands may have taken this one for crashed, or write for its groups. The caller holds mu.
func (t *Turn) isDoubtful() bool { return t.stoodStill() || t.cluster.Conflicts() > t.conflicts }

// Confirm checks, after the command has read again what it writes next, that no other command has declared it crashed:
// the new versions would not tell its writes from those of its successor. A later successor changes what it relies on.
func (t *Turn) Confirm(ctx context.Context) error {
	if t.announced() == nil {
		return nil
	}
	sent := time.Now()
	var there *state.Announcement
	err := t.ledger.Objects.Until(ctx, func(ctx context.Context) (err error) {
		there, err = t.ledger.Announcements.Get(ctx, t.nonce)
		return err
	})
	if err == nil && protocol.Lost(there) {
		err = t.lose(there)
	}
	if err == nil {
		t.locked(func() { t.confirmed = sent })
	}
	return err
}

// lose records that another command has declared this one crashed.
func (t *Turn) lose(now *state.Announcement) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost == nil {
		lost := &LostError{}
		if now != nil {
			lost.By = now.FencedBy
		}
		t.lost = lost
	}
	return t.lost
}

// fence declares a command crashed, pinned to its announcement as it was read. If that has changed, fence does nothing,
// and the caller lists the announcements again.
func (t *Turn) fence(ctx context.Context, dead *state.Announcement) error {
	fenced := *dead
	fenced.Phase, fenced.FencedBy = state.Fenced, t.nonce
	_, err := t.ledger.Announcements.Put(ctx, &fenced)
	if errors.Is(err, ledger.ErrAgain) {
		return nil
	}
	return err
}

// withdraw deletes the own announcement while another command works.
func (t *Turn) withdraw(ctx context.Context) error {
	var stop func()
	t.locked(func() { stop = t.stop })
	stop()
	if err := t.writing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.writing.Release(1)
	return t.remove(ctx)
}

// remove deletes the own announcement. The caller holds writing.
func (t *Turn) remove(ctx context.Context) error {
	unclear := false // an earlier answer was lost
	return t.cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		err := t.ledger.Announcements.Delete(ctx, t.announced())
		if errors.Is(err, ledger.ErrAgain) {
			unclear = unclear || cluster.IsUnclear(err)
			there, unread := t.ledger.Announcements.Get(ctx, t.nonce)
			switch {
			case unread != nil:
				return ledger.Retry(unread)
			case there == nil && unclear:
				err = nil
			case protocol.Lost(there):
				return false, t.lose(there)
			default:
				t.locked(func() { t.own = there })
				return false, nil
			}
		}
		if err == nil {
			t.locked(func() { t.own = nil })
		}
		return err == nil, err
	})
}

// WhoRuns returns the user and host that run the command, as USER@HOST.
func WhoRuns() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil && h != "" {
		host = h
	}
	return name + "@" + host
}

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
			err = t.ledger.Announcements.Delete(ctx, dead)
		} else {
			fewer := *dead
			fewer.Groups = remaining
			_, err = t.ledger.Announcements.Put(ctx, &fewer)
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
		err := t.ledger.Objects.Until(ctx, func(ctx context.Context) (err error) {
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
