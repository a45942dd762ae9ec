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
	// Work does what the command is there for: no other command writes for its groups.
	Work Turn = iota
	// Fence takes the other command for dead: a write on its announcement that says so, pinned. Then the
	// announcements are listed again.
	Fence
	// Await waits until the other announcement is gone, or is fenced: it withdraws.
	Await
	// Withdraw takes the own announcement back, pinned, waits as Await does, and announces the command anew.
	Withdraw
	// Stop ends the command: another one has taken it for dead.
	Stop
)

// NextTurn decides by all announcements, listed after the command had announced itself. Runs of one deployment group
// follow each other: of two the one whose nonce sorts later yields. Who was fenced is in nobody's way.
func NextTurn(own *state.Announcement, all []*state.Announcement, over func(*state.Announcement) bool) (Turn, *state.Announcement) {
	i := slices.IndexFunc(all, func(a *state.Announcement) bool { return a.Nonce == own.Nonce })
	if i < 0 || Lost(all[i]) {
		return Stop, nil
	}
	turn, other := Work, (*state.Announcement)(nil)
	for _, a := range slices.SortedFunc(slices.Values(all), func(a, b *state.Announcement) int { return cmp.Compare(a.Nonce, b.Nonce) }) {
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

// Lost is true for the own announcement, as it is read after a write to it was refused, of a command that another one
// has taken for dead: it may neither commit nor give anything back.
func Lost(now *state.Announcement) bool { return now == nil || now.Phase == state.Fenced }

// Remaining are the groups that a fenced announcement still names once some are done with. Without any it goes.
func Remaining(fenced *state.Announcement, done []lease.Group) []lease.Group {
	return slices.DeleteFunc(slices.Clone(fenced.Groups), func(g lease.Group) bool { return slices.Contains(done, g) })
}
