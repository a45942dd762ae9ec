package change

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// NewSuspend returns the command that takes leases from the reconciler.
func NewSuspend(c *session.Session) *cobra.Command {
	return newSuspend(c, true, &cobra.Command{
		Use:   "suspend LEASE...",
		Short: "Let the reconciler leave leases as they are",
		Long: `
			Let "reconcile" leave leases as they are: whatever their sources or events say, and with --heal, too, nothing is
			applied, put back or released, until "resume". Other commands do what they are told. The ledger
			keeps it with the lease's definition; a release ends it.`,
		Example: `
			kubectl akash-net suspend akash1…/8438017/1`,
	})
}

// NewResume returns the command that gives leases back to the reconciler.
func NewResume(c *session.Session) *cobra.Command {
	return newSuspend(c, false, &cobra.Command{
		Use:   "resume LEASE...",
		Short: "Let the reconciler go on with suspended leases",
		Long: `
			Let "reconcile" go on with leases that "suspend" has taken from it. One that watches does so at once.`,
		Example: `
			kubectl akash-net resume akash1…/8438017/1`,
	})
}

func newSuspend(c *session.Session, suspend bool, cmd *cobra.Command) *cobra.Command {
	var output, dryRun string
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage.Errorf("name a lease: %s OWNER/DSEQ/GSEQ", cmd.CommandPath())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmp.Or(checkDryRun(&dryRun), checkOutput(output)); err != nil {
			return err
		}
		things, err := flags.ParseThings(args, thing.Lease)
		if err != nil {
			return err
		}
		var groups []lease.Group
		for _, t := range things {
			groups = append(groups, t.Group)
		}
		ctx := cmd.Context()
		to, cfg, err := c.Open(ctx, 1)
		if err != nil {
			return err
		}
		c.Leases = len(groups)
		events := console.NewEvents(&c.Console, output, dryRun)
		return apply.Suspend(ctx, to.DryRun(dryRun), cfg.LedgerNamespace, groups, suspend, events.Report)
	}
	cmd.ValidArgsFunction = flags.CompleteThings(c, thing.Lease)
	addDryRun(cmd, &dryRun)
	addOutput(cmd, &output)
	return c.SetScope(cmd, session.Scope{Leases: session.OneLease})
}
