package document

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Raw returns a scalar as it was written, or "". It reports no problem.
func (c Cursor) Raw() string {
	if !c.IsScalar() || c.IsNull() {
		return ""
	}
	return c.node.Value
}

// Text returns a text, or "" if it is missing or null. Any other kind of value is an error, in a strict document also
// an unquoted number or boolean.
func (c Cursor) Text() string {
	text, _ := c.ValidText()
	return text
}

// ValidText is Text; ok is false if it has reported an error.
func (c Cursor) ValidText() (text string, ok bool) {
	if c.IsNull() {
		return "", true
	}
	if !c.IsScalar() {
		c.Errorf("expected a text, found %s", c.kind())
		return "", false
	}
	if c.doc.Strict && c.node.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		switch c.node.Tag {
		case "!!int", "!!float", "!!bool":
			c.Errorf("expected a text, found %s; write %s", c.kind(), quote(c.node.Value))
			return "", false
		}
	}
	return c.node.Value, true
}

// Word returns a scalar as it was written. Any other kind of value is an error.
func (c Cursor) Word() string {
	if !c.IsNull() && !c.IsScalar() {
		c.Errorf("expected a text, found %s", c.kind())
	}
	return c.Raw()
}

// Uint returns a number between least and most. ok is false if it is missing, or if it is not such a number, which is
// an error. what describes it in the message, for example "a port".
func (c Cursor) Uint(least, most uint64, what string) (uint64, bool) {
	if c.IsNull() {
		return 0, false
	}
	if c.IsScalar() && c.node.Tag == "!!str" {
		if n, err := strconv.ParseUint(c.node.Value, 10, 64); err == nil {
			c.Errorf("%s is a text, not a number; write %d", quote(c.node.Value), n)
			return 0, false
		}
	}
	n, ok := c.uint()
	if ok && c.doc.Integers && c.node.Tag == "!!float" {
		c.Errorf("%s is not written as a whole number; write %d", shown(c.node), n)
		return 0, false
	}
	if !ok || n < least || n > most {
		c.notInRange(least, most, what)
		return 0, false
	}
	return n, c.checkLeadingZero(n)
}

// checkLeadingZero reports a number that begins with a zero: YAML reads 0443 as octal and 0480 as decimal. It returns
// false if that is an error, which it is only in a strict document.
func (c Cursor) checkLeadingZero(n uint64) bool {
	text := strings.TrimPrefix(c.node.Value, "+")
	switch {
	case len(text) < 2 || text[0] != '0' || text[1] != '_' && (text[1] < '0' || text[1] > '9'):
		return true
	case c.doc.Strict:
		c.Errorf("%s begins with a zero, and YAML reads it as %d; write the number without the zero", shown(c.node), n)
		return false
	}
	c.Warnf("%s begins with a zero and is read as %d", shown(c.node), n)
	return true
}

// Sequence returns a number from 1 to most, which may also be written as a text, as Akash writes dseq.
func (c Cursor) Sequence(most uint64, what string) uint64 {
	if c.IsNull() {
		return 0
	}
	if c.IsScalar() && c.node.Tag == "!!str" {
		n, err := strconv.ParseUint(c.node.Value, 10, 64)
		if err == nil && n > 0 && n <= most && c.node.Value == strconv.FormatUint(n, 10) {
			return n
		}
		c.notInRange(1, most, what)
		return 0
	}
	n, _ := c.Uint(1, most, what)
	return n
}

func (c Cursor) notInRange(least, most uint64, what string) {
	found := c.kind()
	if c.IsScalar() {
		found = shown(c.node)
	}
	n, err := strconv.ParseUint(c.node.Value, 10, 64)
	if tooLarge := errors.Is(err, strconv.ErrRange) || err == nil && n > most; !tooLarge && most >= math.MaxUint32 {
		c.Errorf("%s is not %s (%d or more)", found, what, least)
		return
	}
	c.Errorf("%s is not %s (%d to %d)", found, what, least, most)
}

// uint reads all forms of numbers in YAML, also 0x50, 0o120, 1_000 and 8.08e3.
func (c Cursor) uint() (uint64, bool) {
	if !c.IsScalar() {
		return 0, false
	}
	switch c.node.Tag {
	case "!!int":
		text := strings.TrimPrefix(strings.ReplaceAll(c.node.Value, "_", ""), "+")
		n, err := strconv.ParseUint(text, 0, 64)
		return n, err == nil
	case "!!float":
		f, err := strconv.ParseFloat(strings.ReplaceAll(c.node.Value, "_", ""), 64)
		if err != nil || f < 0 || f != math.Trunc(f) || f >= 1<<53 {
			return 0, false
		}
		return uint64(f), true
	}
	return 0, false
}

// Float returns a number. ok is false if it is missing, or if it is not a number, which is an error.
func (c Cursor) Float() (float64, bool) {
	if c.IsNull() {
		return 0, false
	}
	if n, ok := c.uint(); ok {
		return float64(n), true
	}
	if c.IsScalar() && (c.node.Tag == "!!int" || c.node.Tag == "!!float" || c.node.Tag == "!!str" && !c.doc.Strict) {
		if f, err := strconv.ParseFloat(c.node.Value, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, true
		}
	}
	c.Errorf("expected a number, found %s", c.kind())
	return 0, false
}

// Bool returns a boolean, or false if it is missing. Any other kind of value is an error. If the document is not
// strict, the words of YAML 1.1 (yes, no, on, off) are accepted too.
func (c Cursor) Bool() bool {
	if c.IsNull() {
		return false
	}
	if c.IsScalar() {
		switch {
		case c.node.Tag == "!!bool":
			return strings.EqualFold(c.node.Value, "true")
		case c.doc.Strict:
		case isOneOf(c.node.Value, "y", "yes", "on"):
			return true
		case isOneOf(c.node.Value, "n", "no", "off"):
			return false
		}
	}
	c.Errorf("expected true or false, found %s", c.kind())
	return false
}

func isOneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w || s == strings.ToUpper(w) || len(w) > 1 && s == strings.ToUpper(w[:1])+w[1:] {
			return true
		}
	}
	return false
}

// Duration returns a duration written like 60s, 1m30s or 500ms, or 0 if it is missing. Anything else is an error.
func (c Cursor) Duration() time.Duration {
	if c.IsNull() {
		return 0
	}
	if !c.IsScalar() {
		c.Errorf("expected a duration, found %s", c.kind())
		return 0
	}
	d, err := time.ParseDuration(c.node.Value)
	switch {
	case err != nil || c.node.Tag != "!!str" && c.node.Value != "0":
		c.Errorf("%s is not a duration such as 60s, 1m30s or 500ms", quote(c.node.Value))
	case d < 0:
		c.Errorf("the duration %s is negative", plain(c.node.Value))
	case d%time.Millisecond != 0:
		c.Errorf("the duration %s is not a whole number of milliseconds", plain(c.node.Value))
	default:
		return d
	}
	return 0
}

// quote formats a value for a message: shortened and escaped, so that a terminal interprets none of it.
func quote(s string) string { return strconv.Quote(lease.Clip(s)) }

// shown formats a scalar for a message: a text in quotes, a number as it was written.
func shown(n *yaml.Node) string {
	if n.Tag == "!!str" {
		return quote(n.Value)
	}
	return plain(n.Value)
}

// plain returns a value without quotes if it looks like a number or a word.
func plain(value string) string {
	special := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("+-._:", r)
	}
	if value == "" || len(value) > 64 || strings.ContainsFunc(value, special) {
		return quote(value)
	}
	return value
}
