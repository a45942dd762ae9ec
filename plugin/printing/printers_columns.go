package printing

import (
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

const columnsFormat = "custom-columns"

// column is a column of custom-columns=HEADER:PATH,….
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// parseColumns parses HEADER:PATH,…. A path is a JSONPath expression for a row, with or without braces and a leading dot.
func parseColumns(text string) ([]column, error) {
	if text == "" {
		return nil, usage.Errorf("--output: name the columns: custom-columns=HOST:.host,LEASE:.lease")
	}
	var columns []column
	for _, part := range strings.Split(text, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, usage.Errorf("--output: %q is not HEADER:PATH, as in custom-columns=HOST:.host", part)
		}
		p, err := parsePath("--output: column "+header, path)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column{header, p})
	}
	return columns, nil
}

// columnPrinter prints columns for the rows of all subjects in one table, which is not folded.
type columnPrinter struct {
	columns  []column
	subjects []view.Subject
	table    terminal.Table
}

func (p *columnPrinter) print(b *view.Book) error {
	book, err := toUnstructured(b)
	if err != nil {
		return err
	}
	headers := make([]string, len(p.columns))
	for i, c := range p.columns {
		headers[i] = c.header
	}
	var rows [][]string
	for _, s := range p.subjects {
		list, _ := book[string(s)].([]any)
		for _, row := range list {
			cells := make([]string, len(p.columns))
			for i, c := range p.columns {
				if cells[i], err = c.cell(row); err != nil {
					return err
				}
			}
			rows = append(rows, cells)
		}
	}
	return p.table.Print(headers, rows)
}

// cell returns the value or the comma-separated values of the column in a row, or <none>.
func (c column) cell(row any) (string, error) {
	results, err := c.path.FindResults(row)
	if err != nil {
		return "", fmt.Errorf("column %s: %w", c.header, err)
	}
	var texts []string
	for _, values := range results {
		for _, v := range values {
			if v.IsValid() && v.Interface() != nil {
				texts = append(texts, terminal.OneLine(fmt.Sprint(v.Interface()), terminal.MaxCell))
			}
		}
	}
	if len(texts) == 0 {
		return "<none>", nil
	}
	return strings.Join(texts, ","), nil
}
