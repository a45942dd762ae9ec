package printing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
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
func newTables(
	subjects []view.Subject, out io.Writer, width func() int, wide, noHeaders bool, now func() time.Time,
) *tables {
	short := !wide && width != nil && width() > 0
	t := &tables{subjects: subjects, out: out, wide: wide, short: short, now: now, printed: map[view.Subject]*printedTable{}}
	for _, s := range subjects {
		t.printed[s] = &printedTable{Table: terminal.Table{Out: out, Width: width, NoHeader: noHeaders}}
	}
	return t
}

func (t *tables) print(b *view.Book) error {
	separator := ""
	for _, s := range t.subjects {
		table, printed := t.table(s, b), t.printed[s]
		if len(table.rows) == 0 {
			continue
		}
		if _, err := io.WriteString(t.out, separator); err != nil {
			return err
		}
		separator = "\n"
		table.hasMessages = table.hasMessages || printed.hasMessages
		printed.hasMessages = table.hasMessages
		if err := table.Print(&printed.Table, t.wide); err != nil {
			return err
		}
	}
	return nil
}

func (t *tables) table(s view.Subject, b *view.Book) *TableBuilder {
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

func (t *tables) problems(rows []state.Problem) *TableBuilder {
	table := NewTable("Problem", "Thing", "Message", "Repair").Wide("Lease", "Namespace", "Since")
	for _, r := range rows {
		plan := r.Plan
		if command := r.Repair(); command != "" {
			plan += ": " + command
		}
		table.Row("", r.Problem, r.Thing, t.sentence(r.Message), t.sentence(plan), terminal.Dash(r.Lease), terminal.Dash(r.Namespace), moment(r.Since))
	}
	return table
}

func (t *tables) hosts(rows []view.HostRow) *TableBuilder {
	table := NewTable("Host", "Owner", "DSeq", "Service", "Routed", "Answers", "State", "Age").
		Wide("Target", "GSeq", "OSeq", "Provider", "Namespace", "Since", "Expires", "Claimed")
	for _, r := range rows {
		target := r.Target
		if r.State == view.StateTransferring || r.State == view.StateReleased { // the route is another's, or gone
			target = ""
		}
		table.Row(withSilence(r.Message, r.Silent()),
			r.Host+r.Path, t.owner(r.Owner), number(r.DSeq), backend(r.Service, r.Port), routed(target, r.Routed),
			answers(r.Endpoints, target != "" && r.Service != ""), r.State, t.age(r.Since),
			terminal.Dash(r.Target), number(r.GSeq), number(r.OSeq), terminal.Dash(r.Provider), terminal.Dash(r.Namespace),
			moment(r.Since), terminal.Dash(r.Expires), r.Claimed)
	}
	return table
}

func (t *tables) ips(rows []view.IPRow) *TableBuilder {
	table := NewTable("IP", "Owner", "DSeq", "Port", "Service", "State", "Age").
		Wide("Pool", "Answers", "GSeq", "OSeq", "Provider", "Namespace", "Sharing-Key", "Since", "Expires", "Claimed")
	for _, r := range rows {
		address := "-"
		switch {
		case r.Address.IsValid():
			address = r.Address.String()
		case r.State == view.StatePending:
			address = "<pending>"
		}
		table.Row(withSilence(r.Message, r.Silent()),
			address, t.owner(r.Owner), number(r.DSeq), portText(r), backend(r.Service, r.ContainerPort), r.State,
			t.age(r.Since), terminal.Dash(r.Pool), answers(r.Endpoints, r.Routed()), number(r.GSeq), number(r.OSeq), terminal.Dash(r.Provider),
			terminal.Dash(r.Namespace), terminal.Dash(r.SharingKey), moment(r.Since), terminal.Dash(r.Expires), r.Claimed)
	}
	return table
}

func (t *tables) pools(rows []view.PoolRow) *TableBuilder {
	table := NewTable("Range", "Addresses", "Used", "Free", "").Wide("Pool", "Mode")
	for _, r := range rows {
		table.Row("", some(r.Ranges), view.CountText(r.Addresses), r.Used, view.CountText(r.Free), bar(r), r.Name, r.Mode)
	}
	return table
}

func (t *tables) routes(rows []view.RouteRow) *TableBuilder {
	columns := []string{"Host", "Kind", "Namespace", "Name", "Admitted", "Reason", "Age"}
	sharded := slices.ContainsFunc(rows, func(r view.RouteRow) bool { return r.Shard != "" })
	if sharded {
		columns = append([]string{"Shard"}, columns...)
	}
	table := NewTable(columns...).Wide("Owner", "Lease", "Since")
	for _, r := range rows {
		cells := []any{
			terminal.Dash(r.Pattern()), r.Kind, terminal.Dash(r.Namespace), r.Name, r.Admitted, terminal.Dash(r.Reason), t.age(r.Since),
			terminal.Dash(r.Owner), terminal.Dash(r.Lease), moment(r.Since),
		}
		if sharded {
			cells = append([]any{terminal.Dash(r.Shard)}, cells...)
		}
		table.Row(r.Message, cells...)
	}
	return table
}

func (t *tables) records(rows []view.DNSRow) *TableBuilder {
	table := NewTable("Host", "Type", "Values", "TTL", "Zone", "Last-Operation", "State", "Age").
		Wide("Name", "Owner", "DSeq", "Namespace", "Object", "Since")
	for _, r := range rows {
		ttl := "-"
		if r.TTL > 0 {
			ttl = number(uint64(r.TTL))
		}
		table.Row(r.Message,
			r.Host, string(r.Type), some(r.Values), ttl, terminal.Dash(r.Zone), terminal.Dash(r.LastOperation), r.State, t.age(r.Since),
			r.Name, terminal.Dash(r.Owner), number(r.DSeq), terminal.Dash(r.Namespace), r.Kind+"/"+r.Object, moment(r.Since))
	}
	return table
}

// leases returns the table of leases, with additional columns for their workloads if requested.
func (t *tables) leases(rows []view.LeaseRow, workloads bool) *TableBuilder {
	columns := []string{"Owner", "DSeq", "GSeq", "OSeq", "Hosts", "Addresses", "State", "Age"}
	if workloads {
		columns = append(columns, "Workloads", "Ready")
	}
	table := NewTable(columns...).Wide("Provider", "Namespace", "Since", "Host-Names")
	for _, r := range rows {
		cells := []any{
			t.owner(r.Owner), number(r.DSeq), number(r.GSeq), number(r.OSeq), len(r.Hosts), some(r.Addresses), terminal.Dash(r.State),
			t.age(r.Since),
		}
		message := ""
		if workloads {
			runs, ready := "-", "-"
			if w := r.Workloads; w != nil {
				runs, ready, message = string(w.State), fmt.Sprintf("%d/%d", w.Ready, w.Total), w.Reason
			}
			cells = append(cells, runs, ready)
		}
		if r.Suspended {
			message = withSilence(message, "suspended: the reconciler leaves it as it is")
		}
		table.Row(message, append(cells, terminal.Dash(r.Provider), terminal.Dash(r.Namespace), moment(r.Since), some(r.Hosts))...)
	}
	return table
}

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
