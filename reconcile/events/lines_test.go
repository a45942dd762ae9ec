package events

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines have the numbers that an editor shows; one that is too long is told before it ends, and the next one is read.
func TestScan(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		in   io.Reader
		want []string
		err  error
	}{
		"lines":                    {strings.NewReader("a\nb\n"), []string{"1 a", "2 b"}, nil},
		"the last without its end": {strings.NewReader("a\nb"), []string{"1 a", "2 b"}, nil},
		"of Windows":               {strings.NewReader("a\r\n\r\nb\r\n"), []string{"1 a", "3 b"}, nil},
		"blank ones":               {strings.NewReader("\n \t\na\n\n"), []string{"3 a"}, nil},
		"byte by byte":             {iotest.OneByteReader(strings.NewReader("ab\ncd")), []string{"1 ab", "2 cd"}, nil},
		"as long as may be":        {strings.NewReader(strings.Repeat("x", 100_000) + "\r\nb"), []string{"1 " + strings.Repeat("x", 100_000), "2 b"}, nil},
		"a byte too long":          {strings.NewReader(strings.Repeat("x", 100_001) + "\nb\n" + strings.Repeat("y", 500_000) + "\nc"), []string{"1 too long", "2 b", "3 too long", "4 c"}, nil},
		"endless":                  {io.MultiReader(strings.NewReader("a\n"+strings.Repeat("x", 300_000)), iotest.ErrReader(broken)), []string{"1 a", "2 too long"}, broken},
		"broken in a line":         {io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), []string{"1 a"}, broken},
	} {
		var got []string
		_, err := scan(tt.in, 100_000, 0, func(l line) bool {
			if l.long {
				got = append(got, fmt.Sprintf("%d too long", l.number))
			} else {
				got = append(got, fmt.Sprintf("%d %s", l.number, l.text))
			}
			return true
		})
		if !slices.Equal(got, tt.want) || !errors.Is(err, tt.err) {
			t.Errorf("%s: %.200q, %v", name, got, err)
		}
	}
	if last, err := scan(strings.NewReader("a\nb\nc"), 9, 7, func(l line) bool { return l.number < 9 }); last != 9 || err != nil {
		t.Errorf("it has gone on to line %d, %v", last, err)
	}
}
