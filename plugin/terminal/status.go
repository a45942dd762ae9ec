package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease/lazy"
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
	fmt.Fprint(s.out, erase+fitting(Cell(text), max(s.width()-1, 0))) // erase clears only one line
}

// beforeCommand are the last words before a command, and what leads from a sentence to it.
var beforeCommand = lazy.Pattern(`[ (:;,]*(see: )?kubectl .*$`)

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
	return strings.TrimRight(beforeCommand().ReplaceAllString(short, ""), " (:;,") + "…"
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
	return fmt.Sprintf("%s, %.1f/%s, %s to go", s, rate, unit, left.Round(time.Second))
}

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
	out.WriteString(clearRest + cells.Truncate(Cell(below), columns, "") + endFrame)
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

// Output is standard output. It keeps its first write error, so that a command can finish its work and report the error at
// the end.
type Output struct {
	Out io.Writer

	mu     sync.Mutex
	failed error
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Out.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.failed == nil {
			o.failed = err
		}
	}
	return n, err
}

// Err returns the first write error. A closed pipe is not an error, because its reader wants no more output.
func (o *Output) Err() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil || errors.Is(o.failed, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("the work was completed, but standard output cannot be written: %w", o.failed)
}

// Unwrap returns the stream of an Output, and any other writer itself.
func Unwrap(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.Out
	}
	return w
}

// IgnoreSIGPIPE lets a command that writes to the cluster finish its work if nobody reads its output any more. Otherwise the
// signal ends a process that writes to a closed pipe.
func IgnoreSIGPIPE() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
