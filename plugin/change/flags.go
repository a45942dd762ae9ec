package change

import (
	"cmp"
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

// changeFlags are the common flags of the commands that change leases.
type changeFlags struct {
	output, dryRun, operators          string
	assumeServing, assumeCrashed, wait bool
	timeout                            time.Duration
	concurrency                        int
}

// add adds the flags that all these commands have. outputs are additional formats of --output.
func (f *changeFlags) add(cmd *cobra.Command, outputs ...string) {
	addOutput(cmd, &f.output, outputs...)
	addOperators(cmd, &f.operators)
	addConcurrency(cmd, &f.concurrency)
}

// addWait adds --wait and --timeout.
func (f *changeFlags) addWait(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&f.wait, "wait", true, "Wait "+what)
	cmd.Flags().DurationVar(&f.timeout, "timeout", time.Minute,
		"How long to wait; after that the exit code is 5. Zero means not to wait, a negative time means to wait for a week")
}

// addAssumeCrashed adds --assume-crashed.
func (f *changeFlags) addAssumeCrashed(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.assumeCrashed, flagAssumeCrashed, false,
		"Treat another command that works on the same leases as crashed, without waiting until its announcement expires")
}

// check validates the flags. outputs are additional formats of --output.
func (f *changeFlags) check(outputs ...string) error {
	return cmp.Or(checkDryRun(&f.dryRun), checkOperators(f.operators), checkOutput(f.output, outputs...),
		checkConcurrency(f.concurrency))
}

// options returns the options of package apply for these flags. events prints the events.
func (f *changeFlags) options(cfg *config.ProviderConfig, events *console.Events) command.Options {
	opts := command.Options{
		Config: cfg, DryRun: f.dryRun, Operators: f.operators, AssumeServing: f.assumeServing, AssumeCrashed: f.assumeCrashed,
		Version: version.Version, Concurrency: f.concurrency, Report: events.Report, Progress: events.Progress,
	}
	switch {
	case f.wait && f.timeout < 0: // as in kubectl wait
		opts.Wait = 7 * 24 * time.Hour
	case f.wait:
		opts.Wait = f.timeout
	}
	return opts
}

func addAdopt(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "adopt", false,
		"Take over what objects of the same owner use without a claim, the fields that another program has delivered for the lease, and with "+
			"--workloads what Akash's provider has deployed for it")
}

func addOperators(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "operators", observed.OperatorsAuto,
		"Whether Akash's hostname and IP operators create routes and Services: one of 'auto' (if their Deployments are in "+
			"namespace akash-services), 'on' and 'off'")
	flags.Complete(cmd, "operators", observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff)
}

func addAssumeServing(cmd *cobra.Command, value *bool) {
	cmd.Flags().BoolVar(value, "assume-serving", false,
		"When a route replaces another one, remove the old one even if no controller has reported that the new one serves")
}

func checkOperators(value string) error {
	return flags.CheckOneOf("operators", value, observed.OperatorsAuto, observed.OperatorsOn, observed.OperatorsOff)
}

func addOutput(cmd *cobra.Command, value *string, more ...string) {
	formats := append([]string{console.OutputEvents, console.OutputName}, more...)
	flags.AddOutput(cmd, value, "", "One of 'events' (one JSON object per line) or 'name'", formats...)
}

func checkOutput(value string, more ...string) error {
	return flags.CheckOneOf("output", value, append([]string{"", console.OutputEvents, console.OutputName}, more...)...)
}

func addConcurrency(cmd *cobra.Command, value *int) {
	cmd.Flags().IntVar(value, "concurrency", 16, "The maximum number of concurrent requests")
}

func checkConcurrency(value int) error {
	if value < 1 {
		return usage.Errorf("--concurrency must be at least 1")
	}
	return nil
}

// addDryRun adds --dry-run. Without a value it means client, as formerly in kubectl.
func addDryRun(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "dry-run", "none",
		`Must be "none", "server", or "client". With client nothing is sent; with server each write is sent and not persisted`)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = "client"
	flags.Complete(cmd, "dry-run", "none", "client", "server")
}

// checkDryRun validates --dry-run, and replaces "none" with "".
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
