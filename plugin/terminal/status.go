package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// IsTerminal is true for a stream that a person looks on.
func IsTerminal(stream any) bool {
	if out, ok := stream.(*Output); ok {
		stream = out.Out
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Erase goes back to the beginning of a line, and clears it.
const Erase = "\r\x1b[K"

// Status is the one line that a terminal shows while a command works. Each text is written over the one before,
// and the line is gone when anything else is printed.
type Status struct {
	// Out is the terminal; nil shows nothing.
	Out   io.Writer
	Width func() int

	mu    sync.Mutex
	shown bool
}

// NewStatus shows a line on standard error where both streams are terminals: beside a pipe, whatever reads it may
// print on the same terminal.
func NewStatus(streams genericiooptions.IOStreams) *Status {
	f, ok := streams.ErrOut.(*os.File)
	if !ok || !IsTerminal(f) || !IsTerminal(streams.Out) || os.Getenv("TERM") == "dumb" {
		return &Status{}
	}
	return &Status{Out: f, Width: func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}}
}

// Show shows a text in place of the one before.
func (s *Status) Show(text string) {
	if s == nil || s.Out == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line := []rune(string(Visible([]byte(OneLine(text, MaxCell)))))
	line = line[:min(len(line), max(s.Width()-1, 0))] // a line that wraps could not be taken back
	s.shown = true
	fmt.Fprint(s.Out, Erase+string(line))
}

// Clear takes the text back.
func (s *Status) Clear() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase()
	}
}

// erase takes the text back while the status is locked.
func (s *Status) erase() {
	if s.shown {
		s.shown = false
		fmt.Fprint(s.Out, Erase)
	}
}

// Before is a stream that takes the text back before anything is printed.
func (s *Status) Before(out io.Writer) io.Writer {
	if s.Out == nil {
		return out
	}
	return &afterStatus{s, out}
}

type afterStatus struct {
	status *Status
	out    io.Writer
}

func (w *afterStatus) Write(p []byte) (int, error) {
	w.status.mu.Lock()
	defer w.status.mu.Unlock()
	w.status.erase()
	return w.out.Write(p)
}

// Progress says how far a command is.
type Progress struct {
	Now   func() time.Time
	start time.Time
}

// Text says of how many works how many are done, at which rate, and when the rest will be.
func (p *Progress) Text(what string, done, all int) string {
	now := p.Now()
	if done == 0 {
		p.start = now
	}
	s := fmt.Sprintf("%d of %d %s", done, all, what)
	took := now.Sub(p.start)
	if done == 0 || took <= 0 {
		return s
	}
	rate := float64(done) / took.Seconds()
	unit := "s"
	if rate < 1 {
		rate, unit = rate*60, "min"
	}
	left := took * time.Duration(all-done) / time.Duration(done)
	return fmt.Sprintf("%s, %.1f/%s, %s left", s, rate, unit, left.Round(time.Second))
}
