package change

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/flags"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// changeFlags are the flags of the commands that change what leases hold.
type changeFlags struct {
	output, dryRun, operators          string
	assumeServing, assumeCrashed, wait bool
	timeout                            time.Duration
	concurrency                        int
}

// add adds the flags that all these commands take; outputs are formats beside those of events.
func (f *changeFlags) add(cmd *cobra.Command, outputs ...string) {
	addOutput(cmd, &f.output, outputs...)
	addOperators(cmd, &f.operators)
	addConcurrency(cmd, &f.concurrency)
}

// addWait adds the flags of a command that waits for something.
func (f *changeFlags) addWait(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.wait, "wait", true, "Wait "+what)
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute, "How long to wait; after that the exit code is 5")
}

// addAssumeCrashed adds the flag by which a command does not wait for another one.
func (f *changeFlags) addAssumeCrashed(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.assumeCrashed, flagAssumeCrashed, false, "Treat another command that works on the same leases as crashed, without waiting until its announcement expires")
}

// check refuses values that make no sense; outputs are formats beside those of events.
func (f *changeFlags) check(outputs ...string) error {
	err := checkOutput(f.output)
	if slices.Contains(outputs, f.output) {
		err = nil
	}
	return firstOf(checkDryRun(&f.dryRun), checkOperators(f.operators), err, checkConcurrency(f.concurrency))
}

// options are what apply works by: what the flags say, and where it tells what it does.
func (f *changeFlags) options(cfg *config.ProviderConfig, events *console.Events) command.Options {
	opts := command.Options{
		Config: cfg, DryRun: f.dryRun, Operators: f.operators, AssumeServing: f.assumeServing, AssumeCrashed: f.assumeCrashed,
		Version: version.Version, Concurrency: f.concurrency, Report: events.Report, Progress: events.Progress,
	}
	if f.wait {
		opts.Wait = f.timeout
	}
	return opts
}

// firstOf is the first error of checks.
func firstOf(checks ...error) error {
	for _, err := range checks {
		if err != nil {
			return err
		}
	}
	return nil
}

func addAdopt(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "adopt", false, "Take over what objects of the same owner use without a claim, and with --workloads what Akash's provider has deployed for the lease")
}

func addOperators(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "operators", observed.OperatorsAuto, "Whether Akash's hostname and IP operators create routes and Services: one of 'auto' (if their Deployments are in namespace akash-services), 'on' and 'off'")
	flags.Complete(cmd, "operators", observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff)
}

func addAssumeServing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "assume-serving", false, "When a route replaces another one, remove the old one even if no controller has reported that the new one serves")
}

func checkOperators(value string) error {
	switch value {
	case observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff:
		return nil
	}
	return usage.Errorf("--operators must be 'auto', 'on' or 'off', not %q", value)
}

func addOutput(cmd *cobra.Command, value *string, more ...string) {
	cmd.Flags().StringVarP(value, "output", "o", "", "One of 'events' (one JSON object per line) or 'name'")
	flags.Complete(cmd, "output", append([]string{console.OutputEvents, console.OutputName}, more...)...)
}

func checkOutput(value string) error {
	if value != "" && value != console.OutputEvents && value != console.OutputName {
		return usage.Errorf("--output must be 'events' or 'name', not %q", value)
	}
	return nil
}

func addConcurrency(cmd *cobra.Command, value *int) {
	cmd.Flags().IntVar(value, "concurrency", 8, "The maximum number of concurrent requests")
}

func checkConcurrency(value int) error {
	if value < 1 {
		return usage.Errorf("--concurrency must be at least 1")
	}
	return nil
}

// addDryRun adds kubectl's flag; without a value it means client, as it long did there.
func addDryRun(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "dry-run", "none", `Must be "none", "server", or "client". With client nothing is sent; with server each write is sent and not persisted`)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	flags.Complete(cmd, "dry-run", "none", "client", "server")
}

func checkDryRun(value *string) error {
	switch *value {
	case "none":
		*value = ""
	case "", command.DryRunClient, command.DryRunServer:
	default:
		return usage.Errorf(`--dry-run must be "none", "server", or "client", not %q`, *value)
	}
	return nil
}
