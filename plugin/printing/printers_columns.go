package printing

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"
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

// columnPrinter prints columns for the rows of all subjects in one table.
type columnPrinter struct {
	columns  []column
	subjects []view.Subject
	out      io.Writer
	// noHeader is true if the header has been printed or is not requested.
	noHeader bool
}

func (p *columnPrinter) print(b *view.Book) error {
	book, err := toUnstructured(b)
	if err != nil {
		return err
	}
	w := printers.GetNewTabWriter(p.out)
	cells := make([]string, len(p.columns))
	if !p.noHeader {
		for i, c := range p.columns {
			cells[i] = c.header
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
		p.noHeader = true
	}
	for _, s := range p.subjects {
		rows, _ := book[string(s)].([]any)
		for _, row := range rows {
			for i, c := range p.columns {
				if cells[i], err = c.cell(row); err != nil {
					return err
				}
			}
			fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
	}
	return w.Flush()
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
