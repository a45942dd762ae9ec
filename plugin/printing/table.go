package printing

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fvbommel/sortorder"
	"k8s.io/client-go/util/jsonpath"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// tables prints a book as kubectl prints tables, one for each subject. In a watch, later rows are aligned with the first ones
// and have no header.
type tables struct {
	subjects []view.Subject
	out      io.Writer
	wide     bool
	// short is true if sentences name leases as tables do: on a terminal, without -o wide.
	short bool
	now   func() time.Time
	// printed are the tables of the subjects. A table that has had a column for messages keeps it.
	printed map[view.Subject]*printedTable
}

type printedTable struct {
	terminal.Table
	hasMessages bool
}

// newTables returns a printer of tables. width returns the number of columns of the terminal, 0 if out is none.
func newTables(subjects []view.Subject, out io.Writer, width func() int, wide, noHeaders bool, now func() time.Time) *tables {
	short := !wide && width != nil && width() > 0
	t := &tables{subjects: subjects, out: out, wide: wide, short: short, now: now, printed: map[view.Subject]*printedTable{}}
	for _, s := range subjects {
		t.printed[s] = &printedTable{Table: terminal.Table{Out: out, Width: width, NoHeader: noHeaders}}
	}
	return t
}

func (t *tables) print(b *view.Book) error {
	separator := ""
	look := view.Look{Whole: t.wide, Short: t.short, Now: t.now()}
	for _, s := range t.subjects {
		rows, printed := view.ListingOf(s).Table(b, look), t.printed[s]
		if len(rows.Rows) == 0 {
			continue
		}
		if _, err := io.WriteString(t.out, separator); err != nil {
			return err
		}
		separator = "\n"
		for _, message := range rows.Messages {
			printed.hasMessages = printed.hasMessages || message != ""
		}
		table := TableBuilder{rows, printed.hasMessages}
		if err := table.Print(&printed.Table, t.wide); err != nil {
			return err
		}
	}
	return nil
}

// TableBuilder builds the rows of a table. If a row has a message, the table ends with a column for messages, which has no name.
type TableBuilder struct {
	table       view.Table
	hasMessages bool
}

// NewTable returns a builder for a table with these columns.
func NewTable(columns ...string) *TableBuilder {
	return &TableBuilder{table: view.Table{Columns: columns, Narrow: len(columns)}}
}

// Wide adds columns that only -o wide shows.
func (b *TableBuilder) Wide(columns ...string) *TableBuilder {
	b.table.Columns = append(b.table.Columns, columns...)
	return b
}

// Row adds a row. message may be "".
func (b *TableBuilder) Row(message string, cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	b.table.Rows, b.table.Messages = append(b.table.Rows, row), append(b.table.Messages, message)
	b.hasMessages = b.hasMessages || message != ""
}

// Print prints the rows with the columns of -o wide or without them. A table that has had messages keeps the column for them.
func (b *TableBuilder) Print(to *terminal.Table, wide bool) error {
	n := b.table.Narrow
	if wide {
		n = len(b.table.Columns)
	}
	columns, rows := make([]string, n), make([][]string, len(b.table.Rows))
	for i, name := range b.table.Columns[:n] {
		columns[i] = strings.ToUpper(name)
	}
	if b.hasMessages {
		columns = append(columns, "")
	}
	for i, row := range b.table.Rows {
		if rows[i] = row[:n:n]; b.hasMessages {
			rows[i] = append(rows[i], b.table.Messages[i])
		}
	}
	return to.Print(columns, rows)
}

// parsePath parses a JSONPath expression for a row, with or without braces and a leading dot. flag begins its errors.
func parsePath(flag, path string) (*jsonpath.JSONPath, error) {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	p := jsonpath.New(flag).AllowMissingKeys(true)
	if err := p.Parse("{." + strings.TrimPrefix(path, ".") + "}"); err != nil {
		return nil, usage.Errorf("%s: %w", flag, err)
	}
	return p, nil
}

// sortBook sorts the rows of each subject by the first value of a path, as "kubectl get --sort-by" does: rows without one come first, and
// it is an error if no row has one.
func sortBook(b *view.Book, path *jsonpath.JSONPath, typed string) error {
	sorting := sorting{path: path}
	for _, l := range view.Listings() {
		rows := l.Rows(b)
		values, order := make([]any, len(rows)), make([]int, len(rows))
		for i, row := range rows {
			values[i], order[i] = sorting.value(row), i
		}
		slices.SortStableFunc(order, func(a, b int) int { return compareValues(values[a], values[b]) })
		l.Order(b, order)
	}
	if sorting.err == nil && sorting.rows > 0 && !sorting.found {
		return usage.Errorf("--sort-by: no row has a field %q; -o json shows the fields", typed)
	}
	return sorting.err
}

// sorting is what is known while the rows of several subjects are sorted.
type sorting struct {
	path  *jsonpath.JSONPath
	rows  int
	found bool
	err   error
}

// value returns the first value of the path in a row, nil if there is none.
func (s *sorting) value(row any) any {
	s.rows++
	fields, err := toUnstructured(row)
	if err != nil {
		s.err = err
		return nil
	}
	values, err := valuesAt(s.path, fields)
	if err != nil {
		s.err = usage.Errorf("--sort-by: %w", err)
	}
	if err != nil || len(values) == 0 {
		return nil
	}
	s.found = true
	return values[0]
}

// compareValues compares numbers and addresses by their value, and texts as people do: node9 before node10. Values of different kinds are
// compared as texts, and nil is less than all.
func compareValues(a, b any) int {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return 0
		}
		return -1
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	case float64:
		if y, ok := b.(float64); ok {
			return cmp.Compare(x, y)
		}
	}
	if b == nil {
		return 1
	}
	left, right := fmt.Sprint(a), fmt.Sprint(b)
	if one, err := netip.ParseAddr(left); err == nil {
		if other, err := netip.ParseAddr(right); err == nil {
			return one.Compare(other)
		}
	}
	switch {
	case left == right:
		return 0
	case sortorder.NaturalLess(left, right):
		return -1
	}
	return 1
}
