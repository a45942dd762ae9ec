package change

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// reserveFlags are the flags of reserve and check.
type reserveFlags struct {
	leaseCommand
	addresses []string
	endpoint  string
	expires   time.Duration
	// ends is true if --expires is given.
	ends bool
}

func (f *reserveFlags) add(cmd *cobra.Command, note string, formats ...string) {
	f.input.Add(cmd)
	cmd.Flags().StringSliceVar(&f.addresses, "address", nil, "An address to claim, or 'auto' for the next free one of each family")
	cmd.Flags().StringVar(&f.endpoint, "endpoint", "public", "The IP endpoint of the addresses of --address")
	cmd.Flags().BoolVar(&f.adopt, "adopt", false, "Take over what objects of the same owner use without a claim")
	f.addShared(cmd, note, formats...)
	f.addBool(cmd, flagAssumeCrashed)
}

// NewReserve returns the command that claims host names and addresses.
func NewReserve(c *session.Session) *cobra.Command {
	f := &reserveFlags{leaseCommand: leaseCommand{c: c, allowEmpty: true}}
	cmd := &cobra.Command{
		Use:   "reserve (-f FILE | --lease LEASE [HOST[/PATH]...] [--address ADDRESS])",
		Short: "Claim host names and addresses without writing routes",
		RunE: func(cmd *cobra.Command, args []string) error {
			f.ends = cmd.Flags().Changed("expires")
			return f.run(cmd.Context(), args)
		},
	}
	f.add(cmd, "")
	flags.AddDryRun(cmd, &f.dryRun)
	f.proof.add(cmd, flagRequireProof, proofUsage)
	cmd.Flags().DurationVar(&f.expires, "expires", 0, "How long to hold; without it the hold has no end")
	cmd.Flags().BoolVar(&f.prune, "prune", true, "Give up what the lease holds if it is not named and nothing serves it")
	return c.SetScope(cmd, session.Scope{Leases: session.LeaseFlag, Claims: true})
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
	hosts, err := f.arguments(args)
	if err != nil {
		return err
	}
	f.c.Room()
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
	opts.Warn = f.c.Warn
	return beside(f.unread, apply.New(f.cluster, opts).Reserve(ctx, requests, kinds...))
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
