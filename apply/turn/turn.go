// Package turn makes commands that write for the same deployment groups take turns. A command announces itself before
// its first write, waits for its turn, renews the announcement while it works, and deletes it at the end, which is its
// commit. docs/ledger.md explains it; package state/protocol makes the decisions.
package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Lasts is how long an announcement is valid without a renewal, unless Options say otherwise. The command renews it three times as often.
const Lasts = 15 * time.Second

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
	// Lasts is how long the announcement is valid without a renewal, in whole seconds; 0 is the constant Lasts. Others that wait watch it for
	// its Patience.
	Lasts time.Duration
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
	// open is true while it is the command's turn. met is true if other commands may have written for the groups before.
	open, met bool
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
	opts.Lasts = cmp.Or(opts.Lasts, Lasts)
	t := &Turn{cluster: c, ledger: l, opts: opts, nonce: state.NewNonce(c.Now()), opening: semaphore.NewWeighted(1), writing: semaphore.NewWeighted(1), asking: semaphore.NewWeighted(1), watch: protocol.Watch{}}
	t.groups = slices.Clone(groups)
	slices.SortFunc(t.groups, lease.Group.Compare)
	t.groups = slices.Compact(t.groups)
	l.Runs.Own(t.nonce)
	c.Cache.Memory.Own(t.nonce)
	return t
}

// Nonce returns the command's nonce.
func (t *Turn) Nonce() string { return t.nonce }

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
// other commands may have written for the groups until the turn comes, they fail with report.ErrChanged.
func (t *Turn) Context(ctx context.Context) context.Context {
	if len(t.groups) == 0 {
		return ctx
	}
	inTurn := t.isOpen()
	return cluster.WithGate(ctx, func(ctx context.Context, anew bool) (time.Time, error) { return t.enter(ctx, inTurn, anew) })
}

// Came is what was found when the command's turn came.
type Came struct {
	// Claims are those of Owners as they were then; neither is known if the turn had come before.
	Claims []*state.Claim
	Owners []string
	// Met is true if other commands may have written for the groups since the command has begun, or this one succeeds crashed ones:
	// Fenced are the announcements of those.
	Met    bool
	Fenced []*state.Announcement
	// Closing is true if an uninstall was removing the ledger. One that begins later sees the command's announcement and refuses.
	Closing bool
}

// Fenced returns the announcements of crashed commands that this one succeeds, once its turn has come.
func (t *Turn) Fenced() (fenced []*state.Announcement) {
	t.locked(func() { fenced = t.fenced })
	return fenced
}

// Begin waits for the command's turn before there is anything to write. A dry run has no turn.
func (t *Turn) Begin(ctx context.Context) (came Came, err error) {
	if !t.cluster.Waits() || len(t.groups) == 0 {
		return came, nil
	}
	if came.Claims, err = t.begin(ctx); err != nil {
		return came, err
	}
	if came.Claims != nil {
		came.Owners = t.owners()
	}
	_, err = t.enter(ctx, true, false)
	t.locked(func() {
		came.Met, came.Fenced, came.Closing = t.met && came.Claims != nil, slices.Clone(t.fenced), t.closing
	})
	return came, err
}

// begin announces the command and waits until it is its turn. It returns the claims of the owners as they are then, which is not nil; nil
// if the turn had come before.
func (t *Turn) begin(ctx context.Context) ([]*state.Claim, error) {
	if t.isOpen() {
		return nil, nil
	}
	if err := t.opening.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer t.opening.Release(1)
	ctx = cluster.WithGate(ctx, nil)
	if t.isOpen() {
		return nil, nil
	}
	waited, begun := false, time.Now()
	told := map[string]bool{}
	for {
		if err := t.announce(ctx); err != nil {
			return nil, err
		}
		all, claims, err := t.ledger.Announced(ctx, t.owners())
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(all, func(a *state.Announcement) bool { return a.Unreadable != "" && a.Names(t.groups...) }); i >= 0 {
			return nil, t.ledger.Announcements.Unreadable(all[i])
		}
		next, other := protocol.NextTurn(t.announced(), all, t.isOver)
		switch next {
		case protocol.Work:
			closing := slices.ContainsFunc(all, func(a *state.Announcement) bool { return a.Phase == state.Closing })
			if closing {
				if closing, err = t.ledger.Announcements.IsClosing(ctx); err != nil {
					return nil, err
				}
			}
			fenced := slices.DeleteFunc(all, func(a *state.Announcement) bool { return a.Phase != state.Fenced || !a.Names(t.groups...) })
			met := waited || t.ledger.Runs.Met(t.groups) || len(fenced) > 0
			t.locked(func() { t.open, t.met, t.fenced, t.closing = true, met, fenced, closing })
			return append([]*state.Claim{}, claims...), nil
		case protocol.Stop:
			return nil, t.lose(nil)
		case protocol.Fence:
			waited = true
			if err := t.fence(ctx, other); err != nil {
				return nil, err
			}
			continue
		case protocol.Withdraw:
			if err := t.withdraw(ctx); err != nil {
				return nil, err
			}
		case protocol.Await:
		}
		waited = true
		if !told[other.Nonce] && t.opts.Waiting != nil {
			told[other.Nonce] = true
			t.opts.Waiting(other)
		}
		if err := t.await(ctx, other, begun); err != nil {
			return nil, err
		}
	}
}

// locked runs do with the mutex held, and releases it even if do panics.
func (t *Turn) locked(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}

// owners returns the owners of the turn's groups, sorted.
func (t *Turn) owners() (owners []string) {
	for _, g := range t.groups {
		owners = append(owners, g.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
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
		now, err := t.ledger.Announcements.Get(ctx, other.Nonce)
		switch {
		case errors.Is(err, ledger.ErrAgain):
		case err != nil:
			return err
		case protocol.Lost(now), !now.Names(t.groups...), t.isOver(now):
			return nil
		}
	}
}

// asksEvery is how old the last look at the own announcement may be when a write is sent. So who was taken for crashed
// soon writes nothing more, though it renews its announcement less often.
const asksEvery = time.Second

// enter admits an attempt of a write that depends on what was read in the turn, or before it, or anew since. It returns until when the
// announcement is valid: others may take the command for crashed then.
func (t *Turn) enter(ctx context.Context, inTurn, anew bool) (until time.Time, err error) {
	var open, old bool
	var lost error
	t.locked(func() { open, lost = t.open, t.lost })
	if !open && lost == nil {
		if _, err := t.begin(ctx); err != nil {
			return until, err
		}
	}
	if err := t.stillWrites(ctx, anew); err != nil {
		return until, err
	}
	t.locked(func() {
		old, lost = t.met && !inTurn, t.lost
		if t.own != nil {
			until = t.renewed.Add(t.opts.Lasts)
		}
	})
	if lost == nil && old {
		lost = report.ErrChanged
	}
	return until, lost
}

// stillWrites asks whether the command may still write, if that is in doubt: others may have taken it for crashed, or
// write for its groups.
func (t *Turn) stillWrites(ctx context.Context, anew bool) error {
	began := time.Now()
	doubt := func() (renew, look bool) {
		t.locked(func() {
			if t.own == nil || t.lost != nil {
				return
			}
			renew = t.isDoubtful()
			look = anew && !t.confirmed.After(began) || time.Since(t.confirmed) >= asksEvery
		})
		return renew, look
	}
	if renew, look := doubt(); !renew && !look {
		return nil
	}
	if err := t.asking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.asking.Release(1)
	switch renew, look := doubt(); {
	case renew:
		return t.renew(ctx)
	case look:
		return t.Confirm(cluster.Apart(ctx))
	}
	return nil
}
