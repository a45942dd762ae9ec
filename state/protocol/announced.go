package protocol

import (
	"cmp"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Turn is what a command that has announced itself does next.
type Turn int

// The turns.
const (
	// Work starts the work of the command: no other command writes for its groups.
	Work Turn = iota
	// Fence declares the other command dead with a pinned write to its announcement. The command then lists the
	// announcements again.
	Fence
	// Await waits until the other announcement is deleted or fenced. The other command withdraws.
	Await
	// Withdraw deletes the command's own announcement (pinned), waits like Await, and announces the command again.
	Withdraw
	// Stop ends the command: another one has declared it dead.
	Stop
)

// NextTurn decides from all announcements, listed after the command announced itself. Commands for one deployment group
// run one after the other: of two, the one whose nonce sorts later yields. Fenced commands block nobody. It also
// returns the other announcement that the turn refers to.
func NextTurn(
	own *state.Announcement, all []*state.Announcement, over func(*state.Announcement) bool,
) (Turn, *state.Announcement) {
	i := slices.IndexFunc(all, func(a *state.Announcement) bool { return a.Nonce == own.Nonce })
	if i < 0 || Lost(all[i]) {
		return Stop, nil
	}
	turn, other := Work, (*state.Announcement)(nil)
	byNonce := func(a, b *state.Announcement) int { return cmp.Compare(a.Nonce, b.Nonce) }
	for _, a := range slices.SortedFunc(slices.Values(all), byNonce) {
		switch {
		case a.Nonce == own.Nonce, a.Phase == state.Fenced, !a.Names(own.Groups...):
		case over(a):
			return Fence, a
		case turn == Work && a.Nonce < own.Nonce:
			turn, other = Withdraw, a
		case turn == Work:
			turn, other = Await, a
		}
	}
	return turn, other
}

// Lost reports whether another command has declared this one dead. now is its own announcement, read after a refused
// write, or nil. Such a command may neither commit nor give anything back.
func Lost(now *state.Announcement) bool { return now == nil || now.Phase == state.Fenced }

// Remaining returns the groups that a fenced announcement still names after some are done. If none remain, the
// announcement is deleted.
func Remaining(fenced *state.Announcement, done []lease.Group) []lease.Group {
	return slices.DeleteFunc(slices.Clone(fenced.Groups), func(g lease.Group) bool { return slices.Contains(done, g) })
}
