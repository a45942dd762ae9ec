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
		addMessages(&b.Table, b.messages)
	}
	return &b.Table
}

// addMessages adds the column for messages.
func addMessages(table *metav1.Table, messages []string) {
	table.ColumnDefinitions = append(table.ColumnDefinitions, metav1.TableColumnDefinition{Type: "string"})
	for i, m := range messages {
		table.Rows[i].Cells = append(table.Rows[i].Cells, m)
	}
}

// hasMessages reports whether a table has the column for messages.
func hasMessages(table *metav1.Table) bool {
	return table.ColumnDefinitions[len(table.ColumnDefinitions)-1].Name == ""
}
