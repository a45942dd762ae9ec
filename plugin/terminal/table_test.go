package terminal

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// A table takes the first of its layouts that fits.
func TestTableLayouts(t *testing.T) {
	rows := [][]string{{"shop.example.com", "203.0.113.7", "no endpoints are ready"}, {"店.example.com", "-", ""}}
	two := []string{"HOST", "IP", ""}
	one := [][]string{{"shop.example.com", "203.0.113.7", "Active"}}
	got := golden.Cases{}
	for name, c := range map[string]struct {
		width   int
		columns []string
		rows    [][]string
	}{
		"a pipe":                       {0, two, rows},
		"as wide as the terminal":      {55, two, rows},
		"the text does not fit":        {31, two, rows},
		"less room between columns":    {29, two, rows},
		"the name does not fit":        {20, two, rows},
		"blocks, as nothing else fits": {24, []string{"HOST", "IP", "HOLDER"}, rows},
		"a single row":                 {29, []string{"HOST", "IP", "STATE"}, one},
	} {
		var out strings.Builder
		if err := (&Table{Out: &out, Width: func() int { return c.width }}).Print(c.columns, c.rows); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got[name] = out.String()
	}
	got.Check(t, "testdata/layouts.golden")
}

// Later rows have the layout of the first ones, and no header; a row that does not fit has another layout.
func TestTableGrows(t *testing.T) {
	var out strings.Builder
	table := Table{Out: &out, Width: func() int { return 23 }, Indent: "  "}
	for _, row := range [][]string{{"a", "Active"}, {"b.example.io", "Pending"}, {"b.example.com", "Pending"}, {"a", "Active"}} {
		if err := table.Print([]string{"HOST", "STATE"}, [][]string{row}); err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "testdata/grows.golden", out.String())
}

func TestColorOfPipe(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for text, want := range map[string]bool{"auto": false, "never": false, "always": true} {
		var c Color
		if err := c.Set(text); err != nil || c.On(&bytes.Buffer{}) != want {
			t.Errorf("--color=%s: %v, %v", text, c.On(&bytes.Buffer{}), err)
		}
	}
	var c Color
	if c.On(&bytes.Buffer{}) || c.Set("yes") == nil {
		t.Error("a pipe has colours, or --color=yes is accepted")
	}
}

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
	show("a\nb\n", "end\x1b", openScreen+beginFrame+"\x1b[Ka\r\n\x1b[Kb\r\n"+"\x1b[J"+`end\x1b`+endFrame)
	show("c\n", "a longer line", beginFrame+"\x1b[Kc\r\n\x1b[Ja longer l"+endFrame)
	rows = 2
	show("a\nb\nc\n", "", beginFrame+"\x1b[Ka\r\n\x1b[J2 more lin"+endFrame)
	rows = 4
	out.Reset()
	_, _ = io.WriteString(s, "0123456789\n")
	if err := s.Show("0123456789"); err != nil || strings.Count(emulated(10, out.String()), "0123456789") != 2 {
		t.Errorf("%v, of lines as wide as the terminal it shows\n%s", err, emulated(10, out.String()))
	}
	out.Reset()
	s.Close()
	s.Close()
	if out.String() != closeScreen {
		t.Errorf("the end writes %q", out.String())
	}
}

// emulated is what a terminal shows of a frame that begins in its upper left corner. It does not go on to the next line: the cursor stays
// on the last column, and erasing begins there.
func emulated(columns int, frame string) string {
	lines, row, column := [][]rune{nil}, 0, 0
	erase := func() { lines[row] = lines[row][:min(column, len(lines[row]))] }
	for text := frame; text != ""; {
		if sequence := regexp.MustCompile(`^\x1b\[[?0-9]*[a-zA-Z]`).FindString(text); sequence != "" {
			if sequence == "\x1b[K" || sequence == "\x1b[J" {
				erase()
			}
			text = text[len(sequence):]
			continue
		}
		r, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		switch r {
		case '\r':
			column = 0
		case '\n':
			lines, row = append(lines, nil), row+1
		default:
			lines[row] = append(lines[row][:min(column, len(lines[row]))], r)
			column = min(column+1, columns-1)
		}
	}
	var out strings.Builder
	for _, line := range lines {
		out.WriteString(string(line) + "\n")
	}
	return out.String()
}

// A status that does not fit ends before a command, and between words.
func TestStatusThatDoesNotFit(t *testing.T) {
	for text, want := range map[string]string{
		"ingress/a waits": "ingress/a waits",
		"ingress/shop.example.com waits for a router":                "ingress/shop.example.com waits for a…",
		"service/a waits (see: kubectl -n ns describe service a)":    "service/a waits…",
		"lease a failed: kubectl akash-net explain shop.example.com": "lease a failed…",
		"ingress/shop.example.com-which-is-long-without-a-blank":     "ingress/shop.example.com-which-is-long…",
	} {
		var out bytes.Buffer
		NewStatusOn(&out, func() int { return 40 }).Show(text)
		if got := strings.TrimPrefix(out.String(), erase); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The progress has the number of items done, their rate, and the time left.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Progress
		for _, step := range []struct {
			passed    time.Duration
			done, all int
			want      string
		}{
			{0, 0, 120, "0 of 120 leases"},
			{0, 1, 120, "1 of 120 leases"},
			{10 * time.Second, 40, 120, "40 of 120 leases, 4.0/s, 20s to go"},
			{50 * time.Second, 30, 120, "30 of 120 leases, 30.0/min, 3m0s to go"},
			{time.Hour, 0, 8, "0 of 8 leases"}, // the next step
			{4 * time.Second, 8, 8, "8 of 8 leases, 2.0/s, 0s to go"},
		} {
			time.Sleep(step.passed) // of the bubble's clock
			if got := p.Text("leases", step.done, step.all); got != step.want {
				t.Errorf("%q, want %q", got, step.want)
			}
		}
	})
}
