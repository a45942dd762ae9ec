package turn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
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
	err := t.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		conflicts := t.cluster.Conflicts()
		now, err := t.ledger.Announce(ctx, want)
		if errors.Is(err, ledger.ErrAgain) {
			answer, _ = errors.AsType[*apierrors.StatusError](err)
			there, unread := t.ledger.Announcement(ctx, t.nonce)
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
	err := t.ledger.Until(ctx, func(ctx context.Context) (err error) {
		there, err = t.ledger.Announcement(ctx, t.nonce)
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
	_, err := t.ledger.Announce(ctx, &fenced)
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
	return t.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		err := t.ledger.Unannounce(ctx, t.announced())
		if errors.Is(err, ledger.ErrAgain) {
			unclear = unclear || cluster.IsUnclear(err)
			there, unread := t.ledger.Announcement(ctx, t.nonce)
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
