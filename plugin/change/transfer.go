package change

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
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
