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

// tables prints a book as kubectl prints tables, one for each subject. In a watch, later rows are aligned with the first ones
// and have no header.
type tables struct {
	subjects []view.Subject
	out      io.Writer
	wide     bool
	now      func() time.Time
	printer  printers.ResourcePrinter
	// noted is true if a table had a column for messages. The printer repeats the header if the columns of a watch change.
	noted bool
	// aligned keeps the column widths between calls of print.
	aligned interface {
		io.Writer
		Flush() error
	}
}

func newTables(subjects []view.Subject, out io.Writer, wide, noHeaders bool, now func() time.Time) *tables {
	return &tables{
		subjects: subjects, out: out, wide: wide, now: now, aligned: printers.GetNewTabWriter(out),
		printer: printers.NewTablePrinter(printers.PrintOptions{Wide: wide, NoHeaders: noHeaders}),
	}
}

func (t *tables) print(b *view.Book) error {
	printed, noted := 0, t.noted
	for _, s := range t.subjects {
		table := t.table(s, b)
		if len(table.Rows) == 0 {
			continue
		}
		if !hasMessages(table) && noted {
			addMessages(table, make([]string, len(table.Rows)))
		}
		t.noted = t.noted || hasMessages(table)
		if printed > 0 {
			if _, err := fmt.Fprintln(t.out); err != nil {
				return err
			}
			t.aligned = printers.GetNewTabWriter(t.out) // each table has its own column widths
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
		Wide("Endpoints", "GSeq", "OSeq", "Provider", "Namespace", "Since", "Expires", "Claimed")
	for _, r := range rows {
		table.Row(withSilence(r.Message, r.Endpoints.Silent(r.Service, r.Port)),
			r.Host+r.Path, t.owner(r.Owner), number(r.DSeq), backend(r.Service, r.Port), terminal.Dash(r.Target), r.State, t.age(r.Since),
			endpoints(r.Endpoints, r.Routed()), number(r.GSeq), number(r.OSeq), terminal.Dash(r.Provider), terminal.Dash(r.Namespace),
			moment(r.Since), terminal.Dash(r.Expires), r.Claimed)
	}
	return table.Done()
}

func (t *tables) ips(rows []view.IPRow) *metav1.Table {
	table := NewTable("IP", "Owner", "DSeq", "Port", "Service", "Pool", "State", "Age").
		Wide("Endpoints", "GSeq", "OSeq", "Provider", "Namespace", "Sharing-Key", "Since", "Expires", "Claimed")
	for _, r := range rows {
		address := "-"
		switch {
		case r.Address.IsValid():
			address = r.Address.String()
		case r.State == view.StatePending:
			address = "<pending>"
		}
		table.Row(withSilence(r.Message, r.Endpoints.Silent(r.Object, r.Port)),
			address, t.owner(r.Owner), number(r.DSeq), portText(r), backend(r.Service, r.ContainerPort), terminal.Dash(r.Pool), r.State,
			t.age(r.Since), endpoints(r.Endpoints, r.Routed()), number(r.GSeq), number(r.OSeq), terminal.Dash(r.Provider),
			terminal.Dash(r.Namespace), terminal.Dash(r.SharingKey), moment(r.Since), terminal.Dash(r.Expires), r.Claimed)
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
		cells := []any{
			terminal.Dash(r.Pattern()), r.Kind, terminal.Dash(r.Namespace), r.Name, r.Admitted, terminal.Dash(r.Reason), t.age(r.Since),
			terminal.Dash(r.Owner), terminal.Dash(r.Lease), moment(r.Since),
		}
		if sharded {
			cells = append([]any{terminal.Dash(r.Shard)}, cells...)
		}
		table.Row(r.Message, cells...)
	}
	return table.Done()
}

func (t *tables) records(rows []view.DNSRow) *metav1.Table {
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
	return table.Done()
}

// leases returns the table of leases, with additional columns for their workloads if requested.
func (t *tables) leases(rows []view.LeaseRow, workloads bool) *metav1.Table {
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
		table.Row(message, append(cells, terminal.Dash(r.Provider), terminal.Dash(r.Namespace), moment(r.Since), some(r.Hosts))...)
	}
	return table.Done()
}
