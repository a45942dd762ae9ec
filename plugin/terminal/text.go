// Package terminal writes text for people: it escapes everything that a terminal would interpret, and shows a status line.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
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

// cells measures texts. It does not depend on the locale: a terminal shows "…" and "■" in one cell.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// Cells returns the number of cells that a text takes on a terminal: two for a wide character, none for a combining one.
func Cells(text string) int { return cells.StringWidth(text) }

// file returns the file that a stream writes to, nil if it is none.
func file(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case *Output:
		return file(s.Out)
	case *SafeWriter:
		return file(s.Out)
	case *Screen:
		return file(s.out)
	case *clearingWriter:
		return file(s.out)
	}
	return nil
}

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f := file(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Width returns the function that returns the current number of columns of a stream: 80 if the terminal does not tell, and 0 if the
// stream is no terminal, so that its text is not folded.
func Width(out io.Writer) func() int {
	if !IsTerminal(out) {
		return func() int { return 0 }
	}
	f := file(out)
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}

// Fold breaks a text between words into lines of at most width cells; 0 breaks nothing. A longer word stays whole, so that it can be
// copied. So does a command, which is everything from "kubectl" on: a shell would run the half of it that a line has.
func Fold(text string, width int) []string {
	if width <= 0 || Cells(text) <= width {
		return []string{text}
	}
	command := ""
	if i := strings.Index(text, "kubectl "); i >= 0 {
		i = strings.LastIndex(text[:i], " ") + 1
		text, command = text[:i], text[i:]
	}
	words := strings.Fields(text)
	if command != "" {
		words = append(words, command)
	}
	return fill(words, width)
}

// Paragraph returns a text as indented lines of at most width cells, broken between words. A longer word stays whole.
func Paragraph(text, indent string, width int) string {
	return indent + strings.Join(fill(strings.Fields(text), width-Cells(indent)), "\n"+indent) + "\n"
}

// fill puts words into lines.
func fill(words []string, width int) []string {
	lines := []string{""}
	for _, word := range words {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case Cells(*last)+1+Cells(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// Hang folds one line of a text. The lines that follow are indented by two more than the first.
func Hang(line string, width int) string {
	if width <= 0 || Cells(line) <= width {
		return line
	}
	rest := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(rest)]
	return indent + strings.Join(Fold(rest, max(width-len(indent)-2, 1)), "\n"+indent+"  ")
}

// FoldLines folds each line of a text. What follows a line has its indent.
func FoldLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		rest := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(rest)]
		lines[i] = indent + strings.Join(Fold(rest, max(width-len(indent), 1)), "\n"+indent)
	}
	return strings.Join(lines, "\n")
}

// Color is the value of --color: when to print colours, "" as ColorAuto.
type Color string

// The values of --color.
const (
	// ColorAuto prints colours on a terminal that is not dumb, unless NO_COLOR (no-color.org) is set.
	ColorAuto   Color = "auto"
	ColorAlways Color = "always"
	ColorNever  Color = "never"
)

// Set reads the value of the flag.
func (c *Color) Set(text string) error {
	if !slices.Contains([]Color{ColorAuto, ColorAlways, ColorNever}, Color(text)) {
		return errors.New("must be 'auto', 'always' or 'never'")
	}
	*c = Color(text)
	return nil
}

func (c *Color) String() string { return string(*c) }

// Type is the type of the flag in its help.
func (c *Color) Type() string { return "string" }

// On reports whether to print colours to a stream.
func (c *Color) On(out io.Writer) bool {
	switch *c {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	return IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
