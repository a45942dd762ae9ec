package terminal

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// How texts are measured, folded, cut and escaped: testdata/text.txt; texts are quoted as Go does. A command is never folded, nor a word.
func TestTexts(t *testing.T) {
	unquote := func(text string) string {
		text, err := strconv.Unquote(text)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	numbered := func(rule func(text string, n int) string) func(string) string {
		return func(line string) string {
			number, text, _ := strings.Cut(line, " ")
			n, err := strconv.Atoi(number)
			if err != nil {
				t.Fatal(err)
			}
			return rule(unquote(text), n)
		}
	}
	golden.Rules{
		"cells":  func(line string) string { return strconv.Itoa(Cells(unquote(line))) },
		"escape": func(line string) string { return strconv.Quote(string(Escape([]byte(unquote(line))))) },
		"cut":    numbered(OneLine), "lines": numbered(FoldLines), "hang": numbered(Hang),
		"fold":      numbered(func(text string, width int) string { return strings.Join(Fold(text, width), "\n") }),
		"paragraph": numbered(func(text string, width int) string { return strings.TrimSuffix(Paragraph(text, "  ", width), "\n") }),
	}.Check(t, "testdata/text.txt")
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
	if got, want := out.String(), erase+`a\nl…`+erase+"one two"+erase+"b"+erase; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var none *Status
	none.Show("x")
	none.Clear()
}
