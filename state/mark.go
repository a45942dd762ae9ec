package state

import (
	"crypto/rand"
	"strconv"
	"strings"
	"time"
)

// A mark is what a run writes on the parts that it takes: the nonce of the command's announcement and, from the
// command's second run on, the number of the run. As long as the announcement is there the run may give the part back.
// Once it is gone the part is settled, and the mark says nothing any more.

// lettersOfNonces are in the order in which they sort.
const lettersOfNonces = "234567abcdefghijklmnopqrstuvwxyz"

// NewNonce is a nonce for a command that begins at a moment: 13 letters and digits. Of two commands that began a tenth of a second
// apart, by one clock, that of the first sorts first; so who waits for a deployment group is not overtaken by those who come later
// (protocol.NextTurn). That they differ rests on chance alone.
func NewNonce(begun time.Time) string {
	const long = 7 // five bits each: 108 years of tenths of a second
	var when [long]byte
	for i, tenths := long-1, uint64(begun.UnixMilli()/100); i >= 0; i, tenths = i-1, tenths/32 {
		when[i] = lettersOfNonces[tenths%32]
	}
	return string(when[:]) + strings.ToLower(rand.Text()[:13-long])
}

// Mark is the mark of a command's run; the first one has number 0.
func Mark(nonce string, run int) string {
	if run == 0 {
		return nonce
	}
	return nonce + "-" + strconv.Itoa(run)
}

// NonceOf is the nonce of the command whose run has a mark.
func NonceOf(mark string) string {
	nonce, _, _ := strings.Cut(mark, "-")
	return nonce
}

// Nonces are the nonces of the commands whose marks are on the claim, each once.
func (c *Claim) Nonces() (nonces []string) {
	for _, p := range c.Parts {
		if p.Run != "" {
			nonces = append(nonces, NonceOf(p.Run))
		}
	}
	return nonces
}

// Meet takes the marks of commands off the claim, as it was read, that are not among those announced, and notes who is
// at work on it.
func (c *Claim) Meet(announced map[string]*Announcement, now time.Time) {
	c.Settle(func(mark string) bool { return announced[NonceOf(mark)] == nil })
	for _, nonce := range c.Nonces() {
		c.AtWork = announced[nonce].Stands(now)
		return
	}
}

// Settle takes the marks off the claim, as it was read, of runs that have ended.
func (c *Claim) Settle(ended func(mark string) bool) {
	for i := range c.Parts {
		if p := &c.Parts[i]; p.Run != "" && ended(p.Run) {
			p.Run = ""
		}
	}
}
