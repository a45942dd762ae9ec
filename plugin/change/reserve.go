package change

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// reserveFlags are the flags of reserve and check.
type reserveFlags struct {
	leaseCommand
	addresses []string
	endpoint  string
	expires   time.Duration
	// ends is true if --expires is given.
	ends  bool
	order string
}

func (f *reserveFlags) add(cmd *cobra.Command, note string, formats ...string) {
	f.input.Add(cmd)
	cmd.Flags().StringSliceVar(&f.addresses, "address", nil, "An address to claim, or 'auto' for the next free one of each family")
	cmd.Flags().StringVar(&f.endpoint, "endpoint", "public", "The IP endpoint of the addresses of --address")
	cmd.Flags().BoolVar(&f.adopt, "adopt", false, "Take over what objects of the same owner use without a claim")
	f.leaseCommand.add(cmd, note, formats...)
	f.addBool(cmd, flagAssumeCrashed)
}

// NewReserve returns the command that claims host names and addresses, or reserves what a bid promises.
func NewReserve(c *session.Session) *cobra.Command {
	f := &reserveFlags{leaseCommand: leaseCommand{c: c, allowEmpty: true}}
	cmd := &cobra.Command{
		Use:   "reserve (-f FILE | --lease LEASE [HOST[/PATH]...] [--address ADDRESS] | --order ORDER -f FILE)",
		Short: "Claim host names and addresses, or what a bid promises, without writing routes",
		Long: `
			Claim host names, paths, wildcards and addresses for a lease without writing routes: for a bid that
			may become a lease, or before a pipeline delivers the routes.

			The lease gets everything that is named, or nothing is changed. Name everything that it is to hold:
			other things that it holds and that nothing serves are given up, unless --prune=false. So does an
			apply of a definition that does not name them; it says so before.
			With --expires it is a hold that expires by the API server's clock, unless "apply" or another
			"reserve" makes it permanent before. With --require-dns-proof nothing is claimed unless DNS proves
			that the tenant controls the hosts, as with "check --dns".

			With --order it reserves what a bid promises: the CPU, memory, storage, GPUs and number of leased
			addresses that the order's group requests. An SDL is enough; gseq selects its group. Everything is
			reserved on nodes with room, or nothing is; then the exit code is 4 and the message says what is
			missing. Repeating the command keeps the reservation and changes its expiry; with another group the
			old one is held until the new one is. "unreserve" gives it up. This also needs the ClusterRole
			akash-net-capacity.`,
		Example: `
			# Everything in a definition
			kubectl akash-net reserve -f shop.yaml

			# A host, and a path of another host, for five minutes
			kubectl akash-net reserve shop.example.com api.example.com/v2 --lease akash1…/8438017/1/1/akash1… --expires 5m

			# The next free address
			kubectl akash-net reserve --address auto --lease akash1…/8438017/1/1/akash1…

			# What a bid promises, until the order is won or lost
			kubectl akash-net reserve --order akash1…/8438017/1/1 -f deploy.yaml --expires 5m`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ends = cmd.Flags().Changed("expires")
			if !cmd.Flags().Changed("order") {
				return f.run(cmd.Context(), args)
			}
			if err := f.checkOrder(cmd, args); err != nil {
				return err
			}
			order, err := flags.ParseOrder(f.order)
			if err != nil {
				return err
			}
			return reserveOrder(cmd.Context(), c, f, order)
		},
	}
	f.add(cmd, "; 'json' and 'yaml' are for --order", "json", "yaml")
	cmd.Flags().StringVar(&f.order, "order", "", "OWNER/DSEQ/GSEQ/OSEQ: the order to reserve resources for")
	_ = cmd.RegisterFlagCompletionFunc("order", flags.CompleteOrders(c))
	f.proof.add(cmd, flagRequireProof, proofUsage)
	cmd.Flags().DurationVar(&f.expires, "expires", 0, "How long to hold; without it the hold has no end")
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Give up what the lease holds if it is not named and nothing serves it")
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag})
}

// parseArgs returns the hosts and paths in args, and adds the addresses to those of --address.
func (f *reserveFlags) parseArgs(args []string) (hosts []string, err error) {
	things, err := flags.ParseThings(args, thing.Host, thing.Address)
	if err != nil {
		return nil, err
	}
	for i, a := range f.addresses {
		f.addresses[i] = thing.TrimKind(a, thing.Address)
	}
	for _, t := range things {
		if t.Kind == thing.Address {
			f.addresses = append(f.addresses, t.Name())
		} else {
			hosts = append(hosts, t.Name())
		}
	}
	return hosts, nil
}

// arguments validates the arguments and flags, and returns the hosts and paths that are named.
func (f *reserveFlags) arguments(args []string) (hosts []string, err error) {
	if hosts, err = f.parseArgs(args); err != nil {
		return nil, err
	}
	if err := f.proof.check(); err != nil {
		return nil, err
	}
	switch named, fromInput := len(hosts) > 0 || len(f.addresses) > 0, f.input.Given(); {
	case named && fromInput:
		return nil, usage.Errorf("hosts and addresses are named as arguments or in files, not both")
	case !named && !fromInput && f.input.Lease == "":
		return nil, usage.Errorf("name hosts, or use one of -f, --from-cluster and --address")
	case !fromInput && f.input.Lease == "":
		return nil, usage.Errorf("--lease names the lease to reserve for")
	case f.expires < 0, f.ends && f.expires == 0:
		return nil, usage.Errorf("--expires must be positive; without it the hold has no end")
	case !fromInput:
		_, err = flags.ParseLease("--lease", f.input.Lease)
	}
	return hosts, err
}

func (f *reserveFlags) run(ctx context.Context, args []string) error {
	if err := flags.CheckOneOf("output", cmp.Or(f.output, console.OutputName), console.OutputEvents, console.OutputName); err != nil {
		return err // the others are of orders
	}
	hosts, err := f.arguments(args)
	if err != nil {
		return err
	}
	if err := f.open(ctx); err != nil {
		return err
	}
	requests, kinds, err := f.requests(ctx, hosts)
	if err != nil {
		return err
	}
	f.c.Leases = len(requests)
	opts := f.options(f.events())
	opts.Expires = f.expires
	warnings, err := manifestWarnings(ctx, command.New(f.cluster, opts), requests)
	if f.c.Warn(warnings); err != nil {
		return err
	}
	return beside(f.unread, apply.New(f.cluster, opts).Reserve(ctx, requests, kinds...))
}

// manifestWarnings warns of hosts whose delivery would stop Akash's hostname operator.
func manifestWarnings(ctx context.Context, cmd *command.Command, requests []state.Request) (warnings lease.Problems, err error) {
	var leases []lease.ID
	for _, r := range requests {
		if len(r.Hosts) > 0 {
			leases = append(leases, r.Lease)
		}
	}
	if len(leases) == 0 {
		return nil, nil
	}
	manifests, err := observed.OperatorManifests(ctx, cmd, leases...)
	for _, r := range requests {
		warnings = append(warnings, manifests.Warnings(r)...)
	}
	return warnings, err
}

// requests returns the claims to make: those of the definitions in the input, with the kinds of objects that each is rendered
// to, or those for the named hosts and addresses.
func (f *reserveFlags) requests(ctx context.Context, hosts []string) (requests []state.Request, kinds [][]kinds.Kind, err error) {
	if !f.input.Given() {
		request, err := f.namedRequest(ctx, hosts)
		return []state.Request{request}, nil, err
	}
	if err := f.input.Check(); err != nil {
		return nil, nil, err
	}
	if err := f.collect(ctx); err != nil {
		return nil, nil, err
	}
	var problems lease.Problems
	for _, def := range f.defs {
		f.c.Warn(lease.Warnings(def))
		request, found := state.NewRequest(def, f.cfg)
		requests, problems = append(requests, request), append(problems, found...)
		kinds = append(kinds, render.Kinds(def, f.cfg))
	}
	if problems.Failed() {
		return nil, nil, problems
	}
	return requests, kinds, nil
}

// namedRequest returns the claim to make for the named hosts and addresses.
func (f *reserveFlags) namedRequest(ctx context.Context, hosts []string) (request state.Request, err error) {
	id, err := flags.NamedLease(ctx, f.cluster, f.cfg, "--lease", f.input.Lease)
	if err != nil {
		return request, err
	}
	request, problems := state.NamedRequest(*id, hosts, f.addresses, f.endpoint, f.cfg)
	if problems.Failed() {
		return request, problems
	}
	return request, nil
}

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
	flags.AddDryRun(cmd, &f.dryRun)
	addOutput(cmd, &f.output, "")
	flags.AddIgnoreMissing(cmd, &f.ignoreMissing)
	return cmd
}

func unreserve(ctx context.Context, c *session.Session, f *unreserveFlags) error {
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
