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

// column is one column of custom-columns=HEADER:PATH,….
type column struct {
	header string
	path   *jsonpath.JSONPath
}

// parseColumns reads HEADER:PATH,…; a path is a JSONPath in a row, whose braces and leading dot
// may be left out.
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
		path = strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
		p := jsonpath.New(header).AllowMissingKeys(true)
		if err := p.Parse("{." + strings.TrimPrefix(path, ".") + "}"); err != nil {
			return nil, usage.Errorf("--output: column %s: %w", header, err)
		}
		columns = append(columns, column{header, p})
	}
	return columns, nil
}

// columnPrinter prints chosen fields of the rows of all subjects in one table.
type columnPrinter struct {
	columns  []column
	subjects []view.Subject
	out      io.Writer
	// headless is true once the header is printed, or where none is wanted.
	headless bool
}

func newColumnPrinter(columns []column, subjects []view.Subject, out io.Writer, noHeaders bool) *columnPrinter {
	return &columnPrinter{columns: columns, subjects: subjects, out: out, headless: noHeaders}
}

func (p *columnPrinter) print(b *view.Book) error {
	book, err := plain(b)
	if err != nil {
		return err
	}
	w := printers.GetNewTabWriter(p.out)
	cells := make([]string, len(p.columns))
	if !p.headless {
		for i, c := range p.columns {
			cells[i] = c.header
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
		p.headless = true
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

// cell is the value of the column in a row, or its values with commas; <none> where the row has no
// such field.
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
