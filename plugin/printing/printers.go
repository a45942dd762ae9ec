// Package printing prints the book and plans: tables, the other formats of --output, and the text of diff.
package printing

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/util/jsonpath"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/plugin/drawing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Printer prints a book. In a watch it is called again with the changed rows.
type Printer func(*view.Book) error

// Flags are the output flags of kubectl get.
type Flags struct {
	Output    string
	noHeaders bool
	// SortBy is the JSONPath expression of --sort-by; empty for the order of the book.
	SortBy string
	// Color says when a heat map has colours.
	Color     *terminal.Color
	documents *genericclioptions.JSONYamlPrintFlags
	templates *genericclioptions.KubeTemplatePrintFlags
}

// NewFlags returns flags with their defaults.
func NewFlags() Flags {
	return Flags{
		documents: &genericclioptions.JSONYamlPrintFlags{ShowManagedFields: true}, // a book has none
		templates: genericclioptions.NewKubeTemplatePrintFlags(),
	}
}

// bookFormats are the formats of --output. A template follows those that end with "=".
var bookFormats = []string{
	"wide", FormatHeatMap, "json", "yaml", "kyaml", "name", columnsFormat + "=",
	"jsonpath=", "jsonpath-as-json=", "jsonpath-file=", "go-template=", "go-template-file=",
}

// FormatHeatMap draws the addresses of pools, from a book with pools and addresses.
const FormatHeatMap = "heatmap"

// IsHeatMap reports whether the output is a map of addresses.
func (f *Flags) IsHeatMap() bool { return f.Output == FormatHeatMap }

// heatMapPrinter returns the printer of a map of addresses.
func (f *Flags) heatMapPrinter(out io.Writer) Printer {
	width := terminal.Width(out)
	return func(b *view.Book) error {
		h := drawing.HeatMap{Width: width(), Plain: os.Getenv("TERM") == "dumb", Color: f.Color.On(out)}
		_, err := io.WriteString(out, h.Draw(b.Pools, b.IPs))
		return err
	}
}

// AddFlags adds the flags to a command.
func (f *Flags) AddFlags(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.Output, "output", "o", "", "Output format, one of: "+strings.Join(bookFormats, ", "))
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print tables without their headers")
	cmd.Flags().StringVar(&f.SortBy, "sort-by", "",
		"Sort the rows by a field of theirs in -o json, a JSONPath expression such as .host or {.since}")
	f.templates.AddFlags(cmd)
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(bookFormats, cobra.ShellCompDirectiveNoFileComp)))
}

// IsTable reports whether the output is a table.
func (f *Flags) IsTable() bool { return f.Output == "" || f.Output == "wide" }

// Printer returns the printer for --output, which sorts the rows first if --sort-by is given. now returns the time for ages.
func (f *Flags) Printer(subjects []view.Subject, out io.Writer, now func() time.Time) (Printer, error) {
	show, err := f.printer(subjects, out, now)
	if err != nil || f.SortBy == "" {
		return show, err
	}
	path, err := parsePath("--sort-by", f.SortBy)
	return func(b *view.Book) error {
		if err := sortBook(b, path, f.SortBy); err != nil {
			return err
		}
		return show(b)
	}, err
}

// printer returns the printer for --output.
func (f *Flags) printer(subjects []view.Subject, out io.Writer, now func() time.Time) (Printer, error) {
	data, out := out, io.Writer(&terminal.SafeWriter{Out: out})
	format, template, hasTemplate := strings.Cut(f.Output, "=")
	if !hasTemplate {
		template = *f.templates.TemplateArgument
	}
	switch format {
	case "", "wide":
		if *f.templates.TemplateArgument != "" {
			break // like kubectl, --template without --output is a Go template
		}
		width := terminal.Width(out)
		if f.noHeaders { // for scripts, and a block says what its lines are
			width = nil
		}
		return newTables(subjects, out, width, format == "wide", f.noHeaders, now).print, nil
	case FormatHeatMap:
		if !slices.Equal(subjects, []view.Subject{view.SubjectPools}) {
			return nil, usage.Errorf("--output: %s shows pools: kubectl akash-net state pools -o %[1]s", format)
		}
		return f.heatMapPrinter(data), nil
	case "name":
		return func(b *view.Book) error { return printNames(out, b, subjects) }, nil
	case columnsFormat:
		columns, err := parseColumns(template)
		if err != nil {
			return nil, err
		}
		return (&columnPrinter{columns: columns, subjects: subjects, table: terminal.Table{Out: out, NoHeader: f.noHeaders}}).print, nil
	case "json", "yaml", "kyaml":
		p, err := f.documents.ToPrinter(format)
		if err != nil {
			return nil, usage.Errorf("--output: %w", err)
		}
		return func(b *view.Book) error { return p.PrintObj(&bookObject{b}, data) }, nil
	}
	if format == "jsonpath-as-json" {
		out = data
	}
	p, err := f.templates.ToPrinter(f.Output)
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, usage.Errorf("--output: unknown format %q; one of: %s", f.Output, strings.Join(bookFormats, ", "))
	}
	if err != nil {
		return nil, usage.Errorf("--output: %w", err)
	}
	return func(b *view.Book) error {
		o, err := toUnstructured(b)
		if err != nil {
			return err
		}
		return p.PrintObj(&unstructured.Unstructured{Object: o}, out)
	}, nil
}

// bookObject is a book as a runtime.Object for kubectl's printers.
type bookObject struct{ *view.Book }

func (b *bookObject) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: b.APIVersion, Kind: b.Kind}
}

// DeepCopyObject returns the book itself. Only printers that modify objects call it, and they are not used here.
func (b *bookObject) DeepCopyObject() runtime.Object { return b }

// toUnstructured returns a book, or a row, as maps and slices for templates. Whole numbers become int64.
func toUnstructured(value any) (map[string]any, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var o map[string]any
	return o, utiljson.Unmarshal(text, &o)
}

// printNames prints the names of the rows, one per line: host/NAME, address/ADDRESS, lease/OWNER/DSEQ/…, pool/NAME,
// KIND/NAMESPACE/NAME for a route.
func printNames(out io.Writer, b *view.Book, subjects []view.Subject) error {
	w := bufio.NewWriter(out)
	for _, s := range subjects {
		for _, label := range view.ListingOf(s).Labels(b) {
			fmt.Fprintln(w, label)
		}
	}
	return w.Flush()
}

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
	values, err := valuesAt(c.path, row)
	if err != nil {
		return "", fmt.Errorf("column %s: %w", c.header, err)
	}
	if len(values) == 0 {
		return "<none>", nil
	}
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = terminal.OneLine(fmt.Sprint(v), terminal.MaxCell)
	}
	return strings.Join(texts, ","), nil
}

// valuesAt returns the values of a path in a row.
func valuesAt(path *jsonpath.JSONPath, row any) (all []any, _ error) {
	results, err := path.FindResults(row)
	for _, values := range results {
		for _, v := range values {
			if v.IsValid() && v.CanInterface() && v.Interface() != nil {
				all = append(all, v.Interface())
			}
		}
	}
	return all, err
}

// Definitions writes lease definitions in a form that apply reads: as YAML documents, or as one JSON document, which is a List
// unless there is exactly one definition.
func Definitions(out *bytes.Buffer, defs []*lease.Definition, encode func(*lease.Definition) *input.Document, output string) error {
	if output == "yaml" {
		for i, def := range defs {
			if i > 0 {
				out.WriteString("---\n")
			}
			if err := emit.WriteYAML(out, encode(def)); err != nil {
				return err
			}
		}
		return nil
	}
	documents := make([]*input.Document, len(defs))
	for i, def := range defs {
		documents[i] = encode(def)
	}
	var value any = map[string]any{"apiVersion": "v1", "kind": "List", "items": documents}
	if len(documents) == 1 {
		value = documents[0]
	}
	return emit.WriteJSON(out, value)
}
