package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// erase moves the cursor to the beginning of the line and clears the line.
const erase = "\r\x1b[K"

// Status is the status line of a command. Each text replaces the previous one, and other output removes it. A nil Status, or
// one without a terminal, shows nothing.
type Status struct {
	// out is the terminal; nil shows nothing.
	out   io.Writer
	width func() int

	mu    sync.Mutex
	shown bool
}

// NewStatusOn returns a status line on a terminal; width returns its number of columns.
func NewStatusOn(out io.Writer, width func() int) *Status { return &Status{out: out, width: width} }

// NewStatus returns a status line on standard error if both output streams are terminals. If standard output is a pipe, its
// reader may print on the same terminal, so no status is shown.
func NewStatus(streams genericiooptions.IOStreams) *Status {
	if !IsTerminal(streams.ErrOut) || !IsTerminal(streams.Out) || os.Getenv("TERM") == "dumb" {
		return &Status{}
	}
	return NewStatusOn(streams.ErrOut, Width(streams.ErrOut))
}

// Show replaces the status with text, as far as it fits the terminal.
func (s *Status) Show(text string) {
	if s == nil || s.out == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = true
	fmt.Fprint(s.out, erase+fitting(cell(text), max(s.width()-1, 0))) // erase clears only one line
}

// beforeCommand are the last words before a command, and what leads from a sentence to it.
var beforeCommand = regexp.MustCompile(`[ (:;,]*(see: )?kubectl .*$`)

// fitting returns a text in at most width cells. One that does not fit ends between words, and before a command: a half of one would be
// typed.
func fitting(text string, width int) string {
	if Cells(text) <= width {
		return text
	}
	if width < 1 {
		return ""
	}
	short := cells.Truncate(text, max(width-1, 0), "")
	if i := strings.LastIndexByte(short, ' '); i > 0 && !strings.HasPrefix(text[len(short):], " ") {
		short = short[:i]
	}
	return strings.TrimRight(beforeCommand.ReplaceAllString(short, ""), " (:;,") + "…"
}

// Clear removes the status.
func (s *Status) Clear() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clearLocked()
	}
}

// clearLocked removes the status. The caller holds s.mu.
func (s *Status) clearLocked() {
	if s.shown {
		s.shown = false
		fmt.Fprint(s.out, erase)
	}
}

// Wrap returns a writer that removes the status before each write to out.
func (s *Status) Wrap(out io.Writer) io.Writer {
	if s.out == nil {
		return out
	}
	return &clearingWriter{s, out}
}

type clearingWriter struct {
	status *Status
	out    io.Writer
}

func (w *clearingWriter) Write(p []byte) (int, error) {
	w.status.mu.Lock()
	defer w.status.mu.Unlock()
	w.status.clearLocked()
	return w.out.Write(p)
}

// Progress formats the progress of a step. The step starts when Text is called with 0 done.
type Progress struct{ start time.Time }

// Text returns the number of items done, their rate, and an estimate of the time left.
func (p *Progress) Text(what string, done, all int) string {
	now := time.Now()
	if done == 0 {
		p.start = now
	}
	s := fmt.Sprintf("%d of %d %s", done, all, what)
	elapsed := now.Sub(p.start)
	if done == 0 || elapsed <= 0 {
		return s
	}
	rate := float64(done) / elapsed.Seconds()
	unit := "s"
	if rate < 1 {
		rate, unit = rate*60, "min"
	}
	left := elapsed * time.Duration(all-done) / time.Duration(done)
	return fmt.Sprintf("%s, %.1f/%s, %s left", s, rate, unit, left.Round(time.Second))
}
