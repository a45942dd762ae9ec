package terminal

import (
	"strings"
	"testing"
)

func TestCells(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "shop": 4, "…": 1, "■□▣": 3, "✔": 1, "店.example": 10, "e\u0301": 1, "👍": 2, "≥2^63": 5,
	} {
		if got := Cells(text); got != want {
			t.Errorf("%q takes %d cells, want %d", text, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	const release = "kubectl akash-net release akash1h24…9w3c9h/8438017/1"
	for _, c := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"a pipe is not folded", "a b c", 0, "a b c"},
		{"a text that fits stays as it is", "a  b", 4, "a  b"},
		{"a text is folded between words", "one two three", 8, "one two|three"},
		{"a word longer than the line stays whole", "a shop.example.com b", 5, "a|shop.example.com|b"},
		{"wide characters take two cells", "店店 店店", 8, "店店|店店"},
		{"a command is never folded", "to release it: " + release, 20, "to release it:|" + release},
		{"a quoted command is never folded", "see `" + release + "`", 20, "see|`" + release + "`"},
	} {
		if got := strings.Join(Fold(c.text, c.width), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got, want := FoldLines("Error: all\n  one two three\n\nend", 10), "Error: all\n  one two\n  three\n\nend"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The lines that follow the first hang below it.
func TestHang(t *testing.T) {
	const line = "  host/shop.example.com withheld (held by deployment 7)"
	for width, want := range map[int]string{
		0: line, len(line): line,
		40: "  host/shop.example.com withheld (held\n    by deployment 7)",
		1:  "  host/shop.example.com\n    withheld\n    (held\n    by\n    deployment\n    7)",
	} {
		if got := Hang(line, width); got != want {
			t.Errorf("in %d columns: %q, want %q", width, got, want)
		}
	}
}

// A table takes the first of its layouts that fits.
func TestTableLayouts(t *testing.T) {
	rows := [][]string{{"shop.example.com", "203.0.113.7", "no endpoints are ready"}, {"店.example.com", "-", ""}}
	for _, c := range []struct {
		name    string
		width   int
		columns []string
		rows    [][]string
		want    string
	}{
		{"a pipe", 0, []string{"HOST", "IP", ""}, rows, `
HOST               IP
shop.example.com   203.0.113.7   no endpoints are ready
店.example.com     -
`},
		{"as wide as the terminal", 55, []string{"HOST", "IP", ""}, rows, `
HOST               IP
shop.example.com   203.0.113.7   no endpoints are ready
店.example.com     -
`},
		{"the text does not fit", 31, []string{"HOST", "IP", ""}, rows, `
HOST               IP
shop.example.com   203.0.113.7
  no endpoints are ready
店.example.com     -
`},
		{"less room between columns", 29, []string{"HOST", "IP", ""}, rows, `
HOST              IP
shop.example.com  203.0.113.7
  no endpoints are ready
店.example.com    -
`},
		{"the name does not fit", 20, []string{"HOST", "IP", ""}, rows, `
HOST
  IP
shop.example.com
  203.0.113.7
  no endpoints are
  ready
店.example.com
  -
`},
		{"blocks, as nothing else fits", 24, []string{"HOST", "IP", "HOLDER"}, rows, `
HOST
  shop.example.com
IP       203.0.113.7
HOLDER   no endpoints
         are ready

HOST     店.example.com
IP       -
HOLDER
`},
		{"a single row", 29, []string{"HOST", "IP", "STATE"}, [][]string{{"shop.example.com", "203.0.113.7", "Active"}}, `
HOST    shop.example.com
IP      203.0.113.7
STATE   Active
`},
	} {
		var out strings.Builder
		table := Table{Out: &out, Width: func() int { return c.width }}
		if err := table.Print(c.columns, c.rows); err != nil || out.String() != c.want[1:] {
			t.Errorf("%s, %v:\n%s\nwant\n%s", c.name, err, out.String(), c.want)
		}
	}
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
	if got, want := out.String(), `  HOST   STATE
  a      Active
  b.example.io  Pending
  HOST    b.example.com
  STATE   Pending

  HOST    a
  STATE   Active
`; got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}
