package show

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leaseevents"
	"github.com/akash-net/kubectl-akash-net/emit"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// NewLeaseEvents returns the command that shows the events in a lease's namespace.
func NewLeaseEvents(c *session.Session) *cobra.Command {
	var service, output string
	var watch, noHeaders bool
	cmd := &cobra.Command{
		Use:   "events LEASE",
		Short: "Show the Kubernetes events of a lease",
		Long: `
			Show the Kubernetes events of the objects in a lease's namespace, the newest last. An API server
			keeps events for an hour. With --watch, new events follow.`,
		Example: `
			kubectl akash-net events akash1…/8438017/1

			# Those of one service, and new ones
			kubectl akash-net events akash1…/8438017/1 --service web --watch`,
		Args: oneLease,
		RunE: func(cmd *cobra.Command, args []string) error {
			show, err := eventPrinter(&c.Console, output, noHeaders, watch, involved)
			if err != nil {
				return err
			}
			return leaseEvents(cmd.Context(), c, args[0], service, watch, show)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Lease),
	}
	addService(c, cmd, "service", "", "Only this service of the lease", &service)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "After the existing events, show new ones")
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "Print the table without its header")
	flags.AddOutput(cmd, &output, "", "", "json", "yaml", "name", "wide")
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease, Unconfigured: true})
}

func leaseEvents(
	ctx context.Context, c *session.Session, typed, service string, watch bool, show func([]leaseevents.Event) error,
) error {
	from, id, err := openLease(ctx, c, typed, service)
	if err != nil {
		return err
	}
	of := leaseevents.OfService(id, service)
	if watch {
		return cluster.NeedsRoleIn(leaseevents.Watch(ctx, from, of, show), id.Namespace(), leaseevents.Role)
	}
	events, err := leaseevents.Read(ctx, from, of)
	if err != nil {
		return cluster.NeedsRoleIn(err, id.Namespace(), leaseevents.Role)
	}
	if len(events) == 0 {
		fmt.Fprintf(c.ErrOut, "No events are kept of lease %s.\n", id)
	}
	return show(events)
}

// involved names the object that an event is about.
func involved(e leaseevents.Event) string {
	return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
}

// eventPrinter returns the function that prints events in a format; about names the object of one in a table. In a watch it is called
// several times: it prints the header of a table once, and each object as a document instead of a List.
func eventPrinter(
	c *console.Console, output string, noHeaders, watch bool, about func(leaseevents.Event) string,
) (func([]leaseevents.Event) error, error) {
	switch output {
	case "", "wide":
		table := terminal.Table{Out: c.Text, NoHeader: noHeaders}
		if !noHeaders {
			table.Width = terminal.Width(c.Text)
		}
		return (&eventTable{table, output == "wide", about}).print, nil
	case "name":
		return func(events []leaseevents.Event) error {
			var names strings.Builder
			for _, e := range events {
				fmt.Fprintf(&names, "event/%s\n", e.Object.GetName())
			}
			_, err := io.WriteString(c.Text, names.String())
			return err
		}, nil
	case "json", "yaml":
		var p printers.ResourcePrinter = &printers.JSONPrinter{}
		if output == "yaml" {
			p = yamlDocuments()
		}
		p = &printers.OmitManagedFieldsPrinter{Delegate: p}
		return func(events []leaseevents.Event) error {
			list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "List"}}
			for _, e := range events {
				if watch {
					if err := p.PrintObj(e.Object, c.Out); err != nil {
						return err
					}
				}
				list.Items = append(list.Items, *e.Object)
			}
			if watch {
				return nil
			}
			return p.PrintObj(list, c.Out)
		}, nil
	}
	return nil, flags.CheckOneOf("output", output, "json", "yaml", "name", "wide")
}

// yamlDocuments returns a printer of YAML documents. That of kubectl fails for texts with some control characters.
func yamlDocuments() printers.ResourcePrinterFunc {
	separator := ""
	return func(o runtime.Object, out io.Writer) error {
		if _, err := io.WriteString(out, separator); err != nil {
			return err
		}
		separator = "---\n"
		return emit.WriteYAML(out, o)
	}
}

// eventTable prints events as kubectl does.
type eventTable struct {
	table terminal.Table
	wide  bool
	about func(leaseevents.Event) string
}

func (t *eventTable) print(events []leaseevents.Event) error {
	if len(events) == 0 {
		return nil
	}
	table := printing.NewTable("Last Seen", "Type", "Reason", "Object", "Message").Wide("Source", "First Seen", "Count", "Name")
	now := time.Now()
	for _, e := range events {
		table.Row("", lastSeen(now, e), terminal.Dash(e.Type), terminal.Dash(e.Reason),
			t.about(e), terminal.OneLine(strings.TrimSpace(e.Message), terminal.MaxCell),
			cmp.Or(e.Source.Component, e.ReportingController, "-"), since(now, e.First), e.Times, e.Name)
	}
	return table.Print(&t.table, t.wide)
}

// lastSeen returns the time since the last occurrence of an event and, for several, their number and period.
func lastSeen(now time.Time, e leaseevents.Event) string {
	if e.Times > 1 {
		return fmt.Sprintf("%s (x%d over %s)", since(now, e.Last), e.Times, since(now, e.First))
	}
	return since(now, e.Last)
}

func since(now, at time.Time) string {
	if at.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(at))
}
