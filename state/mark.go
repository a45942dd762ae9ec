package state

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"
)

// A run marks the parts that it takes with the nonce of its command's announcement and, from the command's second run
// on, the number of the run. While the announcement exists, the run may give the part back. Once it is gone, the part
// is settled and the mark has no meaning. A command that ends with unfinished work leaves an announcement of the unfinished
// groups alone: the parts of its other groups are settled too.

// nonceAlphabet lists the digits of a nonce in sort order.
const nonceAlphabet = "234567abcdefghijklmnopqrstuvwxyz"

// NewNonce returns the nonce of a command that begins at the given time: 13 letters and digits. If two commands begin
// at least a tenth of a second apart by one clock, the nonce of the first sorts first; so a command that waits for a
// deployment group is not overtaken by later ones (protocol.NextTurn). Only the random rest makes nonces unique.
func NewNonce(begun time.Time) string {
	const long = 7 // 5 bits each: 108 years in tenths of a second
	var when [long]byte
	for i, tenths := long-1, uint64(begun.UnixMilli()/100); i >= 0; i, tenths = i-1, tenths/32 {
		when[i] = nonceAlphabet[tenths%32]
	}
	return string(when[:]) + strings.ToLower(rand.Text()[:13-long])
}

// Mark returns the mark of a run of a command. The first run has number 0.
func Mark(nonce string, run int) string {
	if run == 0 {
		return nonce
	}
	return nonce + "-" + strconv.Itoa(run)
}

// touchesFrom is added to the number in the mark of a run that has only touched a part, which its lease held before. So a version of
// this program, or of the guard, that does not know it takes the mark for that of any other run of the command.
const touchesFrom = 500_000_000

// readMark returns a mark without touchesFrom, and whether it had them.
func readMark(stored string) (mark string, touched bool) {
	nonce, number, _ := strings.Cut(stored, "-")
	if n, err := strconv.Atoi(number); err == nil && n >= touchesFrom {
		return Mark(nonce, n-touchesFrom), true
	}
	return stored, false
}

// touchMark returns a mark with touchesFrom.
func touchMark(mark string) string {
	nonce, number, _ := strings.Cut(mark, "-")
	n, _ := strconv.Atoi(number) // the first run has no number
	return Mark(nonce, n+touchesFrom)
}

// NonceOf returns the nonce of the command whose run has the mark.
func NonceOf(mark string) string {
	nonce, _, _ := strings.Cut(mark, "-")
	return nonce
}

// Nonces returns the nonces of the marks on the claim, in the order of its parts.
func (c *Claim) Nonces() (nonces []string) {
	for _, p := range c.Parts {
		if p.Run != "" {
			nonces = append(nonces, NonceOf(p.Run))
		}
	}
	return nonces
}

// Meet removes the marks of commands that are not announced, and sets AtWork to the first command that is.
func (c *Claim) Meet(announced map[string]*Announcement, now time.Time) {
	c.Settle(func(p Part) bool { return announced[NonceOf(p.Run)].HasEndedFor(p.Lease.Group()) })
	if nonces := c.Nonces(); len(nonces) > 0 {
		c.AtWork = announced[nonces[0]].Stands(now)
	}
}

// Settle removes the marks of runs that have ended.
func (c *Claim) Settle(ended func(marked Part) bool) {
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Run != "" && ended(*p) {
			p.Run, p.Held = "", false
		}
	}
}

// SettleHeld removes the marks of other commands from parts that their lease held before.
func (c *Claim) SettleHeld(own func(nonce string) bool) {
	c.Settle(func(p Part) bool { return p.Held && !own(NonceOf(p.Run)) })
}
