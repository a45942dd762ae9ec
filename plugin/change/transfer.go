package change

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// transferFlags are the flags of transfer.
type transferFlags struct {
	leaseCommand
	to string
}

// NewTransfer returns the command that moves host names and addresses to another lease.
func NewTransfer(c *session.Session) *cobra.Command {
	f := &transferFlags{leaseCommand: leaseCommand{c: c, prune: true}}
	cmd := &cobra.Command{
		Use:   "transfer (HOST|ADDRESS|ENDPOINT)... --to LEASE [-f FILE]",
		Short: "Move host names and addresses to another lease of the same owner",
		Long: `
			Move host names and addresses from any deployments of an owner to a lease of the same owner: all of
			them, or none. Nobody else can take them in between. On the Gateway API the old route stays until a
			controller has accepted the new one.

			If the ledger keeps the definition that the lease was last applied with, the routes of that
			definition are written at once, with all their options. The same applies to what was withheld from
			the lease. Other things are routed by the lease's next apply, or by this command if -f gives another
			definition, which is then applied as a whole. Until then the old routes serve.`,
		Example: `
			kubectl akash-net transfer blue.example.com --to akash1…/8438020/1/1/akash1…`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usage.Errorf("name the hosts or addresses to transfer")
			case f.to == "":
				return usage.Errorf("--to is missing: the lease that is to hold them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			things, err := flags.ParseThings(args, thing.Host, thing.Address, thing.Endpoint)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), things)
		},
		ValidArgsFunction: flags.CompleteThings(c, thing.Host, thing.Address),
	}
	cmd.Flags().StringVar(&f.to, "to", "",
		"OWNER/DSEQ/GSEQ[/OSEQ[/PROVIDER]]: the lease to move them to; in full if it is not in the cluster")
	_ = cmd.RegisterFlagCompletionFunc("to", flags.CompleteThings(c, thing.Lease))
	cmd.Flags().StringSliceVarP(&f.input.Files, "filename", "f", nil, "A definition of that lease, to apply with the transfer")
	flags.AddTarget(cmd, &f.target)
	f.add(cmd, "")
	f.addBool(cmd, "assume-serving", flagAssumeCrashed)
	f.addWait(cmd, "until the new routes serve, if the old ones stay until then")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return cmd
}

func (f *transferFlags) run(ctx context.Context, things []thing.Thing) error {
	names, err := claimNames(things, "transfer")
	if err != nil {
		return err
	}
	if f.to, err = f.c.Lengthen(ctx, f.to); err != nil {
		return err
	}
	if _, err := flags.ParseLease("--to", f.to); err != nil {
		return err
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	to, err := flags.NamedLease(ctx, f.cluster, f.cfg, "--to", f.to)
	if err != nil {
		return err
	}
	f.input.Lease = to.String()
	var def *lease.Definition
	if len(f.input.Files) > 0 {
		if err := f.input.Check(); err != nil {
			return err
		}
		defs, err := f.input.Collect(ctx, &f.c.Console, f.cluster, f.cfg)
		if err != nil {
			return err
		}
		if len(defs) != 1 || defs[0].Lease != *to {
			return lease.Problems{{Message: "-f must hold the definition of the lease that --to names, and no other"}}
		}
		def = defs[0]
	}
	events := f.events()
	f.c.Leases = 1
	watcher := newMissingWatcher(events.Report)
	opts := f.options(events)
	opts.Report = watcher.add
	if f.dryRun != "" {
		ahead := foresee(ctx, f.cluster, f.cfg, opts.Report, kinds.Reporting...)
		opts.Report = ahead.report
		defer ahead.end()
	}
	err = apply.New(f.cluster, opts).Transfer(ctx, *to, names, def)
	if err != nil || f.ignoreMissing {
		return err
	}
	return flags.MissingThings(things, watcher.notFound, "%s has no claim that can be transferred")
}

// claimFlags are the flags of reserve that cannot be used with --order.
var claimFlags = []string{
	"lease", "from-cluster", "address", "endpoint", "adopt", "operators", "prune", flagAssumeCrashed, "concurrency",
	flagRequireProof, flagResolver,
}

// checkOrder validates the arguments and flags of reserve with --order.
func (f *reserveFlags) checkOrder(cmd *cobra.Command, args []string) error {
	for _, name := range claimFlags {
		if cmd.Flags().Changed(name) {
			return usage.Errorf("--%s is about hosts and addresses; --order reserves resources, and leased addresses by their "+
				"number", name)
		}
	}
	switch {
	case len(args) > 0:
		return usage.Errorf("%q: --order reserves what -f asks for, and takes no names", args[0])
	case len(f.input.Files) == 0:
		return usage.Errorf("must specify -f with --order")
	case f.expires < 0, f.ends && f.expires == 0:
		return usage.Errorf("--expires must be positive; without it the hold has no end")
	}
	return nil
}

// reserveOrder reserves the resources that an order's group requests.
func reserveOrder(ctx context.Context, c *session.Session, f *reserveFlags, order lease.Order) error {
	to, cfg, err := c.Open(ctx, capacity.Requests)
	if err != nil {
		return err
	}
	group, err := readGroup(ctx, c, f, order, cfg)
	if err != nil {
		return err
	}
	opts := reservation.Options{Expires: f.expires, Waiting: func(what string) {
		fmt.Fprintln(c.ErrOut, terminal.OneLine(fmt.Sprintf("order/%s waiting for %s", order, what), terminal.MaxCell))
	}}
	claim, outcome, err := reservation.New(to.DryRun(f.dryRun), cfg).Reserve(ctx, order, group, opts)
	if err != nil {
		return err
	}
	return printReservation(&c.Console, f, view.NewOrderRow(claim, to.Now()), orderEvent(claim.Order, report.Action(outcome), ""))
}

// readGroup reads the resources that an order's group requests. In an SDL the order's gseq selects the group; a definition
// must be of the order.
func readGroup(
	ctx context.Context, c *session.Session, f *reserveFlags, order lease.Order, cfg *config.ProviderConfig,
) (inventory.Group, error) {
	var groups []inventory.Group
	var problems lease.Problems
	id := lease.ID{Owner: order.Owner, DSeq: order.DSeq, GSeq: order.GSeq, OSeq: order.OSeq}
	err := f.input.Each(ctx, c.In, int64(cfg.Limits.InputSize), func(r io.Reader, name string) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		opts := input.Options{Lease: &id, DocumentSize: int64(cfg.Limits.DocumentSize), Workloads: true}
		found, err := input.Read(ctx, bytes.NewReader(text), name, opts, func(def *lease.Definition) error {
			requested := def.ResourceGroup()
			switch {
			case def.Lease.Order() != order:
				problems.Add(lease.Place{File: name}, "it is of order %s, and --order names %s", def.Lease.Order(), order)
			case len(requested.Units) == 0:
				problems.Add(lease.Place{File: name}, "it does not say what its services run, so nothing is known of the resources "+
					"that they need")
			default:
				groups = append(groups, inventory.GroupOf(requested))
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
		return inventory.Group{}, lease.Problems{{
			At: lease.Place{File: f.input.Files[0]}, Message: fmt.Sprintf("an order has one group, and the input has %d", len(groups)),
		}}
	}
	return groups[0], nil
}

// printReservation prints a reservation as JSON or YAML, or as an event.
func printReservation(c *console.Console, f *reserveFlags, row view.OrderRow, event report.Event) error {
	if f.output == "json" || f.output == "yaml" {
		p := printing.NewFlags()
		p.Output = f.output
		show, err := p.Printer([]view.Subject{view.SubjectOrders}, c.Out, time.Now)
		if err != nil {
			return err
		}
		return show(&view.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Orders: []view.OrderRow{row}})
	}
	event.Message = row.Holds()
	if nodes := row.NodesText(); nodes != "" {
		event.Message += " on " + nodes
	}
	if row.Expires != "" {
		event.Message += ", until " + row.Expires
	}
	console.NewEvents(c, f.output, f.dryRun).Report(event)
	return nil
}

func orderEvent(order lease.Order, action report.Action, message string) report.Event {
	return report.Event{Time: time.Now(), Action: action, Kind: report.KindOrder, Name: order.String(), Message: message}
}
