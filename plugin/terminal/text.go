// Package terminal writes text for people: it escapes everything that a terminal would interpret, and shows a status line.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxCell is the maximum length of a table cell in text output, in bytes.
const MaxCell = 4096

// SafeWriter escapes control characters and characters that change the order of displayed text. All text output goes through
// one; data output (rendered objects, JSON, YAML and events) does not. It is safe for concurrent use.
type SafeWriter struct {
	mu  sync.Mutex
	Out io.Writer
	// partial is the beginning of a character that the next write completes.
	partial []byte
}

func (w *SafeWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.partial) > 0 {
		text = append(w.partial, p...)
		w.partial = nil
	}
	complete := len(text) - partialLength(text)
	w.partial = append(w.partial, text[complete:]...)
	if _, err := w.Out.Write(Escape(text[:complete])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// partialLength returns the length in bytes of an incomplete character at the end of text.
func partialLength(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// Escape replaces everything that a terminal interprets, except newlines and tabs, with Go escape sequences. It returns text
// itself if there is nothing to replace.
func Escape(text []byte) []byte {
	plain := true
	for i := 0; i < len(text) && plain; {
		r, size := utf8.DecodeRune(text[i:])
		plain = !isControl(r, size)
		i += size
	}
	if plain {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !isControl(r, size):
			out = append(out, text[:size]...)
		case r == utf8.RuneError || r < 0x20 || r == 0x7f:
			out = fmt.Appendf(out, `\x%02x`, text[0])
		case r > 0xffff:
			out = fmt.Appendf(out, `\U%08x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

// isControl reports whether a terminal would interpret a character instead of showing it: C0 controls except newlines and
// tabs, DEL, C1 controls, bidirectional controls, line and paragraph separators, and invalid bytes, which some terminals
// interpret as C1 controls. size is the length of its encoding.
func isControl(r rune, size int) bool {
	switch r {
	case '\n', '\t':
		return false
	case utf8.RuneError:
		return size == 1
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

var lineEscaper = strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`)

// OneLine shortens text to maxBytes bytes and an ellipsis, and escapes its line ends and tabs.
func OneLine(s string, maxBytes int) string {
	if len(s) > maxBytes {
		s = strings.ToValidUTF8(s[:maxBytes], "") + "…"
	}
	return lineEscaper.Replace(s)
}

// Dash returns s, or "-" if it is empty.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
