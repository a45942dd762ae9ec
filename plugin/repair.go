package plugin

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// problemsFound is the exit code of `state --problems` when there are any.
type problemsFound struct{ count int }

func (e *problemsFound) Error() string { return count(e.count, "problem") }

func addCrashedAfter(cmd *cobra.Command, value *time.Duration) {
	cmd.Flags().DurationVar(value, "crashed-after", 2*time.Minute, "How long a claim with a run's mark may stand still before the run counts as crashed")
}

func newRepair(c *cli) *cobra.Command {
	var dryRun, output string
	var crashedAfter time.Duration
	var concurrency int
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Mend what \"state --problems\" shows",
		Long: `
			Mend what "state --problems" shows, a line each: end runs that crashed, give up holds that are
			over, claim what is served without a claim, delete routes that were left behind, make pools that
			are missing. Nothing that belongs to a live claim is touched. What only people can decide is named,
			with what to do; exit code 1 tells that there is such.`,
		Example: `
			kubectl akash-net repair --dry-run

			kubectl akash-net repair`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, check := range []error{checkDryRun(&dryRun), checkOutput(output), checkConcurrency(concurrency)} {
				if check != nil {
					return check
				}
			}
			if dryRun == apply.DryRunServer {
				return usage(`--dry-run must be "none" or "client": a plan rests on steps that the server does not keep`)
			}
			ctx := cmd.Context()
			cluster, err := c.connect(concurrency)
			if err != nil {
				return err
			}
			cfg, err := c.configuration(ctx, cluster)
			if err != nil {
				return err
			}
			events := newEvents(c, output, dryRun)
			return apply.New(cluster, apply.Options{Config: cfg, DryRun: dryRun, Concurrency: concurrency, Report: events.report}).Repair(ctx, crashedAfter)
		},
	}
	addDryRun(cmd, &dryRun)
	addOutput(cmd, &output)
	addConcurrency(cmd, &concurrency)
	addCrashedAfter(cmd, &crashedAfter)
	return cmd
}

func (f *stateFlags) showProblems(ctx context.Context, c *cli, cluster *apply.Cluster, cfg *config.ProviderConfig, show bookPrinter) error {
	problems, err := cluster.Problems(ctx, cfg, f.crashedAfter)
	if err != nil {
		return err
	}
	book := &state.Book{APIVersion: lease.Domain + "/v1alpha1", Kind: "Book", Problems: problems}
	if problems == nil {
		book.Problems = []state.Problem{}
		if f.print.isTable() {
			fmt.Fprintln(c.ErrOut, "No problems.")
		}
	}
	if err := show(book); err != nil {
		return err
	}
	if len(problems) > 0 {
		return &problemsFound{count: len(problems)}
	}
	return nil
}
