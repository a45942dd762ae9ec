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

// erase goes back to the beginning of a line, and clears it.
const erase = "\r\x1b[K"

// Status is the one line that a terminal shows while a command works. Each text is written over the one before,
// and the line is gone when anything else is printed.
type Status struct {
	// out is the terminal; nil shows nothing.
	out   io.Writer
	width func() int

	mu    sync.Mutex
	shown bool
}

// StatusOn shows a line on a terminal that is so many columns wide.
func StatusOn(out io.Writer, width func() int) *Status { return &Status{out: out, width: width} }

// NewStatus shows a line on standard error where both streams are terminals: beside a pipe, whatever reads it may
// print on the same terminal.
func NewStatus(streams genericiooptions.IOStreams) *Status {
	f, ok := streams.ErrOut.(*os.File)
	if !ok || !IsTerminal(f) || !IsTerminal(streams.Out) || os.Getenv("TERM") == "dumb" {
		return &Status{}
	}
	return StatusOn(f, func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	})
}

// Show shows a text in place of the one before.
func (s *Status) Show(text string) {
	if s == nil || s.out == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line := []rune(string(Visible([]byte(OneLine(text, MaxCell)))))
	line = line[:min(len(line), max(s.width()-1, 0))] // a line that wraps could not be taken back
	s.shown = true
	fmt.Fprint(s.out, erase+string(line))
}

// Clear takes the text back.
func (s *Status) Clear() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.takeBack()
	}
}

// takeBack takes the text back while the status is locked.
func (s *Status) takeBack() {
	if s.shown {
		s.shown = false
		fmt.Fprint(s.out, erase)
	}
}

// Before is a stream that takes the text back before anything is printed.
func (s *Status) Before(out io.Writer) io.Writer {
	if s.out == nil {
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
	w.status.takeBack()
	return w.out.Write(p)
}

// Progress says how far a command is.
type Progress struct{ start time.Time }

// Text says of how many works how many are done, at which rate, and when the rest will be.
func (p *Progress) Text(what string, done, all int) string {
	now := time.Now()
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
