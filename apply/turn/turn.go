// Package turn makes the commands that write for the same deployment groups follow each other. A command announces
// itself before its first write, waits for its turn, renews its announcement while it works, and takes it back at its
// end: that is its commit. docs/ledger.md explains the protocol, and package state/protocol decides.
package turn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Lasts is for how long an announcement holds that is not renewed. It is renewed three times as often.
const Lasts = 15 * time.Second

// ErrAgain says that the command had to wait for another one, or has taken one for dead: what it has read is old, and
// it has to read and plan again before it writes.
var ErrAgain = errors.New("another command has written for the same leases meanwhile")

// LostError says that another command has taken this one for dead.
type LostError struct {
	// By is the command that did so; it is empty where that is not known.
	By string
}

func (e *LostError) Error() string {
	by := "another command"
	if e.By != "" {
		by = "run " + e.By
	}
	return by + " has taken this one for crashed and goes on in its place: this one stood still, or could not reach the API server, for too long. " +
		"It writes nothing more and gives nothing back; run it again"
}

// Options say who announces itself, and whom it waits for.
type Options struct {
	// By is who runs the command, as USER@HOST; Version is that of the program.
	By, Version string
	// Dead says which commands count as crashed, at a moment by the API server's clock.
	Dead func(a *state.Announcement, now time.Time) bool
	// Waiting is told, once, of each command that is waited for.
	Waiting func(*state.Announcement)
}

// Turn is a command's turn to write for deployment groups. Its methods may be called concurrently.
type Turn struct {
	cluster *cluster.Cluster
	ledger  ledger.Ledger
	opts    Options
	nonce   string
	groups  []lease.Group

	// opening is held by the first write, while the others wait.
	opening *semaphore.Weighted
	// writing is held by who writes the own announcement.
	writing *semaphore.Weighted

	mu sync.Mutex
	// own is the announcement as it was written last; nil before and after.
	own *state.Announcement
	// open is true once it is the command's turn; round counts how often what was read has become old.
	open  bool
	round int
	// marks counts the runs of the command.
	marks int
	// renewed is when the last renewal that was answered was sent, by the steady clock.
	renewed time.Time
	// conflicts is how many of the command's writes had been refused by then.
	conflicts int64
	lost      error
	// rests are looks at what the command's plan rests on.
	rests []Look
	// closing is true where an uninstall was removing the ledger when the command's turn came.
	closing bool
	// fenced are the announcements of dead commands in whose place this one works.
	fenced []*state.Announcement
	// unfinished are the groups for which something was changed that was neither ended nor undone.
	unfinished []lease.Group
	// stop ends the renewals, and waits for the last.
	stop func()
}

// New is a turn that has not begun. Nothing is written before the first write of the command.
func New(c *cluster.Cluster, l ledger.Ledger, groups []lease.Group, opts Options) *Turn {
	t := &Turn{cluster: c, ledger: l, opts: opts, nonce: state.NewNonce(c.Now()), opening: semaphore.NewWeighted(1), writing: semaphore.NewWeighted(1)}
	t.groups = slices.Clone(groups)
	slices.SortFunc(t.groups, lease.Group.Compare)
	t.groups = slices.Compact(t.groups)
	l.Own(t.nonce)
	return t
}

// Nonce is the nonce of the command; that of no turn is empty.
func (t *Turn) Nonce() string {
	if t == nil {
		return ""
	}
	return t.nonce
}

// Ledger is the ledger of the command.
func (t *Turn) Ledger() ledger.Ledger { return t.ledger }

// Mark is the mark of the next run of the command.
func (t *Turn) Mark() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks++
	return state.Mark(t.nonce, t.marks-1)
}

// Context is a context whose writes wait for the command's turn. What is decided in it rests on what is read from now
// on: where that becomes old before the first write, the writes fail with ErrAgain.
func (t *Turn) Context(ctx context.Context) context.Context {
	if len(t.groups) == 0 {
		return ctx
	}
	round := t.readIn()
	ctx = context.WithValue(ctx, inTurnKey{}, t.isOpen())
	return cluster.WithGate(ctx, func(ctx context.Context) error { return t.enter(ctx, round) })
}

// Begin waits for the command's turn before there is anything to write. ErrAgain says that what was read before it is
// old; a context that is made after it is of now.
func (t *Turn) Begin(ctx context.Context) error {
	if !t.cluster.Waits() || len(t.groups) == 0 {
		return nil
	}
	round := t.readIn()
	return t.enter(ctx, round)
}

// enter lets a write go that rests on what was read in a round.
func (t *Turn) enter(ctx context.Context, round int) error {
	var open, old bool
	var lost error
	t.locked(func() { open, lost = t.open, t.lost })
	if !open && lost == nil {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	var since time.Duration
	met := false
	t.locked(func() {
		old, lost, since = t.round > round, t.lost, time.Since(t.renewed)
		met = t.cluster.Conflicts() > t.conflicts
	})
	switch {
	case lost != nil:
		return lost
	case old:
		return ErrAgain
	case since >= Lasts, met: // the process stood still, or others write for its groups
		return t.renew(ctx)
	}
	return nil
}

// Succeeds is true where the command works in the place of one that was taken for dead: what that one may still write
// is to fail.
func (t *Turn) Succeeds(g lease.Group) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.fenced, func(a *state.Announcement) bool { return a.Names(g) })
}

// Closing is true where an uninstall was removing the ledger when the command's turn came. One that begins later sees the
// command, and refuses.
func (t *Turn) Closing() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closing
}

// begin announces the command and waits until it is its turn.
func (t *Turn) begin(ctx context.Context) error {
	if err := t.opening.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.opening.Release(1)
	ctx = cluster.WithGate(ctx, nil)
	if t.isOpen() {
		return nil
	}
	waited, begun := false, time.Now()
	told := map[string]bool{}
	for {
		if err := t.announce(ctx); err != nil {
			return err
		}
		all, err := t.ledger.Announcements(ctx)
		if err != nil {
			return err
		}
		now, own := t.cluster.Now(), t.announced()
		next, other := protocol.NextTurn(own, all, func(a *state.Announcement) bool { return t.opts.Dead(a, now) })
		switch next {
		case protocol.Work:
			closing := slices.ContainsFunc(all, func(a *state.Announcement) bool { return a.Phase == state.Closing })
			fenced := slices.DeleteFunc(all, func(a *state.Announcement) bool { return a.Phase != state.Fenced || !a.Names(t.groups...) })
			t.locked(func() { t.fenced, t.closing = fenced, closing })
			return t.takeUp(ctx, waited || t.ledger.Met(t.groups) || len(fenced) > 0)
		case protocol.Stop:
			return t.lose(nil)
		case protocol.Fence:
			waited = true
			if err := t.fence(ctx, other); err != nil {
				return err
			}
			continue
		case protocol.Withdraw:
			if err := t.takeBack(ctx); err != nil {
				return err
			}
		case protocol.Await:
		}
		waited = true
		if !told[other.Nonce] && t.opts.Waiting != nil {
			told[other.Nonce] = true
			t.opts.Waiting(other)
		}
		if err := t.await(ctx, other, begun); err != nil {
			return err
		}
	}
}

// locked does something short with what the turn knows. A fault in it leaves nothing locked.
func (t *Turn) locked(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}

// readIn is the round in which is read what is read now.
func (t *Turn) readIn() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.round
}

func (t *Turn) isOpen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// await waits until another command has ended, was taken for dead, or counts as dead. The longer a command has waited the more
// often it looks, so that those that come later seldom overtake it.
func (t *Turn) await(ctx context.Context, other *state.Announcement, since time.Time) error {
	const most, least = 300 * time.Millisecond, 100 * time.Millisecond
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(least, most-time.Since(since)/50)):
		}
		now, err := t.ledger.Announcement(ctx, other.Nonce)
		switch {
		case errors.Is(err, ledger.ErrAgain):
		case err != nil:
			return err
		case protocol.Lost(now), !now.Names(t.groups...), t.opts.Dead(now, t.cluster.Now()):
			return nil
		}
	}
}

// Groups are the deployment groups that the command writes for.
func (t *Turn) Groups() []lease.Group { return slices.Clone(t.groups) }
