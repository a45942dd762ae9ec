package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/leaseevents"
	"github.com/akash-net/kubectl-akash-net/apply/leasestatus"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/history"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// eventFlags are the arguments and flags of events.
type eventFlags struct {
	things                               []thing.Thing
	service, output                      string
	all, watch, noHeaders, ignoreMissing bool
}

// NewLeaseEvents returns the command that shows what happened to leases, and to the hosts and addresses that they hold.
func NewLeaseEvents(c *session.Session) *cobra.Command {
	f := &eventFlags{}
	cmd := &cobra.Command{
		Use:   "events (LEASE | (HOST|ADDRESS)... | --all)",
		Short: "Show what happened to a lease and its pods, to hosts and addresses",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.things, err = flags.ParseThings(args, thing.Host, thing.Address, thing.Lease); err != nil {
				return err
			}
			ofLease := len(f.things) == 1 && f.things[0].Kind == thing.Lease
			switch {
			case f.all == (len(f.things) > 0):
				return usage.Errorf("name a lease (OWNER/DSEQ/GSEQ), hosts or addresses, or use --all")
			case !ofLease && slices.ContainsFunc(f.things, func(t thing.Thing) bool { return t.Kind == thing.Lease }):
				return usage.Errorf("name one lease and nothing else, or hosts and addresses, or use --all")
			case f.service != "" && !ofLease:
				return usage.Errorf("--service is one of a lease: name the lease")
			case ofLease:
				return f.ofLease(cmd.Context(), c, args[0])
			}
			return f.ofThings(cmd.Context(), c)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Lease, thing.Host, thing.Address),
	}
	addService(c, cmd, "service", "", "Only this service of the lease", &f.service)
	cmd.Flags().BoolVar(&f.all, "all", false, "Show the events of all leases")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "After the existing events, show new ones")
	cmd.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print the table without its header")
	flags.AddOutput(cmd, &f.output, "", "", "json", "yaml", "name", "wide")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease})
}

// ofLease shows the events in the namespace of a lease.
func (f *eventFlags) ofLease(ctx context.Context, c *session.Session, typed string) error {
	from, id, err := openLease(ctx, c, typed, f.service)
	if _, missing := errors.AsType[*session.MissingError](err); missing && f.service == "" {
		return f.without(ctx, c, from, err)
	}
	if err != nil {
		return err
	}
	of := leaseevents.OfService(id, f.service)
	return cluster.NeedsRoleIn(f.show(ctx, c, from, of, nil, func(events []leaseevents.Event) error {
		if len(events) == 0 {
			fmt.Fprintf(c.ErrOut, "No events are kept of lease %s.\n", id)
		}
		return nil
	}), id.Namespace(), leaseevents.Role)
}

// without says that a lease without a namespace has no events, or that there is no such lease.
func (f *eventFlags) without(ctx context.Context, c *session.Session, from *cluster.Cluster, none error) error {
	cfg, err := c.Configuration(ctx, from)
	if err != nil {
		return err
	}
	missing, err := f.missing(ctx, from, cfg, f.things)
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		return none
	}
	fmt.Fprintf(c.ErrOut, "No events are kept of %s: it has no namespace.\n", f.things[0])
	return nil
}

// ofThings shows what commands did with hosts and addresses, or the events of all leases.
func (f *eventFlags) ofThings(ctx context.Context, c *session.Session) error {
	from, cfg, err := c.Open(ctx, session.Requests)
	if err != nil {
		return err
	}
	if f.all {
		in := leaseNamespaces{from: from, known: map[string]*lease.ID{}}
		var unknown error
		of := leaseevents.Selection{Keep: func(e leaseevents.Event) bool {
			id, err := in.leaseOf(ctx, e)
			unknown = cmp.Or(unknown, err)
			return id != nil
		}}
		return f.show(ctx, c, from, of, &in, func(events []leaseevents.Event) error {
			if len(events) == 0 && unknown == nil {
				fmt.Fprintln(c.ErrOut, "No events are kept of any lease.")
			}
			return unknown
		})
	}
	of := leaseevents.Selection{
		Options: metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("reportingComponent", history.Controller).String()},
		Keep: func(e leaseevents.Event) bool {
			return slices.ContainsFunc(f.things, func(t thing.Thing) bool { return tellsOf(e, t) })
		},
	}
	return f.show(ctx, c, from, of, nil, func(events []leaseevents.Event) error {
		slices.SortStableFunc(events, written)
		silent := slices.DeleteFunc(slices.Clone(f.things), func(t thing.Thing) bool {
			return slices.ContainsFunc(events, func(e leaseevents.Event) bool { return tellsOf(e, t) })
		})
		missing, err := f.missing(ctx, from, cfg, silent)
		if err != nil {
			return err
		}
		for _, t := range silent {
			if !slices.Contains(missing, t) {
				fmt.Fprintf(c.ErrOut, "No events found for %s.\n", t)
			}
		}
		return flags.MissingThings(missing, func(thing.Thing) bool { return true }, "%s not found: nothing holds it, and no event tells of it")
	})
}

// show prints events, and new ones in a watch. Of what there is told says what is missing; a *session.MissingError ends the command after
// the rest is printed. in are the leases of events of several, nil if they are of one or told by their names.
func (f *eventFlags) show(
	ctx context.Context, c *session.Session, from *cluster.Cluster, of leaseevents.Selection, in *leaseNamespaces, told func([]leaseevents.Event) error,
) error {
	show, err := eventPrinter(&c.Console, f.output, f.noHeaders, f.watch, in)
	if err != nil {
		return err
	}
	if f.watch {
		return leaseevents.Watch(ctx, from, of, show)
	}
	events, err := leaseevents.Read(ctx, from, of)
	if err != nil {
		return err
	}
	slices.SortStableFunc(events, happened)
	err = told(events)
	if _, missing := errors.AsType[*session.MissingError](err); err != nil && !missing {
		return err
	}
	return cmp.Or(show(events), err)
}

// missing returns which things without events there are not: no lease holds the thing, and the lease neither holds anything nor
// has a namespace.
func (f *eventFlags) missing(ctx context.Context, from *cluster.Cluster, cfg *config.ProviderConfig, silent []thing.Thing) (missing []thing.Thing, err error) {
	if len(silent) == 0 || f.ignoreMissing {
		return nil, nil
	}
	held, err := reading.HeldThings(ctx, from, cfg.LedgerNamespace, lease.Group{})
	return slices.DeleteFunc(slices.Clone(silent), func(t thing.Thing) bool {
		return slices.ContainsFunc(held, func(h thing.Thing) bool {
			return t.Kind == h.Kind && t.Group == h.Group && t.Host == h.Host && t.Addr == h.Addr
		})
	}), err
}

// leaseNamespaces knows which namespaces are those of leases.
type leaseNamespaces struct {
	from  *cluster.Cluster
	known map[string]*lease.ID
}

// leaseOf returns the lease in whose namespace an event is, nil if it is in none of a lease. A namespace that is not known yet may be new.
func (n *leaseNamespaces) leaseOf(ctx context.Context, e leaseevents.Event) (*lease.ID, error) {
	if id, known := n.known[e.Namespace]; known {
		return id, nil
	}
	n.known[e.Namespace] = nil
	ids, err := leasestatus.All(ctx, n.from)
	for _, id := range ids {
		n.known[id.Namespace()] = &id
	}
	return n.known[e.Namespace], err
}

// tellsOf reports whether an event that a command wrote is about a host or an address. It counts only in the namespace of its lease, where
// nobody else may write.
func tellsOf(e leaseevents.Event, t thing.Thing) bool {
	if _, ok := lease.IDOfObject(e.Namespace, e.Labels); !ok {
		return false
	}
	t.Path = "" // a claim is on a host with all its paths
	return slices.Contains(history.Names(&e), t.Name())
}

// happened compares events by when they happened, to a second, and then by when they were written: some writers count seconds only.
func happened(a, b leaseevents.Event) int {
	return cmp.Or(a.Last.Truncate(time.Second).Compare(b.Last.Truncate(time.Second)), written(a, b))
}

// written compares events by when they were written. Their times are the clocks of several machines, as far as these know it to a second.
func written(a, b leaseevents.Event) int {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	if err != nil {
		return 0 // they stay in the order of their times
	}
	return order
}

// involved names the object that an event is about: for those that commands have written the lease.
func involved(e leaseevents.Event) string {
	if id, ok := lease.IDOfObject(e.Namespace, e.Labels); ok && e.ReportingController == history.Controller {
		return string(thing.Lease) + "/" + id.Group().String()
	}
	return strings.ToLower(e.InvolvedObject.Kind) + "/" + e.InvolvedObject.Name
}

// eventPrinter returns the function that prints events in a format; of are the leases of events of several. In a watch it is called
// several times: it prints the header of a table once, and each object as a document instead of a List.
func eventPrinter(c *console.Console, output string, noHeaders, watch bool, of *leaseNamespaces) (func([]leaseevents.Event) error, error) {
	switch output {
	case "", "wide":
		table := terminal.Table{Out: c.Text, NoHeader: noHeaders}
		if !noHeaders {
			table.Width = terminal.Width(c.Text)
		}
		return (&eventTable{table, output == "wide", of}).print, nil
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
	of    *leaseNamespaces
}

func (t *eventTable) print(events []leaseevents.Event) error {
	if len(events) == 0 {
		return nil
	}
	columns := []string{"Last Seen", "Type", "Reason", "Object", "Message"}
	if t.of != nil {
		columns = append([]string{"Lease"}, columns...)
	}
	table := printing.NewTable(columns...).Wide("Source", "First Seen", "Count", "Name")
	now := time.Now()
	for _, e := range events {
		var of []any
		if t.of != nil {
			g := t.of.known[e.Namespace].Group()
			if !t.wide {
				g.Owner = thing.ShortWallet(g.Owner)
			}
			of = append(of, g)
		}
		table.Row("", append(of, lastSeen(now, e), terminal.Dash(e.Type), terminal.Dash(e.Reason),
			involved(e), terminal.OneLine(strings.TrimSpace(e.Message), terminal.MaxCell),
			cmp.Or(e.Source.Component, e.ReportingController, "-"), since(now, e.First), e.Times, e.Name)...)
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
