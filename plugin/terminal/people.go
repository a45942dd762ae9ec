// Package terminal writes what people read: text in which nothing is left that a terminal would obey, and the one line that
// a command writes over while it works.
package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// MaxCell is the longest text in a cell of a table that is printed to people, in bytes.
const MaxCell = 4096

// People is what a person reads on a terminal: characters that a terminal obeys, or that change the
// order in which text is shown, are written as escapes. Everything that is printed to people goes
// through one. What is data does not: rendered objects, -o json, yaml and events.
type People struct {
	mu  sync.Mutex
	Out io.Writer
	// cut is the beginning of a character whose rest is in the next write.
	cut []byte
}

func (w *People) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.cut) > 0 {
		text = append(w.cut, p...)
		w.cut = nil
	}
	whole := len(text) - incomplete(text)
	w.cut = append(w.cut, text[whole:]...)
	if _, err := w.Out.Write(Visible(text[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// incomplete is how many bytes at the end begin a character and do not end it.
func incomplete(text []byte) int {
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

// Visible is a text with what a terminal would obey as escapes, but for line ends and tabs.
func Visible(text []byte) []byte {
	plain := true
	for i := 0; i < len(text) && plain; {
		r, size := utf8.DecodeRune(text[i:])
		plain = !obeyed(r, size)
		i += size
	}
	if plain {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if obeyed(r, size) {
			out = append(out, escape(r, text[0], size)...)
		} else {
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

func escape(r rune, b byte, size int) string {
	switch {
	case r == utf8.RuneError && size == 1 || r < 0x20 || r == 0x7f:
		return fmt.Sprintf(`\x%02x`, b)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// obeyed is true for what a terminal does not show but do: C0 controls other than line ends and tabs,
// DEL, C1 controls, the controls of the writing direction, separators of lines and paragraphs, what
// makes others invisible, and bytes that are no character (some terminals take them for C1).
func obeyed(r rune, size int) bool {
	switch r {
	case '\n', '\t':
		return false
	case utf8.RuneError:
		return size == 1
	}
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// OneLine is a text as a part of a line: what would end the line is written as an escape, and the text
// is at most so many bytes long.
func OneLine(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	if !strings.ContainsAny(s, "\n\t\r") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`, "\r", `\r`).Replace(s)
}

// Dash is a text, or a dash in place of none.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
