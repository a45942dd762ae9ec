package printing

import (
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// TableBuilder builds the rows of a table. If a row has a message, the table ends with a column for messages, which has no name.
type TableBuilder struct {
	columns []string
	// narrow is the number of columns that the table has without -o wide.
	narrow      int
	rows        [][]string
	messages    []string
	hasMessages bool
}

// NewTable returns a builder for a table with these columns.
func NewTable(columns ...string) *TableBuilder {
	return &TableBuilder{columns: columns, narrow: len(columns)}
}

// Wide adds columns that only -o wide shows.
func (b *TableBuilder) Wide(columns ...string) *TableBuilder {
	b.columns = append(b.columns, columns...)
	return b
}

// Row adds a row. message may be "".
func (b *TableBuilder) Row(message string, cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = fmt.Sprint(c)
	}
	b.rows = append(b.rows, row)
	b.messages = append(b.messages, message)
	b.hasMessages = b.hasMessages || message != ""
}

// Print prints the rows with the columns of -o wide or without them. A table that has had messages keeps the column for them.
func (b *TableBuilder) Print(to *terminal.Table, wide bool) error {
	n := b.narrow
	if wide {
		n = len(b.columns)
	}
	columns, rows := make([]string, n), make([][]string, len(b.rows))
	for i, name := range b.columns[:n] {
		columns[i] = strings.ToUpper(name)
	}
	for i, row := range b.rows {
		rows[i] = row[:n:n]
	}
	if b.hasMessages {
		columns = append(columns, "")
		for i := range rows {
			rows[i] = append(rows[i], b.messages[i])
		}
	}
	return to.Print(columns, rows)
}
