package change

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// unreserveFlags are the flags of unreserve.
type unreserveFlags struct {
	orders        []string
	output        string
	dryRun        string
	ignoreMissing bool
}

// NewUnreserve returns the command that gives up the reservations of orders.
func NewUnreserve(c *session.Session) *cobra.Command {
	f := &unreserveFlags{}
	cmd := &cobra.Command{
		Use:   "unreserve --order ORDER[,ORDER...]",
		Short: "Give up what \"reserve --order\" has reserved",
		Long: `
			Give up what orders have reserved, for example for lost bids. Each reservation is deleted in the
			version that was read; if it has changed meanwhile, it is read again. The reservation of a lease can
			be given up too: its workloads stay, and count by what their pods request.

			If an order has reserved nothing, the exit code is 1, or 0 with --ignore-not-found.`,
		Example: `
			kubectl akash-net unreserve --order akash1…/8438017/1/1

			# Several
			kubectl akash-net unreserve --order akash1…/8438017/1/1,akash1…/8438018/1/1`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return unreserve(cmd.Context(), c, f) },
	}
	cmd.Flags().StringSliceVar(&f.orders, "order", nil,
		"OWNER/DSEQ/GSEQ/OSEQ: an order whose reservation to give up; can be repeated")
	_ = cmd.RegisterFlagCompletionFunc("order", flags.CompleteOrders(c))
	addDryRun(cmd, &f.dryRun)
	addOutput(cmd, &f.output)
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return cmd
}

func unreserve(ctx context.Context, c *session.Session, f *unreserveFlags) error {
	if err := cmp.Or(checkDryRun(&f.dryRun), checkOutput(f.output)); err != nil {
		return err
	}
	var orders []lease.Order
	for _, text := range f.orders {
		order, err := flags.ParseOrder(text)
		if err != nil {
			return err
		}
		if !slices.Contains(orders, order) {
			orders = append(orders, order)
		}
	}
	if len(orders) == 0 {
		return usage.Errorf("must specify --order")
	}
	to, cfg, err := c.Open(ctx, session.Requests)
	if err != nil {
		return err
	}
	events, reservations := console.NewEvents(&c.Console, f.output, f.dryRun), reservation.New(to.DryRun(f.dryRun), cfg)
	var missing []string
	for _, order := range orders {
		found, err := reservations.Unreserve(ctx, order)
		switch {
		case err != nil:
			return err
		case found:
			events.Report(orderEvent(order, report.Released, ""))
		default:
			missing = append(missing, "order "+order.String()+" has reserved nothing")
		}
	}
	if len(missing) > 0 && !f.ignoreMissing {
		return &flags.MissingError{What: missing}
	}
	return nil
}
