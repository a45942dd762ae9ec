package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// unreserveFlags are the flags of unreserve.
type unreserveFlags struct {
	orders        []string
	selector      string
	matches       labels.Selector
	output        string
	dryRun        string
	ignoreMissing bool
}

// NewUnreserve returns the command that gives up the reservations of orders.
func NewUnreserve(c *session.Session) *cobra.Command {
	f := &unreserveFlags{}
	cmd := &cobra.Command{
		Use:   "unreserve (--order ORDER[,ORDER...] | -l SELECTOR)",
		Short: "Give up what \"reserve --order\" has reserved",
		Long: `
			Give up what orders have reserved, for example for lost bids. Each reservation is deleted in the
			version that was read; if it has changed meanwhile, it is read again. The reservation of a lease can
			be given up too: its workloads stay, and count by what their pods request.

			-l selects orders by Akash's labels of a lease: akash.network/lease.id.owner, dseq, gseq, oseq. Only
			an order that became a lease has akash.network/lease.id.provider.

			If an order has reserved nothing, or if no order that has reserved something has the labels, the exit
			code is 1, or 0 with --ignore-not-found.`,
		Example: `
			kubectl akash-net unreserve --order akash1…/8438017/1/1

			# Several
			kubectl akash-net unreserve --order akash1…/8438017/1/1,akash1…/8438018/1/1

			# All bids for the orders of an owner
			kubectl akash-net unreserve -l 'akash.network/lease.id.owner=akash1…,!akash.network/lease.id.provider'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return unreserve(cmd.Context(), c, f) },
	}
	cmd.Flags().StringSliceVar(&f.orders, "order", nil,
		"OWNER/DSEQ/GSEQ/OSEQ: an order whose reservation to give up; can be repeated")
	_ = cmd.RegisterFlagCompletionFunc("order", flags.CompleteOrders(c))
	cmd.Flags().StringVarP(&f.selector, "selector", "l", "",
		"Give up the reservations of the orders whose labels (Akash's, akash.network/lease.id.…) match")
	addDryRun(cmd, &f.dryRun)
	addOutput(cmd, &f.output)
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return cmd
}

func unreserve(ctx context.Context, c *session.Session, f *unreserveFlags) error {
	if err := cmp.Or(checkDryRun(&f.dryRun), checkOutput(f.output)); err != nil {
		return err
	}
	orders, err := f.parse()
	if err != nil {
		return err
	}
	to, cfg, err := c.Open(ctx, session.Requests)
	if err != nil {
		return err
	}
	events, reservations := console.NewEvents(&c.Console, f.output, f.dryRun), reservation.New(to.DryRun(f.dryRun), cfg)
	orders, missing, err := f.selected(ctx, reservations, orders)
	if err != nil {
		return err
	}
	for _, order := range orders {
		found, err := reservations.UnreserveIf(ctx, order, f.means)
		switch {
		case err != nil:
			return err
		case found:
			events.Report(orderEvent(order, report.Released, ""))
		case f.selector == "":
			missing = append(missing, "order "+order.String()+" has reserved nothing")
		}
	}
	if len(missing) > 0 && !f.ignoreMissing {
		return &session.MissingError{What: missing}
	}
	return nil
}

// selected returns the orders: those that are named, or those that the selector matches. missing says that it matches none.
func (f *unreserveFlags) selected(ctx context.Context, in *reservation.Orders, named []lease.Order) (orders []lease.Order, missing []string, err error) {
	if f.selector == "" {
		return named, nil, nil
	}
	all, err := in.List(ctx)
	for _, claim := range all {
		if f.means(claim) {
			orders = append(orders, claim.Order)
		}
	}
	slices.SortFunc(orders, lease.Order.Compare)
	if len(orders) == 0 {
		missing = []string{fmt.Sprintf("no order that has reserved something has the labels %s (Akash's labels of an order are %s, %s, %s and %s); looked at %s",
			f.selector, lease.LabelOwner, lease.LabelDSeq, lease.LabelGSeq, lease.LabelOSeq, lease.Count(len(all), "reservation"))}
	}
	return orders, missing, err
}

// parse parses the orders, or the selector.
func (f *unreserveFlags) parse() (orders []lease.Order, err error) {
	if (len(f.orders) > 0) == (f.selector != "") {
		return nil, usage.Errorf("must specify one of --order and -l")
	}
	for _, text := range f.orders {
		order, err := flags.ParseOrder(text)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(orders, order) {
			orders = append(orders, order)
		}
	}
	if f.matches, err = labels.Parse(f.selector); err != nil {
		return nil, usage.Errorf("--selector: %w", err)
	}
	return orders, nil
}

// means reports whether a reservation is to be given up: without a selector any, otherwise one that "state orders" selects. One that
// cannot be read names no order.
func (f *unreserveFlags) means(c *reserved.Claim) bool {
	return f.selector == "" || c.Part() != nil && f.matches.Matches(labels.Set(view.NewOrderRow(c, time.Time{}).Labels()))
}
