package plugin

import (
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

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
	table := newTable("Problem", "Thing", "Message", "Repair").wide("Lease", "Namespace", "Since")
	for _, r := range rows {
		plan := r.Plan
		if r.Command != "" {
			plan += ": " + r.Command
		}
		table.row("", r.Problem, r.Thing, r.Message, plan, dash(r.Lease), dash(r.Namespace), moment(r.Since))
	}
	return table.done()
}

func (t *tables) hosts(rows []view.HostRow) *metav1.Table {
	table := newTable("Host", "Owner", "DSeq", "Service", "Target", "State", "Age").
		wide("GSeq", "OSeq", "Provider", "Namespace", "Since", "Expires", "Claimed")
	for _, r := range rows {
		table.row(r.Message,
			r.Host+r.Path, t.owner(r.Owner), number(r.DSeq), backend(r.Service, r.Port), dash(r.Target), r.State, t.age(r.Since),
			number(r.GSeq), number(r.OSeq), dash(r.Provider), dash(r.Namespace), moment(r.Since), dash(r.Expires), r.Claimed)
	}
	return table.done()
}

func (t *tables) ips(rows []view.IPRow) *metav1.Table {
	table := newTable("IP", "Owner", "DSeq", "Port", "Service", "Pool", "State", "Age").
		wide("GSeq", "OSeq", "Provider", "Namespace", "Sharing-Key", "Since", "Expires", "Claimed")
	for _, r := range rows {
		address := "-"
		switch {
		case r.Address.IsValid():
			address = r.Address.String()
		case r.State == view.StatePending:
			address = "<pending>"
		}
		table.row(r.Message,
			address, t.owner(r.Owner), number(r.DSeq), portText(r), backend(r.Service, r.ContainerPort), dash(r.Pool), r.State, t.age(r.Since),
			number(r.GSeq), number(r.OSeq), dash(r.Provider), dash(r.Namespace), dash(r.SharingKey), moment(r.Since), dash(r.Expires), r.Claimed)
	}
	return table.done()
}

func (t *tables) pools(rows []view.PoolRow) *metav1.Table {
	table := newTable("Range", "Addresses", "Used", "Free", "").wide("Pool", "Mode")
	for _, r := range rows {
		table.row("", some(r.Ranges), addresses(r.Addresses), r.Used, addresses(r.Free), bar(r), r.Name, r.Mode)
	}
	return table.done()
}

func (t *tables) routes(rows []view.RouteRow) *metav1.Table {
	columns := []string{"Host", "Kind", "Namespace", "Name", "Admitted", "Reason", "Age"}
	sharded := slices.ContainsFunc(rows, func(r view.RouteRow) bool { return r.Shard != "" })
	if sharded {
		columns = append([]string{"Shard"}, columns...)
	}
	table := newTable(columns...).wide("Owner", "Lease", "Since")
	for _, r := range rows {
		cells := []any{dash(r.Pattern()), r.Kind, dash(r.Namespace), r.Name, r.Admitted, dash(r.Reason), t.age(r.Since), dash(r.Owner), dash(r.Lease), moment(r.Since)}
		if sharded {
			cells = append([]any{dash(r.Shard)}, cells...)
		}
		table.row(r.Message, cells...)
	}
	return table.done()
}

// tableBuilder collects a table. Rows may end with a message, for which there is a column without
// a name when one of them has one.
type tableBuilder struct {
	metav1.Table
	messages []string
	said     bool
}

func newTable(columns ...string) *tableBuilder {
	b := &tableBuilder{}
	for _, name := range columns {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	return b
}

// wide adds columns that only -o wide shows.
func (b *tableBuilder) wide(columns ...string) *tableBuilder {
	for _, name := range columns {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string", Priority: 1})
	}
	return b
}

func (b *tableBuilder) row(message string, cells ...any) {
	b.Rows = append(b.Rows, metav1.TableRow{Cells: cells})
	b.messages = append(b.messages, message)
	b.said = b.said || message != ""
}

func (b *tableBuilder) done() *metav1.Table {
	if b.said {
		b.ColumnDefinitions = append(b.ColumnDefinitions, metav1.TableColumnDefinition{Type: "string"})
		for i, m := range b.messages {
			b.Rows[i].Cells = append(b.Rows[i].Cells, m)
		}
	}
	return &b.Table
}
