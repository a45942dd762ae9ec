package printing

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TableBuilder builds a table. If a row has a message, the table ends with a column for messages, which has no name.
type TableBuilder struct {
	metav1.Table
	messages    []string
	hasMessages bool
}

// NewTable returns a builder for a table with these columns.
func NewTable(columns ...string) *TableBuilder { return new(TableBuilder).columns(0, columns) }

// Wide adds columns that only -o wide shows.
func (b *TableBuilder) Wide(columns ...string) *TableBuilder { return b.columns(1, columns) }

func (b *TableBuilder) columns(priority int32, names []string) *TableBuilder {
	for _, name := range names {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string", Priority: priority})
	}
	return b
}

// Row adds a row. message may be "".
func (b *TableBuilder) Row(message string, cells ...any) {
	b.Rows = append(b.Rows, metav1.TableRow{Cells: cells})
	b.messages = append(b.messages, message)
	b.hasMessages = b.hasMessages || message != ""
}

// Done returns the table.
func (b *TableBuilder) Done() *metav1.Table {
	if b.hasMessages {
		b.columns(0, []string{""})
		for i, m := range b.messages {
			b.Rows[i].Cells = append(b.Rows[i].Cells, m)
		}
	}
	return &b.Table
}
