// Package turn makes commands that write for the same deployment groups take turns. A command announces itself before
// its first write, waits for its turn, renews the announcement while it works, and deletes it at the end, which is its
// commit. docs/ledger.md explains the protocol; package state/protocol makes the decisions.
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

// Lasts is how long an announcement is valid without a renewal. The command renews it three times as often.
const Lasts = 15 * time.Second

// ErrAgain reports that the command has waited for another one or succeeds a crashed one: what it has read is out of
// date, and it has to read and plan again before it writes.
var ErrAgain = errors.New("another command has written for the same leases meanwhile")

// LostError reports that another command has declared this one crashed.
type LostError struct {
	// By is the run of the other command; empty if unknown.
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

// Options configure a turn.
type Options struct {
	// By is who runs the command, as USER@HOST; Version is the program's version.
	By, Version string
	// AssumeCrashed takes every other command for crashed.
	AssumeCrashed bool
	// Waiting is called once for each command that this one waits for.
	Waiting func(*state.Announcement)
}

// Turn is a command's turn to write for deployment groups. Its methods are safe for concurrent use.
type Turn struct {
	cluster *cluster.Cluster
	ledger  ledger.Ledger
	opts    Options
	nonce   string
	groups  []lease.Group

	// opening is held by the first write while it takes the turn; other writes wait for it.
	opening *semaphore.Weighted
	// writing is held while the own announcement is written, asking while a write asks whether the command may still
	// write.
	writing, asking *semaphore.Weighted
	// watch is what the command has seen of others that it waits for. Whoever holds opening uses it.
	watch protocol.Watch

	mu sync.Mutex
	// own is the announcement as it was last written; nil before and after the turn.
	own *state.Announcement
	// open is true while it is the command's turn; round counts how often what was read became out of date.
	open  bool
	round int
	// marks counts the command's runs.
	marks int
	// renewed is when the last successful renewal was sent, by the monotonic clock; renewedAt is the same by the wall
	// clock, which also counts the time for which the machine was suspended.
	renewed, renewedAt time.Time
	// confirmed is when the request was sent by which the command last saw its announcement as it wrote it.
	confirmed time.Time
	// conflicts is how many of the command's writes had been refused by then.
	conflicts int64
	lost      error
	// rests check what the command depends on.
	rests []Look
	// closing is true if an uninstall was removing the ledger when the turn began.
	closing bool
	// fenced are the announcements of crashed commands that this one succeeds.
	fenced []*state.Announcement
	// unfinished are the groups for which changes were neither completed nor undone.
	unfinished []lease.Group
	// stop ends the renewals and waits for the last one.
	stop func()
}

// New returns a turn that has not begun. It writes nothing before the command's first write.
func New(c *cluster.Cluster, l ledger.Ledger, groups []lease.Group, opts Options) *Turn {
	t := &Turn{cluster: c, ledger: l, opts: opts, nonce: state.NewNonce(c.Now()), opening: semaphore.NewWeighted(1), writing: semaphore.NewWeighted(1), asking: semaphore.NewWeighted(1), watch: protocol.Watch{}}
	t.groups = slices.Clone(groups)
	slices.SortFunc(t.groups, lease.Group.Compare)
	t.groups = slices.Compact(t.groups)
	l.Own(t.nonce)
	return t
}

// Nonce returns the command's nonce, or "" for a nil turn.
func (t *Turn) Nonce() string {
	if t == nil {
		return ""
	}
	return t.nonce
}

// Ledger returns the command's ledger.
func (t *Turn) Ledger() ledger.Ledger { return t.ledger }

// Mark returns the mark of the command's next run.
func (t *Turn) Mark() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks++
	return state.Mark(t.nonce, t.marks-1)
}

// Context returns a context whose writes wait for the command's turn. The writes depend on what is read from now on: if
// that is out of date when the turn comes, they fail with ErrAgain.
func (t *Turn) Context(ctx context.Context) context.Context {
	if len(t.groups) == 0 {
		return ctx
	}
	round := t.currentRound()
	ctx = context.WithValue(ctx, inTurnKey{}, t.isOpen())
	return cluster.WithGate(ctx, func(ctx context.Context, anew bool) (time.Time, error) { return t.enter(ctx, round, anew) })
}

// Begin waits for the command's turn before there is anything to write. ErrAgain means that what was read before is out
// of date; make a new context then.
func (t *Turn) Begin(ctx context.Context) error {
	if !t.cluster.Waits() || len(t.groups) == 0 {
		return nil
	}
	_, err := t.enter(ctx, t.currentRound(), false)
	return err
}

// Fenced returns the announcements of the crashed commands that this one succeeds.
func (t *Turn) Fenced() []*state.Announcement {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.fenced)
}

// Closing reports whether an uninstall was removing the ledger when the command's turn came. One that begins later sees
// the command's announcement and refuses.
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
		all, claims, err := t.ledger.Announced(ctx, t.Owners())
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(a *state.Announcement) bool { return a.Unreadable != "" && a.Names(t.groups...) }); i >= 0 {
			return t.ledger.Unreadable(all[i])
		}
		next, other := protocol.NextTurn(t.announced(), all, t.isOver)
		switch next {
		case protocol.Work:
			closing := slices.ContainsFunc(all, func(a *state.Announcement) bool { return a.Phase == state.Closing })
			if closing {
				if closing, err = t.ledger.IsClosing(ctx); err != nil {
					return err
				}
			}
			fenced := slices.DeleteFunc(all, func(a *state.Announcement) bool { return a.Phase != state.Fenced || !a.Names(t.groups...) })
			t.locked(func() { t.fenced, t.closing = fenced, closing })
			return t.takeTurn(ctx, claims, waited || t.ledger.Met(t.groups) || len(fenced) > 0)
		case protocol.Stop:
			return t.lose(nil)
		case protocol.Fence:
			waited = true
			if err := t.fence(ctx, other); err != nil {
				return err
			}
			continue
		case protocol.Withdraw:
			if err := t.withdraw(ctx); err != nil {
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

// locked runs do with the mutex held, and releases it even if do panics.
func (t *Turn) locked(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}

// currentRound returns the round to which reads belong now.
func (t *Turn) currentRound() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.round
}

func (t *Turn) isOpen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open
}

// isOver reports whether another command counts as crashed.
func (t *Turn) isOver(a *state.Announcement) bool {
	over := t.watch.Over(a, time.Now())
	return over || t.opts.AssumeCrashed && a.Phase != state.Closing
}

// await waits until another command has ended, was fenced, or counts as crashed. The longer this command has waited,
// the more often it polls, so that later commands seldom overtake it.
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
		case protocol.Lost(now), !now.Names(t.groups...), t.isOver(now):
			return nil
		}
	}
}
