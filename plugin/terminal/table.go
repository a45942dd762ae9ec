package terminal

import (
	"io"
	"slices"
	"strings"
)

// Table prints rows in columns as kubectl does, measured in cells. Where they do not fit the terminal, it prints the text at the end of
// a row below it, or the first column above the others; where that does not fit either, a block of lines for each row. In a watch, later
// rows are aligned with the first ones and have no header.
type Table struct {
	Out io.Writer
	// Width returns the number of columns of the terminal; 0 folds nothing.
	Width func() int
	// Indent begins each line.
	Indent   string
	NoHeader bool

	// columns are the names in the header that has been printed.
	columns []string
	widths  []int
	layout  layout
	// separate is true if a blank line is due before the next block.
	separate bool
}

// layout is how a table is laid out. The layouts are tried in this order, from the one that the rows before have.
type layout int

const (
	// inRows has a line for each row.
	inRows layout = iota
	// textBelow has the text at the end of a row below it.
	textBelow
	// tight has less room between the columns, and the text below.
	tight
	// nameAbove has the first cell above the others, with less room between these, and the text below.
	nameAbove
	// inBlocks has a line for each cell, with the name of its column.
	inBlocks
)

// step indents what is below or above a row.
const step = "  "

// padded returns the width of a column with the room to the next one, in all layouts but the tight ones as in tables of kubectl.
func (l layout) padded(width int) int {
	if l >= tight {
		return width + 2
	}
	return max(width+3, 6)
}

// Cell returns a text as it is printed, in one line.
func Cell(text string) string { return string(Escape([]byte(OneLine(text, MaxCell)))) }

// Print prints rows with a cell for each column. It prints the header before the first rows, and again if the columns change. A last
// column that has no name, or the name MESSAGE, has sentences.
func (t *Table) Print(columns []string, rows [][]string) error {
	isNew := !slices.Equal(t.columns, columns)
	t.columns = columns
	t.widths = append(t.widths, make([]int, max(len(columns)-len(t.widths), 0))...)
	if !t.NoHeader {
		for i, name := range columns {
			t.widths[i] = max(t.widths[i], Cells(name))
		}
	}
	escaped := make([][]string, len(rows))
	for i, row := range rows {
		for j, text := range row {
			text = Cell(text)
			t.widths[j] = max(t.widths[j], Cells(text))
			escaped[i] = append(escaped[i], text)
		}
	}
	width := 0
	if t.Width != nil {
		width = t.Width()
	}
	var out strings.Builder
	t.layout = t.choose(len(rows), width)
	if isNew && !t.NoHeader && t.layout != inBlocks {
		header := slices.Clone(columns)
		if t.layout >= textBelow && t.endsInText() {
			header[len(header)-1] = ""
		}
		t.row(&out, header, width)
	}
	for _, row := range escaped {
		if t.layout == inBlocks {
			t.block(&out, row, width)
		} else {
			t.row(&out, row, width)
		}
	}
	_, err := io.WriteString(t.Out, out.String())
	return err
}

// endsInText reports whether the last column has sentences.
func (t *Table) endsInText() bool {
	last := t.columns[len(t.columns)-1]
	return last == "" || last == "MESSAGE"
}

// choose returns the first layout in which the rows fit. A block is easier to read than a single row of two lines.
func (t *Table) choose(rows, width int) layout {
	if width <= 0 {
		return inRows
	}
	for l := t.layout; l < inBlocks; l++ {
		first, end, indent := t.span(l)
		fits := Cells(indent)+t.lineWidth(l, first, end) <= width
		if fits && (l < nameAbove || l == t.layout || rows > 1) {
			return l
		}
	}
	return inBlocks
}

// span returns the columns that are side by side in a layout of rows, from first to end, and the indent of their line.
func (t *Table) span(l layout) (first, end int, indent string) {
	first, end, indent = 0, len(t.columns), t.Indent
	if l >= textBelow && t.endsInText() {
		end--
	}
	if l == nameAbove {
		first, indent = 1, indent+step
	}
	return first, end, indent
}

// lineWidth returns the width of a line of the columns from first to end.
func (t *Table) lineWidth(l layout, first, end int) int {
	n := 0
	for i := first; i < end-1; i++ {
		n += l.padded(t.widths[i])
	}
	if end > first {
		n += t.widths[end-1]
	}
	return n
}

// row writes the cells of a row, aligned.
func (t *Table) row(out *strings.Builder, row []string, width int) {
	first, end, indent := t.span(t.layout)
	if first > 0 {
		t.line(out, t.Indent, row[0])
	}
	var line strings.Builder
	for i := first; i < end; i++ {
		line.WriteString(row[i])
		line.WriteString(strings.Repeat(" ", t.layout.padded(t.widths[i])-Cells(row[i])))
	}
	t.line(out, indent, line.String())
	if end < len(row) {
		t.text(out, t.Indent+step, row[end], width)
	}
}

// block writes each cell of a row behind the name of its column. A cell that does not fit beside the name is
// below it.
func (t *Table) block(out *strings.Builder, row []string, width int) {
	if t.separate {
		out.WriteString("\n")
	}
	t.separate = true
	beside := 0
	for _, name := range t.columns {
		beside = max(beside, Cells(name)+3)
	}
	room := width - Cells(t.Indent) - beside
	for i, text := range row {
		name := t.columns[i]
		if name == "" {
			t.text(out, t.Indent+step, text, width)
			continue
		}
		lines := Fold(text, max(room, 1))
		if slices.ContainsFunc(lines, func(line string) bool { return Cells(line) > room }) {
			t.line(out, t.Indent, name)
			t.text(out, t.Indent+step, text, width)
			continue
		}
		t.line(out, t.Indent, name+strings.Repeat(" ", beside-Cells(name))+lines[0])
		for _, line := range lines[1:] {
			t.line(out, t.Indent+strings.Repeat(" ", beside), line)
		}
	}
}

// text writes a text in folded lines.
func (t *Table) text(out *strings.Builder, indent, text string, width int) {
	if text == "" {
		return
	}
	for _, line := range Fold(text, max(width-Cells(indent), 1)) {
		t.line(out, indent, line)
	}
}

// line writes a line without blanks at its end.
func (t *Table) line(out *strings.Builder, indent, line string) {
	out.WriteString(strings.TrimRight(indent+line, " ") + "\n")
}
