package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Screen shows texts on the whole of a terminal, each in place of the one before. At the end the terminal shows what it did before.
type Screen struct {
	out  io.Writer
	size func() (columns, rows int)
	text bytes.Buffer
	open bool
}

// HasScreen reports whether a stream is a terminal whose whole can be drawn on.
func HasScreen(out io.Writer) bool { return IsTerminal(out) && os.Getenv("TERM") != "dumb" }

// NewScreen returns a screen on a terminal.
func NewScreen(out io.Writer) *Screen {
	return &Screen{out: out, size: func() (columns, rows int) {
		columns, rows, err := term.GetSize(int(file(out).Fd()))
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}}
}

// Write adds to the text that Show shows.
func (s *Screen) Write(p []byte) (int, error) { return s.text.Write(p) }

const (
	// openScreen turns to another screen, hides the cursor, and cuts lines that are too long; closeScreen undoes it.
	openScreen  = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	closeScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	// beginFrame begins what a terminal is to show at once, from the upper left corner on; endFrame ends it. A line is cleared before it is
	// written, and the rest with the last one: after a line as wide as the terminal the cursor stands on its last character.
	beginFrame, endFrame = "\x1b[?2026h\x1b[H", "\x1b[?2026l"
	clearLine, clearRest = "\x1b[K", "\x1b[J"
)

// Show shows the text written since the last call, as far as the terminal is high enough, and a line below it.
func (s *Screen) Show(below string) error {
	lines := strings.Split(strings.TrimSuffix(s.text.String(), "\n"), "\n")
	s.text.Reset()
	columns, rows := s.size()
	if room := max(rows-1, 0); len(lines) > room {
		below = fmt.Sprintf("%d more lines; %s", len(lines)-room, below)
		lines = lines[:room]
	}
	var out strings.Builder
	if !s.open {
		s.open = true
		out.WriteString(openScreen)
	}
	out.WriteString(beginFrame)
	for _, line := range lines {
		out.WriteString(clearLine + line + "\r\n")
	}
	out.WriteString(clearRest + cells.Truncate(cell(below), columns, "") + endFrame)
	_, err := io.WriteString(s.out, out.String())
	return err
}

// Close shows again what the terminal showed before.
func (s *Screen) Close() {
	if s.open {
		s.open = false
		_, _ = io.WriteString(s.out, closeScreen)
	}
}
