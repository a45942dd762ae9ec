package plugin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/util/templates"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// releaseFlags are the flags of release as they are typed.
type releaseFlags struct {
	output      string
	dryRun      string
	wait        bool
	timeout     time.Duration
	concurrency int
}

func newRelease(c *cli) *cobra.Command {
	f := &releaseFlags{}
	cmd := &cobra.Command{
		Use:   "release LEASE...",
		Short: "Give up all that a lease holds",
		Long: templates.LongDesc(`
			Give up all that leases hold: first what serves traffic goes, then the claims, so that no name is
			free while it is still served. A lease is named OWNER/DSEQ/GSEQ; an order and a provider may
			follow and do not matter.

			To release what is not held does nothing and says so. Objects that Akash's provider wrote are
			left.`),
		Example: templates.Examples(`
			kubectl akash-net release akash1…/8438017/1`),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("name the lease to release: OWNER/DSEQ/GSEQ")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			groups, err := f.check(args)
			if err != nil {
				return err
			}
			return f.run(cmd.Context(), c, groups)
		},
		ValidArgsFunction: c.completeLeases,
	}
	addDryRun(cmd, &f.dryRun)
	addOutput(cmd, &f.output)
	addWait(cmd, &f.wait, &f.timeout, "for objects that a finalizer holds back to be gone, before their claims are given up")
	addConcurrency(cmd, &f.concurrency)
	return cmd
}

func (f *releaseFlags) check(args []string) ([]lease.Group, error) {
	for _, check := range []error{checkDryRun(&f.dryRun), checkOutput(f.output), checkConcurrency(f.concurrency)} {
		if check != nil {
			return nil, check
		}
	}
	var groups []lease.Group
	for _, arg := range args {
		g, err := lease.ParseGroup(arg)
		if err != nil {
			return nil, &usageError{err}
		}
		groups = append(groups, g)
	}
	if !f.wait {
		f.timeout = 0
	}
	return groups, nil
}

func (f *releaseFlags) run(ctx context.Context, c *cli, groups []lease.Group) error {
	cluster, err := c.connect(f.concurrency)
	if err != nil {
		return err
	}
	cfg, err := c.configuration(ctx, cluster)
	if err != nil {
		return err
	}
	events := newEvents(c, f.output, f.dryRun)
	return apply.New(cluster, apply.Options{
		Config: cfg, DryRun: f.dryRun, Wait: f.timeout, Concurrency: f.concurrency, Report: events.report,
	}).Release(ctx, groups)
}

// completeLeases offers the deployment groups that hold claims.
func (c *cli) completeLeases(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
	defer cancel()
	cluster, err := c.connect(1)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, err := c.configuration(ctx, cluster)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	groups, err := cluster.Groups(ctx, cfg.LedgerNamespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for g, claims := range groups {
		out = append(out, fmt.Sprintf("%s\t%s", g, count(claims, "claim")))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
