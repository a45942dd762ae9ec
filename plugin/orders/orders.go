// Package orders has the commands about orders: whether they fit the cluster, and what is reserved for them until they are won or lost.
package orders

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// New returns the group of the commands.
func New(c *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "order SUBCOMMAND",
		Short: "See what fits the cluster, and keep room for bids",
	}
	flags.Group(cmd, NewFit(c), newReserve(c), newRelease(c))
	return c.SetScope(cmd, session.Scope{Offline: session.AlwaysOffline, Unconfigured: true})
}

// reserveFlags are the flags of reserve.
type reserveFlags struct {
	files          files.Names
	output, dryRun string
	expires        time.Duration
}

func newReserve(c *session.Session) *cobra.Command {
	f := &reserveFlags{}
	cmd := &cobra.Command{
		Use:   "reserve ORDER -f FILE",
		Short: "Reserve what a bid for an order promises",
		Args:  flags.Args(1, 1, "name one order: OWNER/DSEQ/GSEQ/OSEQ"),
		RunE: func(cmd *cobra.Command, args []string) error {
			order, err := parse(args)
			switch {
			case err != nil:
				return err
			case len(f.files.Files) == 0:
				return usage.Errorf("must specify -f")
			case f.expires < 0, cmd.Flags().Changed("expires") && f.expires == 0:
				return usage.Errorf("--expires must be positive; without it the hold has no end")
			}
			return f.run(cmd.Context(), c, order[0])
		},
		ValidArgsFunction: flags.CompleteOrders(c),
	}
	flags.AddFiles(cmd, &f.files, "Files, or folders of files, with the SDL, the manifest or the lease definition of the order; - is standard input")
	cmd.Flags().DurationVar(&f.expires, "expires", 0, "How long to hold; without it the hold has no end")
	flags.AddDryRun(cmd, &f.dryRun)
	flags.AddEvents(cmd, &f.output, "; 'json' and 'yaml' are the row of \"state orders\"", "json", "yaml")
	return c.SetScope(cmd, session.Scope{})
}

// run reserves the resources that an order's group requests.
func (f *reserveFlags) run(ctx context.Context, c *session.Session, order lease.Order) error {
	to, cfg, err := c.Open(ctx, capacity.Requests)
	if err != nil {
		return err
	}
	group, err := f.group(ctx, c, order, cfg)
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
	row, event := view.NewOrderRow(claim, to.Now()), event(claim.Order, report.Action(outcome))
	book := &view.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Orders: []view.OrderRow{row}}
	if done, err := flags.Document(c.Out, f.output, book); done {
		return err
	}
	event.Message = row.Holds()
	if nodes := row.NodesText(); nodes != "" {
		event.Message += " on " + nodes
	}
	if row.Expires != "" {
		event.Message += ", until " + row.Expires
	}
	console.NewEvents(&c.Console, f.output, f.dryRun).Report(event)
	return nil
}

// group reads the resources that an order's group requests. In an SDL the order's gseq selects the group; a definition
// must be of the order.
func (f *reserveFlags) group(ctx context.Context, c *session.Session, order lease.Order, cfg *config.ProviderConfig) (inventory.Group, error) {
	var groups []inventory.Group
	var problems lease.Problems
	id := order.Lease("")
	err := f.files.Each(ctx, c.In, int64(cfg.Limits.InputSize), func(r io.Reader, name string) error {
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		opts := input.Options{Lease: &id, DocumentSize: int64(cfg.Limits.DocumentSize), Workloads: true}
		defs, found, err := input.All(ctx, bytes.NewReader(text), name, opts)
		for _, def := range defs {
			requested := def.ResourceGroup()
			switch {
			case def.Lease.Order() != order:
				problems.Add(lease.Place{File: name}, "it is of order %s, and not of %s", def.Lease.Order(), order)
			case len(requested.Units) == 0:
				problems.Add(lease.Place{File: name}, "it does not say what its services run, so nothing is known of the resources "+
					"that they need")
			default:
				groups = append(groups, inventory.GroupOf(requested))
			}
		}
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
			At: lease.Place{File: f.files.Files[0]}, Message: fmt.Sprintf("an order has one group, and the input has %d", len(groups)),
		}}
	}
	return groups[0], nil
}

func event(order lease.Order, action report.Action) report.Event {
	return report.Event{Time: time.Now(), Action: action, Kind: report.KindOrder, Name: order.String()}
}

// parse parses the names of orders, with or without the prefix "order/". Each counts once.
func parse(args []string) (orders []lease.Order, err error) {
	for _, arg := range args {
		order, err := thing.ParseOrder(arg)
		if err != nil {
			return nil, usage.Wrap(err)
		}
		if !slices.Contains(orders, order) {
			orders = append(orders, order)
		}
	}
	return orders, nil
}

// releaseFlags are the flags of release.
type releaseFlags struct {
	selector       string
	matches        labels.Selector
	output, dryRun string
	ignoreMissing  bool
}

func newRelease(c *session.Session) *cobra.Command {
	f := &releaseFlags{}
	cmd := &cobra.Command{
		Use:   "release (ORDER... | -l SELECTOR)",
		Short: "Give up what orders have reserved",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if (len(args) > 0) == (f.selector != "") {
				return usage.Errorf("name the orders to release (OWNER/DSEQ/GSEQ/OSEQ), or use -l")
			}
			orders, err := parse(args)
			if err != nil {
				return err
			}
			if f.matches, err = labels.Parse(f.selector); err != nil {
				return usage.Errorf("--selector: %w", err)
			}
			return f.run(cmd.Context(), c, orders)
		},
		ValidArgsFunction: flags.CompleteOrders(c),
	}
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "",
		"Give up the reservations of the orders whose labels (Akash's, akash.network/lease.id.…) match")
	flags.AddDryRun(cmd, &f.dryRun)
	flags.AddEvents(cmd, &f.output, "")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return c.SetScope(cmd, session.Scope{})
}

func (f *releaseFlags) run(ctx context.Context, c *session.Session, orders []lease.Order) error {
	to, cfg, err := c.Open(ctx, session.Requests)
	if err != nil {
		return err
	}
	events, reservations := console.NewEvents(&c.Console, f.output, f.dryRun), reservation.New(to.DryRun(f.dryRun), cfg)
	var missing []string
	if f.selector != "" {
		if orders, missing, err = f.selected(ctx, reservations); err != nil {
			return err
		}
	}
	for _, order := range orders {
		found, err := reservations.UnreserveIf(ctx, order, f.means)
		switch {
		case err != nil:
			return err
		case found:
			events.Report(event(order, report.Released))
		case f.selector == "":
			missing = append(missing, "order "+order.String()+" has reserved nothing")
		}
	}
	if len(missing) > 0 && !f.ignoreMissing {
		return &session.MissingError{What: missing}
	}
	return nil
}

// selected returns the orders that the selector matches. missing says that it matches none.
func (f *releaseFlags) selected(ctx context.Context, in *reservation.Orders) (orders []lease.Order, missing []string, err error) {
	all, err := in.List(ctx)
	for _, claim := range all {
		if f.means(claim) {
			orders = append(orders, claim.Order)
		}
	}
	slices.SortFunc(orders, lease.Order.Compare)
	if len(orders) == 0 {
		missing = []string{fmt.Sprintf("no order that has reserved something has the labels %s (Akash's labels of an order are %s); looked at %s", f.selector,
			strings.Join([]string{lease.LabelOwner, lease.LabelDSeq, lease.LabelGSeq + " and " + lease.LabelOSeq}, ", "), lease.Count(len(all), "reservation"))}
	}
	return orders, missing, err
}

// means reports whether a reservation is to be given up: without a selector any, otherwise one that "state orders" selects. One that
// cannot be read names no order.
func (f *releaseFlags) means(c *reserved.Claim) bool {
	return f.selector == "" || c.Part() != nil && f.matches.Matches(labels.Set(view.NewOrderRow(c, time.Time{}).Labels()))
}
