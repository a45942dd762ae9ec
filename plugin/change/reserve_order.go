package change

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// kindOrder is what stands before an order.
const kindOrder = "order"

// claimFlags are the flags of reserve that are about hosts and addresses, and not about orders.
var claimFlags = []string{"lease", "from-cluster", "address", "endpoint", "adopt", "operators", "prune", "assume-crashed", "concurrency", flagRequireProof, "resolver"}

// checkOrder refuses what means nothing for an order.
func (f *reserveFlags) checkOrder(cmd *cobra.Command, args []string) error {
	for _, name := range claimFlags {
		if cmd.Flags().Changed(name) {
			return usage.Errorf("--%s is about hosts and addresses; --order reserves resources, and leased addresses by their number", name)
		}
	}
	switch {
	case len(args) > 0:
		return usage.Errorf("%q: --order reserves what -f asks for, and takes no names", args[0])
	case len(f.input.Files) == 0:
		return usage.Errorf("must specify -f with --order")
	case f.expires < 0:
		return usage.Errorf("--expires must not be negative")
	}
	if err := checkDryRun(&f.dryRun); err != nil {
		return err
	}
	return checkOrderOutput(f.output)
}

// checkOrderOutput refuses a format in which nothing is told of orders.
func checkOrderOutput(output string) error {
	switch output {
	case "", console.OutputEvents, console.OutputName, "json", "yaml":
		return nil
	}
	return usage.Errorf("--output must be 'events', 'name', 'json' or 'yaml', not %q", output)
}

// parseOrder reads an order, with or without the word before it, and doubts an address that looks mistyped.
func parseOrder(c *console.Console, text, flag string) (lease.Order, error) {
	order, err := lease.ParseOrder(thing.TrimKind(text, thing.Order))
	if err != nil {
		return order, usage.Errorf("%s%w", flag, err)
	}
	if !lease.ChecksumOK(order.Owner) {
		fmt.Fprintf(c.ErrOut, "Warning: %sthe checksum of %s is wrong; is there a typing error?\n", flag, order.Owner)
	}
	return order, nil
}

// reserveOrder reserves for an order what its group asks for.
func reserveOrder(ctx context.Context, c *session.Session, f *reserveFlags, order lease.Order) error {
	to, cfg, err := c.Open(ctx, capacity.Requests)
	if err != nil {
		return err
	}
	group, err := groupOf(ctx, c, f, order, cfg)
	if err != nil {
		return err
	}
	orders := reservation.New(to.DryRun(f.dryRun), cfg)
	told := newOrderEvents(&c.Console, f.output, f.dryRun)
	claim, outcome, err := orders.Reserve(ctx, order, group, reservation.Options{Expires: f.expires, Waiting: func(what string) {
		fmt.Fprintf(c.ErrOut, "%s\n", terminal.OneLine(fmt.Sprintf("order/%s waiting for %s", order, what), terminal.MaxCell))
	}})
	if err != nil {
		return err
	}
	return told.reserved(claim, outcome, to)
}

// groupOf is what the order's group asks for. An SDL has one group for each gseq; a definition names its own lease.
func groupOf(ctx context.Context, c *session.Session, f *reserveFlags, order lease.Order, cfg *config.ProviderConfig) (inventory.Group, error) {
	var groups []inventory.Group
	var problems lease.Problems
	id := lease.ID{Owner: order.Owner, DSeq: order.DSeq, GSeq: order.GSeq, OSeq: order.OSeq}
	err := f.input.Each(ctx, c.In, cfg.Limits.InputSize, func(r io.Reader, name string) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		opts := input.Options{Lease: &id, DocumentSize: cfg.Limits.DocumentSize, Workloads: true}
		found, err := input.Read(ctx, bytes.NewReader(text), name, opts, func(def *lease.Definition) error {
			asked := def.ResourceGroup()
			switch {
			case def.Lease.Order() != order:
				problems.Add(lease.Place{File: name}, "it is of order %s, and --order names %s", def.Lease.Order(), order)
			case len(asked.Units) == 0:
				problems.Add(lease.Place{File: name}, "it does not say what its services run, so nothing is known of the resources that they need")
			default:
				groups = append(groups, inventory.GroupOf(asked))
			}
			return nil
		})
		c.Warn(found)
		problems = append(problems, found.Errors()...)
		return err
	})
	switch {
	case err != nil:
		return inventory.Group{}, err
	case len(problems) > 0:
		return inventory.Group{}, problems
	case len(groups) != 1:
		return inventory.Group{}, lease.Problems{{At: lease.Place{File: f.input.Files[0]}, Message: fmt.Sprintf("an order has one group, and the input has %d", len(groups))}}
	}
	return groups[0], nil
}

// orderEvents tell what became of orders.
type orderEvents struct {
	c      *console.Console
	output string
	events *console.Events
}

func newOrderEvents(c *console.Console, output, dryRun string) *orderEvents {
	return &orderEvents{c, output, console.NewEvents(c, output, dryRun)}
}

// reserved tells what an order has reserved.
func (e *orderEvents) reserved(claim *reserved.Claim, outcome reservation.Outcome, in *cluster.Cluster) error {
	row := view.NewOrderRow(claim, in.Now())
	if e.output == "json" || e.output == "yaml" {
		f := printing.NewFlags()
		f.Output = e.output
		show, err := f.Printer([]view.Subject{view.SubjectOrders}, e.c.Out, time.Now)
		if err != nil {
			return err
		}
		return show(&view.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Orders: []view.OrderRow{row}})
	}
	message := printing.HoldText(row)
	if nodes := row.Nodes; len(nodes) > 0 {
		message += " on " + printing.NodesText(nodes)
	}
	if row.Expires != "" {
		message += ", until " + row.Expires
	}
	e.tell(claim.Order, report.Action(outcome), message)
	return nil
}

// tell tells of an order.
func (e *orderEvents) tell(order lease.Order, action report.Action, message string) {
	e.events.Report(report.Event{Time: time.Now(), Action: action, Kind: kindOrder, Name: order.String(), Message: message})
}
