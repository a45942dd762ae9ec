package terminal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
)

// A write may end within a character.
func TestCharactersInTwoWrites(t *testing.T) {
	var out bytes.Buffer
	w := &SafeWriter{Out: &out}
	for _, b := range []byte("ä\u202e\u009b…\xff.") {
		if n, err := w.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := out.String(), `ä\u202e\u009b…\xff.`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"text is unchanged", "Ä shop.example.com… \U0001F600", "Ä shop.example.com… \U0001F600"},
		{"newlines and tabs are unchanged", "a\tb\n", "a\tb\n"},
		{"C0 controls are escaped", "a\x1b[2J\r\x00", `a\x1b[2J\x0d\x00`},
		{"DEL is escaped", "a\x7f", `a\x7f`},
		{"C1 controls are escaped", "a\u009bb", `a\u009bb`},
		{"bidirectional controls are escaped", "\u202ea\u2066\u061c", `\u202ea\u2066\u061c`},
		{"line and paragraph separators are escaped", "\u2028\u2029", `\u2028\u2029`},
		{"invalid bytes are escaped", "\x9b\xc3(", `\x9b\xc3(`},
		{"a replacement character is text", "\ufffd", "\ufffd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Escape([]byte(c.text))); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	for _, c := range []struct {
		name, text string
		most       int
		want       string
	}{
		{"a short text is unchanged", "a b", 3, "a b"},
		{"a long text is cut", "abcd", 3, "abc…"},
		{"no character is cut in two", "abä", 3, "ab…"},
		{"line ends and tabs are escaped", "a\nb\tc\rd", 9, `a\nb\tc\rd`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := OneLine(c.text, c.most); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// failing is a writer with an error for each write, in order.
type failing struct{ errs []error }

func (f *failing) Write(p []byte) (int, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return len(p), err
}

func TestOutputKeepsItsFirstError(t *testing.T) {
	full := errors.New("no space left")
	for _, c := range []struct {
		name string
		errs []error
		want string
	}{
		{"all was written", []error{nil, nil}, ""},
		{"the first error is kept", []error{nil, full, io.ErrShortWrite}, "standard output cannot be written: no space left"},
		{"a closed pipe is no error", []error{syscall.EPIPE}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := &Output{Out: &failing{c.errs}}
			for range len(c.errs) {
				_, _ = o.Write([]byte("x"))
			}
			if err := o.Err(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if err := (*Output)(nil).Err(); err != nil {
		t.Error(err)
	}
}

func TestStatusIsCutAndRemoved(t *testing.T) {
	var out bytes.Buffer
	s := NewStatusOn(&out, func() int { return 6 })
	w := s.Wrap(&out)
	s.Show("a\nlong text")
	_, _ = io.WriteString(w, "one ")
	_, _ = io.WriteString(w, "two")
	s.Clear()
	s.Show("b")
	s.Clear()
	if got, want := out.String(), erase+`a\nlo`+erase+"one two"+erase+"b"+erase; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none *Status
	none.Show("x")
	none.Clear()
}
