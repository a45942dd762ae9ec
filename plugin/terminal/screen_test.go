package terminal

import (
	"bytes"
	"io"
	"testing"
)

// Each text is drawn over the one before, at once and as high as the terminal is now. The end restores the terminal, once.
func TestScreen(t *testing.T) {
	var out bytes.Buffer
	rows := 4
	s := &Screen{out: &out, size: func() (int, int) { return 10, rows }}
	s.Close()
	show := func(text, below, want string) {
		t.Helper()
		out.Reset()
		_, _ = io.WriteString(s, text)
		if err := s.Show(below); err != nil || out.String() != want {
			t.Errorf("%v, %q, want %q", err, out.String(), want)
		}
	}
	show("a\nb\n", "end\x1b", openScreen+beginFrame+"a\x1b[K\r\nb\x1b[K\r\n"+`end\x1b`+endFrame)
	show("c\n", "a longer line", beginFrame+"c\x1b[K\r\na longer l"+endFrame)
	rows = 2
	show("a\nb\nc\n", "", beginFrame+"a\x1b[K\r\n2 more lin"+endFrame)
	out.Reset()
	s.Close()
	s.Close()
	if out.String() != closeScreen {
		t.Errorf("the end writes %q", out.String())
	}
}
