package printing

import (
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// tables prints a book as kubectl prints its tables, one a subject. Rows that come later, in a
// watch, stand under the headers of the first.
type tables struct {
	subjects []view.Subject
	out      io.Writer
	wide     bool
	now      func() time.Time
	printer  printers.ResourcePrinter
	// aligned lines up what later calls print with what the first one did.
	aligned interface {
		io.Writer
		Flush() error
	}
}

func newTables(subjects []view.Subject, out io.Writer, wide, noHeaders bool, now func() time.Time) *tables {
	t := &tables{subjects: subjects, out: out, wide: wide, now: now}
	t.printer = printers.NewTablePrinter(printers.PrintOptions{Wide: wide, NoHeaders: noHeaders})
	t.aligned = printers.GetNewTabWriter(out)
	return t
}

func (t *tables) print(b *view.Book) error {
	printed := 0
	for _, s := range t.subjects {
		table := t.table(s, b)
		if len(table.Rows) == 0 {
			continue
		}
		if printed > 0 {
			if _, err := fmt.Fprintln(t.out); err != nil {
				return err
			}
			t.aligned = printers.GetNewTabWriter(t.out) // each table has its own widths
		}
		if err := t.printer.PrintObj(table, t.aligned); err != nil {
			return err
		}
		if err := t.aligned.Flush(); err != nil {
			return err
		}
		printed++
	}
	return nil
}

func (t *tables) table(s view.Subject, b *view.Book) *metav1.Table {
	switch s {
	case view.SubjectHosts:
		return t.hosts(b.Hosts)
	case view.SubjectIPs:
		return t.ips(b.IPs)
	case view.SubjectLeases:
		return t.leases(b.Leases, b.WithWorkloads)
	case view.SubjectRoutes:
		return t.routes(b.Routes)
	case view.SubjectDNS:
		return t.records(b.DNS)
	case view.SubjectResources:
		return t.resources(b.Resources)
	case view.SubjectOrders:
		return t.orders(b.Orders)
	case view.SubjectProblems:
		return t.problems(b.Problems)
	}
	return t.pools(b.Pools)
}

func (t *tables) problems(rows []state.Problem) *metav1.Table {
	table := NewTable("Problem", "Thing", "Message", "Repair").Wide("Lease", "Namespace", "Since")
	for _, r := range rows {
		plan := r.Plan
		if r.Command != "" {
			plan += ": " + r.Command
		}
		table.Row("", r.Problem, r.Thing, r.Message, plan, terminal.Dash(r.Lease), terminal.Dash(r.Namespace), moment(r.Since))
	}
	return table.Done()
}

func (t *tables) hosts(rows []view.HostRow) *metav1.Table {
	table := NewTable("Host", "Owner", "DSeq", "Service", "Target", "State", "Age").
		Wide("GSeq", "OSeq", "Provider", "Namespace", "Since", "Expires", "Claimed")
	for _, r := range rows {
		table.Row(r.Message,
			r.Host+r.Path, t.owner(r.Owner), number(r.DSeq), backend(r.Service, r.Port), terminal.Dash(r.Target), r.State, t.age(r.Since),
			number(r.GSeq), number(r.OSeq), terminal.Dash(r.Provider), terminal.Dash(r.Namespace), moment(r.Since), terminal.Dash(r.Expires), r.Claimed)
	}
	return table.Done()
}

func (t *tables) ips(rows []view.IPRow) *metav1.Table {
	table := NewTable("IP", "Owner", "DSeq", "Port", "Service", "Pool", "State", "Age").
		Wide("GSeq", "OSeq", "Provider", "Namespace", "Sharing-Key", "Since", "Expires", "Claimed")
	for _, r := range rows {
		address := "-"
		switch {
		case r.Address.IsValid():
			address = r.Address.String()
		case r.State == view.StatePending:
			address = "<pending>"
		}
		table.Row(r.Message,
			address, t.owner(r.Owner), number(r.DSeq), portText(r), backend(r.Service, r.ContainerPort), terminal.Dash(r.Pool), r.State, t.age(r.Since),
			number(r.GSeq), number(r.OSeq), terminal.Dash(r.Provider), terminal.Dash(r.Namespace), terminal.Dash(r.SharingKey), moment(r.Since), terminal.Dash(r.Expires), r.Claimed)
	}
	return table.Done()
}

func (t *tables) pools(rows []view.PoolRow) *metav1.Table {
	table := NewTable("Range", "Addresses", "Used", "Free", "").Wide("Pool", "Mode")
	for _, r := range rows {
		table.Row("", some(r.Ranges), addresses(r.Addresses), r.Used, addresses(r.Free), bar(r), r.Name, r.Mode)
	}
	return table.Done()
}

func (t *tables) routes(rows []view.RouteRow) *metav1.Table {
	columns := []string{"Host", "Kind", "Namespace", "Name", "Admitted", "Reason", "Age"}
	sharded := slices.ContainsFunc(rows, func(r view.RouteRow) bool { return r.Shard != "" })
	if sharded {
		columns = append([]string{"Shard"}, columns...)
	}
	table := NewTable(columns...).Wide("Owner", "Lease", "Since")
	for _, r := range rows {
		cells := []any{terminal.Dash(r.Pattern()), r.Kind, terminal.Dash(r.Namespace), r.Name, r.Admitted, terminal.Dash(r.Reason), t.age(r.Since), terminal.Dash(r.Owner), terminal.Dash(r.Lease), moment(r.Since)}
		if sharded {
			cells = append([]any{terminal.Dash(r.Shard)}, cells...)
		}
		table.Row(r.Message, cells...)
	}
	return table.Done()
}

// TableBuilder collects a table. Rows may end with a message, for which there is a column without
// a name when one of them has one.
type TableBuilder struct {
	metav1.Table
	messages []string
	said     bool
}

// NewTable begins a table with the headers of its columns.
func NewTable(columns ...string) *TableBuilder {
	b := &TableBuilder{}
	for _, name := range columns {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	return b
}

// Wide adds columns that only -o wide shows.
func (b *TableBuilder) Wide(columns ...string) *TableBuilder {
	for _, name := range columns {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string", Priority: 1})
	}
	return b
}

// Row adds a row; message is empty where there is nothing to add to its cells.
func (b *TableBuilder) Row(message string, cells ...any) {
	b.Rows = append(b.Rows, metav1.TableRow{Cells: cells})
	b.messages = append(b.messages, message)
	b.said = b.said || message != ""
}

// Done is the table, with a column for messages where there are any.
func (b *TableBuilder) Done() *metav1.Table {
	if b.said {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Type: "string"})
		for i, m := range b.messages {
			b.Rows[i].Cells = append(b.Rows[i].Cells, m)
		}
	}
	return &b.Table
}
